/** Every address that a newcomer is given: the first page and its links, the lines of a start, and HEAD of whatever GET answers. */
import { globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { surfaces } from '#rest-compat/surfaces.ts'
import { documentsOf } from '#src/guide/documents.ts'
import { announcement } from '#src/start/announcement.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { fill, makeCallers, makeRefusingNode, makeTarget, type Callers, type Target } from '../contract/callers.ts'
import { documentOf } from '../contract/documents.ts'
import { graphqlRows } from '../contract/matrix.ts'

let berth: Berth
let callers: Callers
let target: Target
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  callers = await makeCallers(berth)
  target = await makeTarget(berth, callers.owner, await makeRefusingNode(berth))
})
afterAll(() => berth.stop())

describe('the page at /', () => {
  test('says what Berth is, loads nothing from other hosts, and all its links work', async () => {
    const answer = await fetch(`${berth.url}/`)
    const html = await answer.text()
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(html).toContain('cloud for software agents')
    expect(html).not.toMatch(/https?:\/\/|<script|src=/)
    const links = [...html.matchAll(/href="([^"]+)"/g)].map((match) => match[1] ?? '')
    expect(links).toEqual(
      expect.arrayContaining([
        '/graphql',
        '/graphql/schema.graphql',
        '/livez',
        '/readyz',
        '/README.md',
        ...surfaces.map(({ openapiPath }) => openapiPath),
      ]),
    )
    for (const link of links)
      expect([link, (await fetch(berth.url + link, { headers: { accept: 'text/html,*/*' } })).status]).toEqual([
        link,
        200,
      ])
  })

  test('leads to a README from which every document is reached, with what it links to', async () => {
    const seen = new Set(['/README.md'])
    const missing: string[] = []
    for (const path of seen) {
      const answer = await fetch(berth.url + path)
      if (answer.status !== 200) missing.push(path)
      if (!path.endsWith('.md')) continue
      const text = (await answer.text()).replaceAll(/^```[^]*?^```/gm, '')
      for (const [, link = ''] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g))
        if (/\.(?:md|mjs|yaml|html|graphql)$|^LICENSE$/.test(link))
          seen.add(new URL(link, `http://berth${path}`).pathname)
    }
    expect(seen.size).toBeGreaterThan(60)
    expect(missing).toEqual([])
    const checkout = fileURLToPath(new URL('../..', import.meta.url))
    expect(globSync('docs/**/*.md', { cwd: checkout }).filter((path) => !seen.has(`/${path}`))).toEqual([])
  })

  test('serves no file that no document links to', async () => {
    for (const path of ['package-lock.json', 'Procfile', 'src/start/node.sh'])
      expect([path, (await fetch(`${berth.url}/${path}`)).status]).toEqual([path, 404])
  })

  test('serves files of the checkout alone, and nothing by a link of the file system', () => {
    const outside = mkdtempSync(join(tmpdir(), 'berth-doors-'))
    const folder = join(outside, 'checkout')
    mkdirSync(join(folder, 'docs'), { recursive: true })
    writeFileSync(join(outside, 'secret.mjs'), 'outside')
    writeFileSync(
      join(folder, 'README.md'),
      '[a](docs/operating.md#there) [b](../secret.mjs) [c](linked.mjs) [d](there/secret.mjs) [e](docs) [f](none.mjs) [g](https://a.test/own.mjs)',
    )
    writeFileSync(
      join(folder, 'docs/operating.md'),
      '[up](../README.md) [plain](plain.mjs "title") [licence](../LICENSE)',
    )
    for (const path of ['docs/plain.mjs', 'LICENSE', 'own.mjs', 'docs/own.mjs', 'secret.txt'])
      writeFileSync(join(folder, path), '')
    symlinkSync(join(outside, 'secret.mjs'), join(folder, 'linked.mjs'))
    symlinkSync(outside, join(folder, 'there'))
    try {
      expect(documentsOf(folder)).toEqual(['README.md', 'docs/operating.md', 'docs/plain.mjs', 'LICENSE'])
      rmSync(join(folder, 'README.md'))
      expect(documentsOf(folder)).toEqual([])
    } finally {
      rmSync(outside, { recursive: true })
    }
  })
})

test('every address of Berth that a start prints answers', async () => {
  const { config } = berth.services
  const printed = announcement(
    { ...config, publicUrl: berth.url },
    { withoutVms: 'None.', withoutDatabases: 'None.', withoutProxies: 'None.' },
    { signInCode: 'the-code', howToStop: 'Ctrl-C stops it' },
  )
  const links = [...printed.matchAll(/https?:\/\/\S+/g)]
    .map((match) => match[0])
    .filter((link) => link.startsWith(berth.url))
  expect(links.length).toBeGreaterThan(4)
  expect(links).toContain(`${berth.url}/docs`)
  for (const link of links)
    expect([link, (await fetch(link, { headers: { accept: 'text/html,*/*' } })).status]).toEqual([link, 200])
})

