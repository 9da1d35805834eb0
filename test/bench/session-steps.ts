/** What the loop of a session adds to the time of its model and its tools, both of which take none here. */
import { agentSessions, type AgentSessions, type Event } from '../support/agent-sessions.ts'
import type { Berth } from '../support/berth.ts'
import type { Benchmark, Findings } from './benchmark.ts'
import { median, quantile, shown } from './rounds.ts'
import { inWorld, startProcess, type World } from './world.ts'

const stepsPerTurn = 30 // six turns fit one page of the log
const longLogTurns = 5
const eventsPerStep = 4
const turnLimitMs = 60_000
const wantedMs = 15

/** A model's answer that ends in a call which is answered at once; and one whose call is a round of its own. */
const modelOnly = `!tool nothing {}`
const withTool = `!tool web_fetch {"url":"http://127.0.0.1:1/"}`

/** From the start of a request to the start of the next. */
export const sessionSteps: Benchmark = {
  name: 'session-steps',
  title: 'Session steps',
  measure: (effort, say) =>
    inWorld({ BERTH_VMS: 'off' }, async (world): Promise<Findings> => {
      await startProcess(world, 'web')
      await world.start(['workers/main.ts'], /this worker runs no VMs/)
      const sessions = agentSessions({ call: caller(world) }, await world.token())
      const agent = await sessions.agent({ tools: [{ type: 'agent_toolset_20260401' }] })
      await measure(sessions, await sessions.begin(agent, null), modelOnly)
      const found = { model: [] as number[], both: [] as number[], long: [] as number[] }
      for (let round = 0; round < effort.rounds; round++) {
        found.model.push(...(await measure(sessions, await sessions.begin(agent, null), modelOnly)))
        const id = await sessions.begin(agent, null)
        found.both.push(...(await measure(sessions, id, withTool)))
        for (let turn = 0; turn < longLogTurns - 1; turn++) await measure(sessions, id, withTool)
        found.long.push(...(await measure(sessions, id, withTool)))
        say(
          `round ${round + 1}: a request ${shown(median(found.model))} ms; a request and a round of tools ${shown(median(found.both))} ms, in a long session ${shown(median(found.long))} ms`,
        )
      }
      const perStep = { model: found.model, tool: found.both.map((ms) => ms / 2), long: found.long.map((ms) => ms / 2) }
      const line = (name: string, all: number[]): string[] => [name, shown(median(all)), shown(quantile(all, 0.99))]
      const p50 = Math.max(...Object.values(perStep).map((all) => median(all)))
      return {
        how: `One session at a time, ${stepsPerTurn} requests to the built-in model in a turn, ${effort.rounds} rounds; one web process, one worker, a Postgres that waits for its disk. Measured from the start of a request in the log to the start of the next. The model and the tools take no time of their own (an address that is refused), so all of it is ours: the job, its claim, the log, the conversation, and what is written down. In a long session the log holds some ${longLogTurns * stepsPerTurn * eventsPerStep} events.`,
        tables: [
          {
            title: 'What a step adds',
            columns: ['step', 'p50 ms', 'p99 ms'],
            rows: [
              line('a request to the model', perStep.model),
              line('the same, or a round of tool calls', perStep.tool),
              line('in a long session', perStep.long),
            ],
          },
        ],
        goals: [
          {
            what: 'what a step adds, p50',
            wanted: `≤ ${wantedMs} ms`,
            measured: `${shown(p50)} ms`,
            met: p50 <= wantedMs,
          },
        ],
      }
    }),
}

/** Runs one turn; the times between its requests, ms. */
async function measure(sessions: AgentSessions, id: string, line: string): Promise<number[]> {
  const before = (await sessions.rested(id)).length
  const text = [...Array.from({ length: stepsPerTurn }, () => line), '!say done'].join('\n')
  const sent = await sessions.say(id, text)
  const log = await settled(sessions, id, sent[0]?.id ?? '', before)
  const starts = log
    .slice(before)
    .filter(({ type }) => type === 'span.model_request_start')
    .map(({ processed_at: at }) => Date.parse(at ?? ''))
  if (starts.length !== stepsPerTurn + 1)
    throw new Error(`a turn had ${starts.length} requests instead of ${stepsPerTurn + 1}`)
  return starts.slice(1).map((at, index) => at - (starts[index] ?? at))
}

async function settled(sessions: AgentSessions, id: string, sentId: string, before: number): Promise<Event[]> {
  const endMs = performance.now() + turnLimitMs
  for (;;) {
    const log = await sessions.rested(id, turnLimitMs)
    const sentAt = log.findIndex((event) => event.id === sentId)
    if (sentAt >= 0 && log.length > before + 2 && log.at(-1)?.type === 'session.status_idle') return log
    if (performance.now() > endMs) throw new Error('a turn did not end')
  }
}

function caller({ url }: World): Berth['call'] {
  return async (method, path, { token, body } = {}) => {
    const answer = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as never } // the caller says what it expects
  }
}
