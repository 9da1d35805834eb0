/** A Berth with a code host whose events fire triggers. Sessions that start do nothing here: no worker takes their steps. */
import { afterAll, beforeAll, expect } from 'vitest'
import { handleTriggers } from '#workers/agents/triggers.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { callAgents } from '../../support/agents-service.ts'
import { codeHostSettings, startCodeHost, type CodeHost } from '../../support/code-host/code-host.ts'
import { deliverHook, hookSecret, type HookAnswer } from '../../support/code-host/deliveries.ts'
import { until } from '../../support/until.ts'

export let berth: Berth
export let host: CodeHost
export let token: string
export let agent: string

export type Trigger = {
  id: string
  repo: string
  events: string[]
  enabled: boolean
  filters: Record<string, unknown>
  agent: { type: string; id: string; version: number | null }
  deployment_id: string | null
  last_fired_at: string | null
  error?: { code: string; message: string }
}
export type Fire = Record<string, unknown> & {
  id: string
  status: string
  skip_reason: string | null
  session_id: string | null
  error: { type: string; message: string } | null
  redelivery_count: number
}

/** Starts it before the tests of a file, and stops it after them. @param decides whether fires are decided. */
export function useTriggers({ decides = true, settings = {} as Record<string, string> } = {}): void {
  beforeAll(async () => {
    host = await startCodeHost()
    berth = await startBerth({
      settings: {
        ...codeHostSettings(host),
        GITHUB_WEBHOOK_SECRET: hookSecret,
        BERTH_RATE_LIMIT_FACTOR: '100',
        ...settings,
      },
    })
    host.account('octocat').repositories = ['site', 'other']
    token = await berth.token('olivia', 'acme', 'owner')
    await connect(token)
    agent = await makeAgent(token)
    if (decides) await handleTriggers(berth.services)
  })
  afterAll(async () => {
    await berth.stop()
    host.close()
  })
}

/** Connects an account at the code host. */
export const connect = (as: string, login = 'octocat') =>
  berth.call('POST', '/api/v1/codehost/save-token', { token: as, body: { code: host.code(login) } })

export async function makeAgent(as: string): Promise<string> {
  const { body } = await callAgents<{ id: string }>(berth, as, 'POST', '/agents', { name: 'r', model: 'berth/demo' })
  return body.id
}

export const call = <Body = Trigger>(method: string, path: string, body?: unknown, as = token) =>
  callAgents<Body>(berth, as, method, `/triggers${path}`, body)

export async function create(fields: Record<string, unknown> = {}, as = token): Promise<Trigger> {
  const { status, body } = await call(
    'POST',
    '',
    { agent, repo: 'octocat/site', events: ['pull_request', 'push', 'issues', 'issue_comment'], ...fields },
    as,
  )
  expect(status, JSON.stringify(body)).toBe(201)
  return body
}

export async function firesOf(id: string, as = token): Promise<Fire[]> {
  return (await call<{ data: Fire[] }>('GET', `/${id}/fires`, undefined, as)).body.data
}

export const deliver = (event: string, payload: object | string, headers: Record<string, string> = {}) =>
  deliverHook(berth.url, event, payload as Record<string, unknown>, headers)

/** Delivers an event, and waits until the fire of this trigger is decided. */
export async function fireOf(
  id: string,
  event: string,
  payload: object,
  as = token,
): Promise<{ answer: HookAnswer; fire: Fire }> {
  const answer = await deliver(event, payload)
  let fire: Fire | undefined
  await until('the fire is decided', async () => {
    fire = (await firesOf(id, as)).find((one) => one['delivery_id'] === answer.body['delivery_id'])
    return fire !== undefined && fire.status !== 'pending'
  })
  return { answer, fire: fire as Fire }
}
