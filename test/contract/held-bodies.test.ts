/** What an organization's requests make a process hold together has a limit: beyond it a large one is refused, and nobody else is. */
import { EventEmitter } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { holdBody } from '#src/platform/json/held-bodies.ts'
import { limits } from '#src/platform/limits.ts'
import { startChatWorld, type ChatWorld } from '../llm/chat-world.ts'

let world: ChatWorld
beforeAll(async () => {
  world = await startChatWorld()
})
afterAll(() => world.stop())

const large = 'x'.repeat(100 * 1024)
const places = ['/api/v1/vms', '/agents/v1/agents', '/llm/v1/chat/completions', '/graphql'] as const
/** A large request at each place, with its length told before or not. */
const ask = async (path: string, token: string, isChunked: boolean): Promise<number> => {
  const text = JSON.stringify({ name: large })
  const answer = await fetch(world.berth.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(isChunked ? { body: new Blob([text]).stream(), duplex: 'half' } : { body: text }),
  } as RequestInit)
  const body = await answer.text()
  if (answer.status === 429) {
    expect(body).toContain('The bodies of this organization’s requests')
    expect(answer.headers.get('retry-after')).toBe('1')
  }
  return answer.status
}

test('where an organization’s bodies fill its limit, its next large one is 429 everywhere, and another’s is not', async () => {
  const [token, other] = [await world.berth.token('alice', 'acme'), await world.berth.token('eve', 'elsewhere')]
  const { body } = await world.berth.ask('{ viewer { organization { id } } }', { token })
  const { viewer } = body.data as { viewer: { organization: { id: string } } }
  const others = Object.assign(new EventEmitter(), { destroyed: false })
  const holding = others as unknown as Parameters<typeof holdBody>[2] // all that it is asked for
  holdBody(decodeId('organization', viewer.organization.id) ?? '', limits.bodyBytesPerOrganization - 1024, holding)
  for (const isChunked of [false, true])
    for (const path of places) {
      expect([path, isChunked, await ask(path, token, isChunked)]).toEqual([path, isChunked, 429])
      expect([path, isChunked, await ask(path, other, isChunked)]).toEqual([path, isChunked, 400])
    }
  expect((await world.berth.call('GET', '/api/v1/vms', { token })).status).toBe(200)
  others.emit('close')
  for (const path of places) expect([path, await ask(path, token, false)]).toEqual([path, 400])
})