test('an authorization header that is no `Bearer` and one token is told so, on each surface', async () => {
  const good = await berth.token()
  const told: [string, string][] = [
    [good, 'Write `Bearer ` before the token'],
    [`Token ${good}`, 'Write `Bearer ` before the token'],
    [`Bearer Bearer ${good}`, 'Write `Bearer ` before the token, and no other space'],
    ['Bearer ', 'The token is empty.'],
    ['bearer', 'The token is empty.'],
    ['', 'The token is empty.'],
  ]
  for (const [authorization, sentence] of told)
    for (const [path, code] of [
      ['/graphql?query=%7Bme%7Bname%7D%7D', '"UNAUTHORIZED"'],
      ['/api/v1/vms', '"unauthorized"'],
      ['/agents/v1/sessions', '"unauthorized"'],
      ['/llm/v1/models', '"key_invalid"'],
    ] as const) {
      const answer = await fetch(`${berth.url}${path}`, { headers: { authorization } })
      const text = await answer.text()
      expect([authorization, path, answer.status, text]).toEqual([
        authorization,
        path,
        401,
        expect.stringContaining(sentence) as string,
      ])
      expect(text).toContain(code)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
    }
})

describe('HEAD', () => {
  const gets = surfaces.flatMap((surface) =>
    Object.keys(surface.routes)
      .filter((key) => key.startsWith('GET '))
      .map((key) => surface.mount + key.slice(4)),
  )
  const of = (path: string): 'build' | 'agent' | 'session' | 'vault' | 'environment' =>
    path.includes('/agents/v1/agents')
      ? 'agent'
      : path.includes('sessions')
        ? 'session'
        : path.includes('vaults')
          ? 'vault'
          : path.includes('environments')
            ? 'environment'
            : 'build'
  const head = (path: string, token?: string): Promise<Response> =>
    fetch(berth.url + path, { method: 'HEAD', headers: token ? { authorization: `Bearer ${token}` } : {} })

  test.each([
    ...gets,
    ...surfaces.map(({ openapiPath }) => openapiPath),
    '/',
    '/docs',
    '/README.md',
    '/livez',
    '/livez?verbose',
    '/healthz',
    '/readyz',
    '/readyz?verbose',
    '/graphql/schema.graphql',
    '/graphql?query=%7B__typename%7D',
  ])('of %s has the status and headers of GET, and no body', async (path) => {
    const filled =
      fill(path, target, of(path)) +
      (path === '/api/v1/build/jobs' || path === '/api/v1/usage' ? `?org_id=${target.organization}` : '')
    for (const token of [callers.owner, undefined]) {
      const answer = await head(filled, token)
      const leaving = new AbortController()
      const got = await fetch(berth.url + filled, {
        headers: token ? { authorization: `Bearer ${token}` } : {},
        signal: leaving.signal,
      })
      expect([path, answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
        path,
        got.status,
        got.headers.get('content-type'),
        '',
      ])
      leaving.abort()
    }
  })

  test('of a subscription or the page of GraphiQL answers at once', async () => {
    const stream = await fetch(
      `${berth.url}/graphql?query=${encodeURIComponent(`subscription { vmEvents(id: "${target.vm}") { __typename } }`)}`,
      { method: 'HEAD', headers: { authorization: `Bearer ${callers.owner}`, accept: 'text/event-stream' } },
    )
    expect([stream.status, stream.headers.get('content-type'), await stream.text()]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      '',
    ])
    const page = await fetch(`${berth.url}/graphql`, { method: 'HEAD', headers: { accept: 'text/html' } })
    expect([page.status, page.headers.get('content-type'), await page.text()]).toEqual([
      200,
      'text/html; charset=utf-8',
      '',
    ])
  })

  test('of an address that has no GET is 404, in the form of its surface', async () => {
    expect((await head('/api/v1/vms/sandbox', callers.owner)).status).not.toBe(200)
    expect((await head('/nowhere')).status).toBe(404)
  })
})

test('what checks the room of an organization is done in a batch as it is alone', async () => {
  const changes = ['updateAgent', 'updateMemory', 'updateVaultCredential', 'sendGroupMessage', 'createBuild']
  const batch = changes.map((name) => {
    const rootField = `mutation ${name}`
    return { query: documentOf(rootField, fill(graphqlRows[rootField]?.args ?? '', target)) }
  })
  const { body } = await berth.call<object[]>('POST', '/graphql', { token: callers.owner, body: batch })
  expect(body).toEqual(changes.map((name) => ({ data: { [name]: expect.any(Object) as object } })))
})
