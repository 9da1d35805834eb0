/** Pictures in every format: their bytes say what kind they are, and not their label. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startChatWorld, type ChatWorld } from './chat-world.ts'

let world: ChatWorld
beforeAll(async () => {
  world = await startChatWorld()
})
afterAll(() => world?.stop())
beforeEach(() => world.mock.forget())

const kinds = {
  'image/png': Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
  'image/jpeg': Buffer.from('\xff\xd8\xff\xe0', 'latin1'),
  'image/gif': Buffer.from('GIF89a'),
  'image/webp': Buffer.from('RIFF\0\0\0\0WEBP'),
}
const labels = ['image/jpg', ...Object.keys(kinds)]

/** How each format sends a picture. */
const ways: Record<string, (label: string, data: string) => { path: string; body: object }> = {
  'chat completions': (label, data) => ({
    path: '/v1/chat/completions',
    body: {
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:${label};base64,${data}` } }] },
      ],
    },
  }),
  'chat completions, as a file': (label, data) => ({
    path: '/v1/chat/completions',
    body: {
      messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: `data:${label};base64,${data}` } }] }],
    },
  }),
  messages: (label, data) => ({
    path: '/v1/messages',
    body: {
      max_tokens: 100,
      messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: label, data } }] }],
    },
  }),
  responses: (label, data) => ({
    path: '/v1/responses',
    body: { input: [{ role: 'user', content: [{ type: 'input_image', image_url: `data:${label};base64,${data}` }] }] },
  }),
  'UI messages': (label, data) => ({
    path: '/v1/chat',
    body: {
      messages: [
        { id: '1', role: 'user', parts: [{ type: 'file', mediaType: label, url: `data:${label};base64,${data}` }] },
      ],
    },
  }),
}

test.each(Object.entries(ways))('in %s a picture arrives as what its bytes are', async (_name, way) => {
  for (const [kind, bytes] of Object.entries(kinds))
    for (const label of labels)
      for (const model of ['test/signed', 'test/sealed', 'test/plain']) {
        const data = bytes.toString('base64')
        const { path, body } = way(label, data)
        const answer = await world.post(path, { model, ...body })
        expect([answer.status, await answer.text()], `${label} ${kind}`).toEqual([200, expect.any(String)])
        const sent = world.mock.requests.at(-1)?.bodyText
        expect(sent).toContain(model === 'test/signed' ? `"media_type":"${kind}"` : `data:${kind};base64,${data}`)
      }
})

test.each(Object.entries(ways))('in %s bytes of no such kind are refused', async (_name, way) => {
  for (const model of ['test/signed', 'test/plain']) {
    const { path, body } = way('image/png', Buffer.from('<svg/>').toString('base64'))
    const answer = await world.post(path, { model, ...body })
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining('is no image that models accept, by its first bytes'),
    ])
  }
  expect(world.mock.requests).toEqual([])
})
