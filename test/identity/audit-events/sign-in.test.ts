/** Audit events of signing in and out, of tokens, and of the operator's commands. */
import { spawn } from 'node:child_process'
import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { environmentWith } from '#src/platform/config.ts'
import { startBerth, type Berth } from '../../support/berth.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000' } })
})
afterAll(() => berth.stop())

/** Sends what our page sends; node:http, because fetch decides about Origin and cookies by itself. */
function send(
  method: string,
  path: string,
  more: Record<string, string>,
  body?: object,
): Promise<{ status: number; cookie: string }> {
  const headers = {
    'content-type': 'application/json',
    host: `localhost:${berth.port}`,
    origin: `http://localhost:${berth.port}`,
    'sec-fetch-site': 'same-origin',
    'user-agent': 'a browser',
    ...more,
  }
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port: berth.port, path, method, headers }, (answer) => {
      const cookie = answer.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
      answer.resume().on('end', () => resolve({ status: answer.statusCode ?? 0, cookie }))
    })
    asked.once('error', reject).end(body && JSON.stringify(body))
  })
}

type Event = {
  operation: string
  change: string
  nodeType: string
  nodeName: string | null
  address: string | null
  actor: { kind: string; name: string | null }
}
async function events(organization: string): Promise<string[]> {
  const token = await berth.token('auditor', organization, 'owner')
  const { body } = await berth.ask(
    '{ auditEvents(first: 50, order: ASC) { nodes { operation change nodeType nodeName address actor { kind name } } } }',
    { token },
  )
  expect(body.errors).toBeUndefined()
  const { nodes } = (body.data as unknown as { auditEvents: { nodes: Event[] } }).auditEvents
  return nodes.map(
    ({ operation, change, nodeType, nodeName, address, actor: { kind, name } }) =>
      `${kind} ${name} ${operation} ${change} ${nodeType} ${nodeName} ${address}`,
  )
}

test('a session in a browser begins and ends, in each organization of the person', async () => {
  await berth.token('alice', 'second', 'member')
  const person = { user: 'alice', organization: 'acme', create: true }
  const begun = await send('POST', '/identity/session', { 'x-berth-sign-in': '1' }, person)
  expect(begun.status).toBe(201)
  expect((await send('DELETE', '/identity/session', { cookie: begun.cookie })).status).toBe(204)
  expect((await send('DELETE', '/identity/session', { cookie: begun.cookie })).status).toBe(204)
  const session = [
    'PERSON alice signIn CREATED BROWSER_SESSION a browser 127.0.0.1',
    'PERSON alice signOut DELETED BROWSER_SESSION a browser 127.0.0.1',
  ]
  expect(await events('second')).toEqual(session)
  expect(await events('acme')).toEqual([
    'OPERATOR null signIn CREATED ORGANIZATION acme 127.0.0.1',
    'OPERATOR null signIn CREATED MEMBER alice 127.0.0.1',
    ...session,
  ])
})

test('a token is made for a member, on the page of this machine', async () => {
  await berth.token('bob', 'tokens', 'member')
  const asked = { user: 'bob', organization: 'tokens', role: 'member' }
  expect((await send('POST', '/identity/token', { 'x-berth-sign-in': '1' }, asked)).status).toBe(201)
  expect((await send('POST', '/identity/token', { 'x-berth-sign-in': '1' }, { ...asked, user: 'nobody' })).status).toBe(
    404,
  )
  expect(await events('tokens')).toEqual(['OPERATOR null issueToken USED MEMBER bob 127.0.0.1'])
})

test('the operator’s commands make keys and tokens', async () => {
  const run = (file: string, ...words: string[]): Promise<number | null> => {
    const { config, database } = berth.services
    const child = spawn(process.execPath, [`src/identity/${file}.ts`, ...words], {
      env: environmentWith({ DATABASE_URL: database.url, BERTH_DATA_DIR: config.dataDir, PORT: String(config.port) }),
      stdio: 'ignore',
    })
    return new Promise((resolve) => child.once('close', resolve))
  }
  await berth.token('carol', 'hands', 'member')
  expect(await run('key', '--org', 'hands', '--name', 'laptop')).toBe(0)
  expect(await run('token', '--org', 'hands', '--user', 'carol')).toBe(0)
  expect(await events('hands')).toEqual([
    'OPERATOR null npm run key CREATED API_KEY laptop null',
    'OPERATOR null npm run token USED MEMBER carol null',
  ])
})
