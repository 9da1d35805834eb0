/** The TypeScript client against a real web process: calls, pages, errors, and what is repeated. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Berth as Client, documentOf, type BerthOptions } from '#src/client/berth.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { freePort } from '../support/ports.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
})
afterAll(() => berth.stop())

const client = (options: Partial<BerthOptions> = {}): Client => new Client({ url: berth.url, token, ...options })
const failure = { name: 'BerthError' }

/** `fetch` that first does what the list says: true asks the server and loses its answer. */
function failing(...turns: (Response | 'refused' | 'lost')[]): { fetch: typeof fetch; asked: () => number } {
  let asked = 0
  return {
    asked: () => asked,
    async fetch(input, init) {
      asked++
      const turn = turns.shift()
      if (turn instanceof Response) return turn
      if (turn === 'refused') throw new TypeError('fetch failed')
      const answer = await fetch(input, init)
      if (turn !== 'lost') return answer
      await answer.body?.cancel()
      throw new TypeError('terminated')
    },
  }
}

test('a noun is created, read, listed in pages and deleted', async () => {
  const { projects } = client()
  const names = ['a', 'b', 'c', 'd', 'e']
  for (const name of names) await projects.create({ name: `page-${name}` })
  const found: string[] = []
  for await (const project of projects.all({ first: 2 })) found.push(project.name)
  expect(found).toEqual(names.map((name) => `page-${name}`).reverse())
  const page = await projects.list({ first: 2 })
  expect(page.nodes).toHaveLength(2)
  const next = await projects.list({ first: 4, after: page.endCursor })
  expect([next.nodes.map(({ name }) => name), next.endCursor]).toEqual([['page-c', 'page-b', 'page-a'], null])
  const [project] = page.nodes
  expect(await projects.get(project?.id ?? '')).toEqual(project)
  expect(await projects.delete(project?.id ?? '')).toBe(project?.id)
  await expect(projects.get(project?.id ?? '')).rejects.toMatchObject({ ...failure, code: 'NOT_FOUND' })
})

test('any document runs, as a text, with its types, or as a library parsed it', async () => {
  const text = 'query Whose($id: ID!) { organization(id: $id) { id } }'
  const { organization } = await client().viewer()
  const variables = { id: organization?.id ?? '' }
  const typed = documentOf<{ organization: { id: string } }, { id: string }>(text)
  expect((await client().query(typed, variables)).organization.id).toBe(variables.id)
  expect(await client().query(text, variables)).toEqual({ organization: variables })
  expect(await client().query({ loc: { source: { body: text } } }, variables)).toEqual({ organization: variables })
})

test('an error has the code, the status and the request’s id, and the sentence of the server', async () => {
  const missing = client().vms.get('vm_00000000000000000000000000')
  await expect(missing).rejects.toMatchObject({ ...failure, code: 'NOT_FOUND', status: 404 })
  await expect(missing).rejects.toMatchObject({ requestId: expect.stringMatching(/^req_/), message: /./ })
  const stranger = client({ token: 'nonsense' }).viewer()
  await expect(stranger).rejects.toMatchObject({ ...failure, status: 401 })
  const wrong = client().query('{ nonsense }')
  await expect(wrong).rejects.toMatchObject({ ...failure, status: 400, message: expect.stringContaining('nonsense') })
  const file = client().vms.files.read('vm_00000000000000000000000000', '/x')
  await expect(file).rejects.toMatchObject({ ...failure, status: expect.toBeOneOf([403, 404]) })
})

test('without a server, and with something else in its place, the error says so', async () => {
  const nobody = client({ url: `http://127.0.0.1:${await freePort()}` }).viewer()
  await expect(nobody).rejects.toMatchObject({ ...failure, code: 'CONNECTION_FAILED', status: 0 })
  const other = client({ fetch: async () => new Response('<html>') }).viewer()
  await expect(other).rejects.toMatchObject({ ...failure, code: 'INVALID_ANSWER' })
})

test('a query is repeated, and a mutation without a key is not', async () => {
  const way = failing('refused', new Response('busy', { status: 503, headers: { 'retry-after': '0' } }))
  expect((await client({ fetch: way.fetch }).viewer()).user?.name).toBe('alice')
  expect(way.asked()).toBe(3)
  const once = failing('refused')
  const made = client({ fetch: once.fetch }).projects.create({ name: 'never' })
  await expect(made).rejects.toMatchObject({ code: 'CONNECTION_FAILED' })
  expect(once.asked()).toBe(1)
})

test('a mutation with a key whose answer was lost is done once, and answered', async () => {
  const way = failing('lost', 'lost')
  const options = { idempotencyKey: 'only-once' }
  const project = await client({ fetch: way.fetch }).projects.create({ name: 'only once' }, options)
  expect(way.asked()).toBe(3)
  const { nodes } = await client().projects.list()
  expect(nodes.filter(({ name }) => name === 'only once')).toEqual([project])
})

test('a server that asks to wait for long is reported at once', async () => {
  const busy = (): Response => new Response('{}', { status: 429, headers: { 'retry-after': '3600' } })
  const way = failing(busy(), busy())
  const asked = client({ fetch: way.fetch }).viewer()
  await expect(asked).rejects.toMatchObject({ status: 429, retryAfter: 3600 })
  expect(way.asked()).toBe(1)
})

test('an aborted call fails with the reason of its signal, also while it waits to try again', async () => {
  const reason = new Error('enough')
  const way = failing('refused', 'refused')
  const controller = new AbortController()
  const asked = client({
    fetch: (...args) => {
      queueMicrotask(() => controller.abort(reason))
      return way.fetch(...args)
    },
  }).viewer({ signal: controller.signal })
  await expect(asked).rejects.toBe(reason)
})

test('a source of tokens is asked again for one that was refused', async () => {
  const asked: boolean[] = []
  const source = (wasRefused: boolean): string => {
    asked.push(wasRefused)
    return wasRefused ? token : 'ended'
  }
  expect((await client({ token: source }).viewer()).user?.name).toBe('alice')
  expect(asked).toEqual([false, true])
})

test('it acts in the organization that it is given, if the token belongs there', async () => {
  const { organization } = await client().viewer()
  const own = client({ organization: organization?.id ?? '' })
  expect((await own.viewer()).organization?.id).toBe(organization?.id)
  const other = (await new Client({ url: berth.url, token: await berth.token('bob', 'other') }).viewer()).organization
  await expect(client({ organization: other?.id ?? '' }).projects.list()).rejects.toMatchObject({ status: 403 })
})
