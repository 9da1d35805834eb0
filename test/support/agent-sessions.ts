/** Runs sessions in a complete Berth over the documented REST paths: starts them, sends to them, waits and reads. */
import { expect } from 'vitest'
import { problemsOf, type Schema } from '../contract/json-schema.ts'
import { callAgents, makeAgent } from './agents-service.ts'
import type { Berth } from './berth.ts'
import { until } from './until.ts'

/** An event as REST returns it. */
export type Event = { id: string; type: string; processed_at: string | null } & Record<string, unknown>
export type Session = {
  id: string
  status: string
  stop_reason: { type: string; event_ids?: string[] } | null
  usage: Record<string, unknown>
}

/** What a test does with sessions of one person. */
export type AgentSessions = {
  agent(fields?: Record<string, unknown>): Promise<string>
  begin(agent: string, text: string | null, fields?: Record<string, unknown>): Promise<string>
  send(id: string, ...events: Record<string, unknown>[]): Promise<Event[]>
  say(id: string, text: string): Promise<Event[]>
  get(id: string): Promise<Session>
  /** Waits until the session is idle, and reads its log. */
  rested(id: string, limitMs?: number): Promise<Event[]>
  log(id: string): Promise<Event[]>
}

export function agentSessions(berth: Pick<Berth, 'call'>, token: string): AgentSessions {
  const call = async <Body>(method: string, path: string, status: number, body?: unknown): Promise<Body> => {
    const answer = await callAgents<Body>(berth, token, method, path, body)
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBe(status)
    return answer.body
  }
  const get = (id: string): Promise<Session> => call('GET', `/sessions/${id}`, 200)
  let described: Promise<{ body: Schema }> | undefined
  /** Whatever happens in a session, its log must match the service's OpenAPI document. */
  const log = async (id: string): Promise<Event[]> => {
    const { data } = await call<{ data: Event[] }>('GET', `/sessions/${id}/events?limit=1000`, 200)
    const { body: document } = await (described ??= berth.call('GET', '/agents/openapi.json'))
    const event = { $ref: '#/components/schemas/SessionEvent' }
    expect(data.flatMap((one) => problemsOf(one, event, document, { closed: true, at: one.type }))).toEqual([])
    return data
  }
  const send = async (id: string, ...events: Record<string, unknown>[]): Promise<Event[]> =>
    (await call<{ data: Event[] }>('POST', `/sessions/${id}/events`, 200, { events })).data
  return {
    get,
    log,
    send,
    agent: (fields) => makeAgent(berth, token, fields),
    begin: async (agent, text, fields = {}) =>
      (
        await call<{ id: string }>('POST', '/sessions', 201, {
          agent,
          ...(text === null ? {} : { initial_events: [message(text)] }),
          ...fields,
        })
      ).id,
    say: (id, text) => send(id, message(text)),
    async rested(id, limitMs = 20_000) {
      await until(`session ${id} rests`, async () => (await get(id)).status === 'idle', limitMs)
      return log(id)
    },
  }
}

export function message(text: string): Record<string, unknown> {
  return { type: 'user.message', content: [{ type: 'text', text }] }
}

/** The types of a log, in order. */
export function types(events: readonly Event[]): string[] {
  return events.map(({ type }) => type)
}

/** The text of an event. */
export function textOf(event: Event | undefined): string {
  return ((event?.['content'] ?? []) as { text?: string }[]).map(({ text }) => text ?? '').join('\n')
}

/** The results of tools, in order. */
export function results(events: readonly Event[]): { text: string; isError: boolean }[] {
  return events
    .filter(({ type }) => type.endsWith('tool_result'))
    .map((event) => ({ text: textOf(event), isError: event['is_error'] === true }))
}
