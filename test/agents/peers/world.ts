/** Agents that ask one another, by the built-in model's scripts. */
import { agentSessions, type AgentSessions, type Event } from '../../support/agent-sessions.ts'
import { callAgents } from '../../support/agents-service.ts'
import type { Answer, Berth } from '../../support/berth.ts'
import { until } from '../../support/until.ts'

/** An exchange as REST returns it. */
export type Exchange = {
  id: string
  type: string
  requester_session_id: string
  responder_session_id: string
  request: { text: string }
  answer: { text: string } | null
  state: string
  attachment: { filename: string; media_type: string; size_bytes: number; sha256: string } | null
  error: { type: string; message: string } | null
  created_at: string
  updated_at: string
  expires_at: string
  finished_at: string | null
}

/** A line of a script that asks a session, or an agent. */
export function ask(named: string, text: string, more: Record<string, unknown> = {}): string {
  return `!tool ask_peer ${JSON.stringify({ session_id: named, text, ...more })}`
}

/** The same in one turn with the line before. */
export function askToo(named: string, text: string): string {
  return ask(named, text).replace('!tool', '!tool+')
}

/** What one person does with sessions that ask. */
export type PeerWorld = AgentSessions & {
  token: string
  /** An agent that may ask, and that has the tools that are given besides. */
  asking(tools?: readonly unknown[]): Promise<string>
  /** An idle session of such an agent. */
  idle(tools?: readonly unknown[]): Promise<string>
  /** The exchanges of the calls in a log, in order. */
  exchanges(log: readonly Event[]): Promise<Exchange[]>
  exchange(id: string): Promise<Answer<Exchange>>
  /** Waits until the only call of a session has led to an exchange in this state. */
  inState(session: string, state: string): Promise<Exchange>
}

export function peerWorld(berth: Berth, token: string): PeerWorld {
  const sessions = agentSessions(berth, token)
  const exchange = (id: string) => callAgents<Exchange>(berth, token, 'GET', `/peer-exchanges/${id}`)
  const asking = (tools: readonly unknown[] = []): Promise<string> =>
    sessions.agent({ tools: [{ type: 'berth_toolset_v1' }, ...tools] })
  const uses = (log: readonly Event[]): Event[] =>
    log.filter(({ type, name }) => type === 'agent.tool_use' && name === 'ask_peer')
  return {
    ...sessions,
    token,
    asking,
    exchange,
    idle: async (tools) => sessions.begin(await asking(tools), null),
    exchanges: (log) => Promise.all(uses(log).map(async (use) => (await exchange(exchangeId(use))).body)),
    async inState(session, state) {
      let found: Exchange | undefined
      await until(`an exchange of ${session} is ${state}`, async () => {
        const [use] = uses(await sessions.log(session))
        const answer = use && (await exchange(exchangeId(use)))
        found = answer?.body
        return found?.state === state
      })
      return found as Exchange // it was just found
    },
  }
}

/** The exchange that a tool use or its result names. */
export function exchangeId(event: Event | undefined): string {
  return String(event?.['peer_exchange_id'])
}
