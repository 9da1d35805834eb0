/** What the ingress says itself, to people and to programs. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TargetRefusal } from '#src/edge/http/targets.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { ask, openWorld, textOf, type World } from './ingress-world.ts'

let world: World
let refusal: Error
beforeAll(async () => {
  world = await openWorld({
    reach: async () => {
      throw refusal
    },
    catchUp: async (host) => {
      if (host === 'fresh.test') world.route(host, 1)
    },
    answerChallenge: async (host, token) => (host === 'a.test' && token === 'known' ? 'known.thumb' : null),
    securePort: (host) => (host === 'secure.test' ? 443 : host === 'other.test' ? 4443 : null),
  })
  for (const host of ['a.test', 'secure.test', 'other.test']) world.route(host, 1)
  world.route('none.test', 1, { vmId: null, vmPort: null })
  world.route('db.test', 1, { access: 'database' })
})
afterAll(() => world.close())

test('a browser gets a page, and everything else plain text; both say the request’s id', async () => {
  const page = await ask(world, 'nowhere.test', '/', { headers: { accept: 'text/html,*/*' } })
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(page.text).toMatch(/^<!doctype html>[^]*Nothing is here/)
  expect(page.text).toContain(page.headers['x-request-id'])
  const plain = await ask(world, 'nowhere.test')
  expect([plain.status, plain.headers['content-type']]).toEqual([404, 'text/plain; charset=utf-8'])
  expect(plain.text).toMatch(/^Nothing is here\. No service has this address/)
  const bare = await ask(world, 'nowhere.test', '/', { method: 'HEAD' })
  expect([bare.status, bare.text]).toEqual([404, ''])
})

test.each([
  [new TargetRefusal('sleeping', 'It sleeps.'), 503, 'It sleeps.'],
  [new TargetRefusal('starting', 'It starts.', 3), 503, 'It starts.'],
  [new TargetRefusal('gone', 'It is gone.'), 404, 'It is gone.'],
  [new BerthError('upstream_error', 'secret'), 502, 'Nothing listens'],
  [new BerthError('capacity_unavailable', 'secret'), 503, 'too many connections'],
  [new BerthError('vm_unreachable', 'secret'), 502, 'does not answer'],
  [new Error('secret'), 502, 'cannot be reached'],
])('where a target cannot be reached it says why: %s', async (error, status, sentence) => {
  refusal = error
  const { status: told, text } = await ask(world, 'a.test')
  expect(told).toBe(status)
  expect(text).toContain(sentence)
  expect(text).not.toContain('secret')
})

test('an address that leads nowhere yet is said to, and one of a database is not there', async () => {
  expect((await ask(world, 'none.test')).text).toContain('not linked')
  expect((await ask(world, 'db.test')).status).toBe(404)
})

test('an address that was made a moment ago is looked for before it is said to be unknown', async () => {
  refusal = new TargetRefusal('sleeping', 'It sleeps.')
  expect((await ask(world, 'fresh.test', '/', { method: 'POST', body: 'x' })).text).toContain('It sleeps.')
  expect((await ask(world, 'stale.test')).status).toBe(404)
})

test('a challenge of a certificate authority is answered before anything else, and only a known one', async () => {
  const path = '/.well-known/acme-challenge/'
  refusal = new TargetRefusal('sleeping', 'It sleeps.')
  expect(await ask(world, 'a.test', `${path}known`)).toMatchObject({ status: 200, text: 'known.thumb' })
  for (const token of ['unknown', '../known', `${'x'.repeat(300)}`, ''])
    expect((await ask(world, 'a.test', path + token)).status).toBe(503)
  expect((await ask(world, 'secure.test', `${path}unknown`)).status).toBe(308)
})

test('a host with a certificate is asked for by HTTPS, at the same path', async () => {
  const { status, headers } = await ask(world, 'secure.test', '/x?y=1', { method: 'POST', body: 'z' })
  expect([status, headers.location]).toEqual([308, 'https://secure.test/x?y=1'])
  expect((await ask(world, 'other.test')).headers.location).toBe('https://other.test:4443/')
})

test('a preview without anybody who judges it is shown to nobody', async () => {
  world.route('preview.test', 1, { access: 'preview', id: newUuid() })
  expect((await ask(world, 'preview.test')).status).toBe(404)
})

test('what is no HTTP is told so in plain words', async () => {
  expect(await world.raw('hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n[^]*no proper HTTP/)
})

test('without a name, or for an unknown one, no certificate is shown', async () => {
  await expect(world.dialTls('nowhere.test')).rejects.toThrow(/unrecognized name/i)
  await expect(world.dialTls('')).rejects.toThrow(/unrecognized name/i)
  const socket = await world.dialTls('a.test', { ALPNProtocols: ['http/1.1'] })
  socket.write('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
  expect(await textOf(socket)).toMatch(/^HTTP\/1.1 503 /)
})
