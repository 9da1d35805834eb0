/** Files in messages: what the model gets of them, who may send which, and what becomes of one that is deleted. */
import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { startMockBerth, type MockBerth } from '../../llm/mock-berth.ts'
import { agentSessions, type AgentSessions } from '../../support/agent-sessions.ts'
import type { Berth } from '../../support/berth.ts'
import type { MockUpstream } from '../../support/mock-upstream.ts'

let berth: Berth
let mock: MockUpstream
let stop: MockBerth['stop']
let token: string
let client: Anthropic
let sessions: AgentSessions
beforeAll(async () => {
  ;({ berth, mock, stop } = await startMockBerth())
  token = await berth.token()
  client = new Anthropic({ baseURL: `${berth.url}/agents`, apiKey: null, authToken: token, maxRetries: 0 })
  sessions = agentSessions(berth, token)
})
afterAll(() => stop?.())
beforeEach(() => mock.forget())

const upload = async (content: string, name: string, type: string, by = client): Promise<string> =>
  (await by.beta.files.upload({ file: await toFile(Buffer.from(content, 'latin1'), name, { type }) })).id
const pngBytes = '\x89PNG\r\n\x1a\n!'
const block = (type: 'image' | 'document', id: string, fields: object = {}): Record<string, unknown> => ({
  type,
  source: { type: 'file', file_id: id },
  ...fields,
})
const message = (...content: object[]): Record<string, unknown> => ({ type: 'user.message', content })
const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64')
/** The content of the user's messages in the model's request. */
const heard = async (at: number): Promise<unknown[]> =>
  ((await mock.request(at)).body['messages'] as { role: string; content: unknown[] }[])
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) => content)

test('the model gets images, PDFs and texts of files, and a note in place of one that was deleted', async () => {
  const ids = [
    await upload(pngBytes, 'a.png', 'image/png'),
    await upload('%PDF-1.7 x', 'a.pdf', 'application/pdf'),
    await upload('a,b\n1,2', 'a.csv', 'text/csv'),
  ] as const
  const content = [
    { type: 'text', text: 'look' },
    block('image', ids[0]),
    block('document', ids[1], { title: 'report' }),
    block('document', ids[2], { title: 'table' }),
  ]
  mock.script({ parts: [{ text: 'seen' }] }, { parts: [{ text: 'again' }] })
  const id = await sessions.begin(await sessions.agent({ model: 'test/signed' }), null, {
    initial_events: [message(...content)],
  })
  const log = await sessions.rested(id)
  expect(log[0]).toMatchObject({ content: [content[0], content[1], content[2], { ...content[3], context: null }] })
  expect(await heard(0)).toEqual([
    { type: 'text', text: 'look' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64(pngBytes) } },
    expect.objectContaining({
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: base64('%PDF-1.7 x') },
    }),
    expect.objectContaining({ type: 'text', text: 'table\n\na,b\n1,2' }),
  ])
  await client.beta.files.delete(ids[1])
  await sessions.send(id, message({ type: 'text', text: 'and now?' }))
  await sessions.rested(id)
  const second = JSON.stringify(await heard(1))
  expect(second).toContain('[A file is attached (report), which cannot be read any more.]')
  expect(second).toContain(base64(pngBytes))
  const { body } = await berth.ask(
    `{ session(id: "${id}") { events(first: 1) { nodes { ... on UserMessage { content { ... on ImageBlock { source { ... on FileSource { fileId file { filename } } } } ... on DocumentBlock { source { ... on FileSource { fileId file { filename } } } } } } } } } }`,
    { token },
  )
  expect(body.data).toMatchObject({
    session: {
      events: {
        nodes: [
          {
            content: [
              {},
              { source: { fileId: ids[0], file: { filename: 'a.png' } } },
              { source: { fileId: ids[1], file: null } },
              { source: { fileId: ids[2], file: { filename: 'a.csv' } } },
            ],
          },
        ],
      },
    },
  })
  expect(await berth.call('PUT', `/agents/v1/sessions/${id}/sharing`, { token, body: { shared: true } })).toMatchObject(
    {
      status: 400,
      body: { error: { code: 'url_only_attachment' } },
    },
  )
})

test('a message with a file that does not fit, is another’s or is not there is refused, and nothing of it is sent', async () => {
  const colleague = new Anthropic({
    baseURL: `${berth.url}/agents`,
    apiKey: null,
    authToken: await berth.token('colleague'),
  })
  const [png, text, binary, empty, theirs] = [
    await upload(pngBytes, 'a.png', 'image/png'),
    await upload('x', 'a.txt', 'text/plain'),
    await upload('\0', 'a.bin', 'application/zip'),
    await upload('', 'e.txt', 'text/plain'),
    await upload('x', 'secret.txt', 'text/plain', colleague),
  ]
  const large = await upload('x'.repeat(1024 * 1024 + 1), 'large.txt', 'text/plain')
  const session = await sessions.begin(await sessions.agent(), null)
  const refusals: [object, RegExp][] = [
    [block('image', text), /a\.txt is text\/plain; an image must be/],
    [block('document', png), /a\.png is image\/png; a document must be/],
    [block('document', binary), /application\/zip; a document/],
    [block('document', empty), /empty/],
    [block('document', large), /more than 1 MiB/],
    [block('document', theirs), /not the id of a file of yours/],
    [block('document', 'file_x'), /not the id of a file of yours/],
    [block('document', 'x'.repeat(65)), /file_id/],
  ]
  for (const [wrong, sentence] of refusals) {
    const refused = { status: 400, body: { error: { message: expect.stringMatching(sentence) } } }
    const events = [message({ type: 'text', text: 'x' }, wrong)]
    expect(
      await berth.call('POST', `/agents/v1/sessions/${session}/events`, { token, body: { events } }),
    ).toMatchObject(refused)
    const begun = { agent: await sessions.agent(), initial_events: events }
    expect(await berth.call('POST', '/agents/v1/sessions', { token, body: begun })).toMatchObject(refused)
  }
  expect(await sessions.log(session)).toEqual([])
})

test('a session that the token inside a VM uses tells its model nothing of files, which the token may not read', async () => {
  const id = await upload('the plan', 'a.txt', 'text/plain')
  const agent = await sessions.agent({ model: 'test/plain' })
  const session = await sessions.begin(agent, null)
  await sql`update sessions set used_by_vm = true where id = ${decodeId('session', session)}`.execute(berth.services.db)
  await sessions.send(session, message(block('document', id)))
  expect(JSON.stringify(await heard(0))).not.toContain('the plan')
})
