/** What its owner has seen of a session, and what anybody sees of one that is shared. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId, encodeId, newId } from '#src/platform/ids.ts'
import { callAgents, refusal, startWithAgent } from '../../support/agents-service.ts'
import type { Answer, Berth } from '../../support/berth.ts'
import { append } from '../../support/sessions.ts'

type Session = Record<string, unknown> & { id: string; activity: Record<string, unknown> }

let berth: Berth
let token: string
let agent: string
beforeAll(async () => {
  ;({ berth, token, agent } = await startWithAgent())
})
afterAll(() => berth.stop())

const call = <Body = Session>(method: string, path: string, body?: unknown): Promise<Answer<Body>> =>
  callAgents<Body>(berth, token, method, path, body)
async function make(fields: Record<string, unknown> = {}): Promise<Session> {
  const made = await call('POST', '/sessions', { agent, ...fields })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return made.body
}
const uuid = (id: string): string => decodeId('session', id) ?? ''
const message = { type: 'user.message', content: [{ type: 'text', text: 'hello' }] }

describe('reading and sharing', () => {
  test('the read mark only moves forward, and what came after it is counted', async () => {
    const made = await make({ initial_events: [message] })
    const said = await append(
      berth.services.db,
      uuid(made.id),
      { type: 'agent.message', data: { content: [] } },
      { type: 'agent.thinking' },
      { type: 'agent.message', data: { content: [] } },
    )
    const { data } = (await call<{ data: { id: string }[] }>('GET', `/sessions/${made.id}/events`)).body
    const seen = (id: string | undefined): Promise<Answer<Session>> =>
      call('PUT', `/sessions/${made.id}/seen`, { through_event_id: id })
    expect((await call('GET', `/sessions/${made.id}`)).body.activity).toMatchObject({
      unread_count: 4,
      last_read_event_id: null,
      last_event_id: data.at(-1)?.id,
    })
    expect(await seen(data[2]?.id)).toMatchObject({
      status: 200,
      body: { unread_count: 2, last_read_event_id: data[2]?.id },
    })
    expect((await seen(data[0]?.id)).body).toMatchObject({ unread_count: 2, last_read_event_id: data[2]?.id })
    await append(berth.services.db, uuid(made.id), ...Array.from({ length: 150 }, () => ({ type: 'agent.thinking' })))
    expect((await call('GET', `/sessions/${made.id}`)).body.activity).toMatchObject({ unread_count: 100 })
    expect(said).toHaveLength(3)
    for (const id of [newId('vm'), newId('sessionEvent'), ''])
      expect(await seen(id)).toMatchObject(refusal(400, 'invalid_request'))
  })

  test('a shared transcript needs no credentials, shows messages and names of tools, and ends with the sharing', async () => {
    const made = await make({ title: 'shown', initial_events: [message] })
    const [use] = await append(berth.services.db, uuid(made.id), {
      type: 'agent.tool_use',
      data: { name: 'bash', input: { command: 'secret' }, evaluated_permission: 'allow' },
    })
    await append(
      berth.services.db,
      uuid(made.id),
      {
        type: 'agent.tool_result',
        data: { tool_use_id: encodeId('sessionEvent', use?.id ?? ''), content: [{ type: 'text', text: 'secret' }] },
      },
      { type: 'agent.thinking' },
      { type: 'agent.message', data: { content: [{ type: 'text', text: 'done' }] } },
    )
    const open = (): Promise<Answer<Record<string, unknown>>> =>
      berth.call('GET', `/agents/v1/shared-sessions/${made.id}`)
    expect(await open()).toMatchObject({ status: 404 })
    expect(await call('PUT', `/sessions/${made.id}/sharing`, { shared: true })).toMatchObject({
      status: 200,
      body: { shared: true, shared_at: expect.any(String) },
    })
    const shown = await open()
    expect(shown.body).toMatchObject({
      type: 'shared_session',
      id: made.id,
      title: 'shown',
      agent: { name: 'helper' },
      has_more: false,
      data: [
        { type: 'user.message', content: message.content },
        { type: 'agent.tool_use', name: 'bash' },
        { type: 'agent.tool_result', name: 'bash' },
        { type: 'agent.message', content: [{ type: 'text', text: 'done' }] },
      ],
    })
    expect(JSON.stringify(shown.body)).not.toContain('secret')
    expect([
      shown.headers.get('cache-control'),
      shown.headers.get('x-robots-tag'),
      shown.headers.get('ratelimit-limit'),
    ]).toEqual(['no-store', 'noindex', '6000'])
    expect(await call('PUT', `/sessions/${made.id}/sharing`, { shared: 'yes' })).toMatchObject({ status: 400 })
    await call('PUT', `/sessions/${made.id}/sharing`, { shared: false })
    expect(await open()).toMatchObject({ status: 404 })
  })

  test('a session with an attachment that is known by its URL only cannot be shared', async () => {
    const made = await make({
      initial_events: [
        {
          type: 'user.message',
          content: [{ type: 'image', source: { type: 'url', url: 'https://example.com/x.png' } }],
        },
      ],
    })
    expect(await call('PUT', `/sessions/${made.id}/sharing`, { shared: true })).toMatchObject(
      refusal(400, 'url_only_attachment'),
    )
    expect((await call('GET', `/sessions/${made.id}`)).body).toMatchObject({ shared: false })
  })
})
