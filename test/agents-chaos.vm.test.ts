/**
 * A hostile day for agents: a whole `npm start`, ten sessions at work in VMs, and kill -9 of the worker every few
 * seconds, now and then of the web process. Every log is whole, and no tool call has its effect twice.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { textOf, types, type Event, type Session } from './support/agent-sessions.ts'
import { startInstallation, type Installation } from './support/installation.ts'
import { until } from './support/until.ts'

const sessionCount = 6
const callCount = 6
/** While there are more, the sessions hardly proceed: how many it took until they were done was left to chance, 8 to 60. */
const killsMin = 8
const killsMax = 11
const limitMs = 420_000

let berth: Installation
let token: string

beforeAll(async () => {
  berth = await startInstallation()
  token = await berth.token()
}, 400_000)
afterAll(() => berth?.stop(), 60_000)

/** An answer, or undefined when the connection was refused or cut, or the answer is no success. */
async function call<Body>(method: string, path: string, body?: unknown): Promise<Body | undefined> {
  try {
    const answer = await fetch(berth.url + path, {
      method,
      signal: AbortSignal.timeout(30_000),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return answer.ok ? ((await answer.json()) as Body) : undefined
  } catch {
    return undefined // cut off: that is what this test does to the other side
  }
}

async function sure<Body>(method: string, path: string, body?: unknown): Promise<Body> {
  let answer: Body | undefined
  await until(
    `${method} ${path} answers`,
    async () => (answer = await call<Body>(method, path, body)) !== undefined,
    60_000,
  )
  return answer as Body // it is there: `until` has seen it
}

const logOf = async (id: string): Promise<Event[]> =>
  (await sure<{ data: Event[] }>('GET', `/agents/v1/sessions/${id}/events?limit=1000`)).data
const scriptOf = (name: string): string =>
  [
    '!reason on it',
    ...Array.from({ length: callCount }, (_, index) =>
      index % 3 === 2
        ? `!tool edit ${JSON.stringify({ file_path: `/home/user/${name}.count`, old_string: 'end', new_string: `${index} end` })}`
        : `!tool bash ${JSON.stringify({ command: `echo ${name} ${index} >> ~/lines; [ ${index} != 0 ] || echo end > ~/${name}.count; sleep ${index % 2 ? 0.2 : 2}; echo ran ${index}` })}`,
    ),
    '!pace 100',
    '!repeat 10 word',
  ].join('\n')

test('six sessions end with complete logs and each effect once while their worker is killed again and again', async () => {
  const agent = (
    await sure<{ id: string }>('POST', '/agents/v1/agents', {
      name: 'worker',
      model: { id: 'berth/demo', effort: 'low' },
      tools: [{ type: 'agent_toolset_20260401' }],
    })
  ).id
  const environment = (
    await sure<{ id: string }>('POST', '/agents/v1/environments', { name: 'box', config: { memory_mb: 1024 } })
  ).id
  const begin = async (text: string): Promise<string> =>
    (
      await sure<Session>('POST', '/agents/v1/sessions', {
        agent,
        environment_id: environment,
        initial_events: [{ type: 'user.message', content: [{ type: 'text', text }] }],
      })
    ).id
  const rest = async (id: string): Promise<boolean> =>
    (await call<Session>('GET', `/agents/v1/sessions/${id}`))?.status === 'idle'
  const first = await begin('!tool bash {"command":"true"}')
  await until('the VM is there', () => rest(first), 240_000)

  const ids: string[] = []
  for (let index = 0; index < sessionCount; index++) ids.push(await begin(scriptOf(`s${index}`)))
  const endMs = performance.now() + limitMs
  let kills = 0
  const resting = async (): Promise<boolean> => (await Promise.all(ids.map(rest))).every(Boolean)
  while (kills < killsMin || !(await resting())) {
    if (performance.now() > endMs || kills >= killsMax) break
    await wait(1_500 + Math.random() * 5_000)
    berth.kill(Math.random() < 0.15 ? 'web' : 'worker')
    kills++
  }
  for (const id of ids) await until(`session ${id} rests`, () => rest(id), 120_000)
  const logs = await Promise.all(ids.map(logOf))
  let lost = 0
  for (const [index, log] of logs.entries()) {
    const uses = log.filter(({ type }) => type === 'agent.tool_use')
    const results = log.filter(({ type }) => type === 'agent.tool_result')
    expect(results.map((event) => String(event['tool_use_id'])).sort(), `session ${index}`).toEqual(
      uses.map((use) => String(use.id)).sort(),
    )
    expect(results.filter((event) => event['is_error']).map(textOf), `session ${index}`).toEqual([])
    expect(uses, types(log).join('\n')).toHaveLength(callCount)
    const starts = log.filter(({ type }) => type === 'span.model_request_start').map(({ id }) => id)
    const ends = log.filter(({ type }) => type === 'span.model_request_end')
    expect(ends.map((event) => event['model_request_start_id'])).toEqual(starts)
    expect(ends.filter((event) => event['is_error'] === false)).toHaveLength(callCount + 1)
    lost += log.filter(({ type }) => type === 'session.status_rescheduled').length
    expect(log.at(-1)).toMatchObject({ type: 'session.status_idle', stop_reason: { type: 'end_turn' } })
    expect(log.filter(({ type }) => type === 'agent.message')).toHaveLength(1)
    expect(log.filter(({ processed_at: at }) => at === null)).toEqual([])
  }
  const reader = await begin(
    '!tool bash {"command":"sort ~/lines; for f in ~/*.count; do basename $f .count; cat $f; done"}',
  )
  await until('the lines are read', () => rest(reader), 60_000)
  const seen = textOf((await logOf(reader)).find(({ type }) => type === 'agent.tool_result')).split('\n')
  const names = ids.map((_, index) => `s${index}`)
  const numbers = Array.from({ length: callCount }, (_, index) => index)
  const lines = names
    .flatMap((name) => numbers.filter((index) => index % 3 !== 2).map((index) => `${name} ${index}`))
    .sort()
  expect(seen.filter((line) => /^s\d+ \d+$/.test(line)).sort()).toEqual(lines)
  expect(seen.filter((line) => line.endsWith('end'))).toEqual(
    names.map(() => `${numbers.filter((index) => index % 3 === 2).join(' ')} end`),
  )
  console.log(`${kills} kills; sessions were taken up again ${lost} times`)
  expect(lost).toBeGreaterThan(0)
}, 900_000)
