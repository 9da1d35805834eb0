/** The agents service by its documented paths, for tests of what the web process alone decides. */
import { expect } from 'vitest'
import { startBerth, type Answer, type Berth } from './berth.ts'

/** Calls a path below `/agents/v1`. */
export function callAgents<Body>(
  berth: Pick<Berth, 'call'>,
  token: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer<Body>> {
  return berth.call<Body>(method, `/agents/v1${path}`, { token, ...(body === undefined ? {} : { body }) })
}

/** A Berth, an owner of `acme`, and that owner's agent. */
export async function startWithAgent(): Promise<{ berth: Berth; token: string; agent: string }> {
  const berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  const token = await berth.token('alice', 'acme', 'owner')
  return { berth, token, agent: await makeAgent(berth, token) }
}

/** An agent of whoever has the token, with the built-in model; its id. */
export async function makeAgent(berth: Pick<Berth, 'call'>, token: string, fields: object = {}): Promise<string> {
  const agent = { name: 'helper', model: 'berth/demo', ...fields }
  const { status, body } = await callAgents<{ id: string }>(berth, token, 'POST', '/agents', agent)
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id
}

/** The expected shape of an error: this status and code, and full sentences; the last may be a command to run. */
export function refusal(status: number, code: string): object {
  return {
    status,
    body: { type: 'error', error: { code, message: expect.stringMatching(/^[A-Za-z`].{9,}(?:\.|: npm run \w+)$/s) } },
  }
}
