/** Secrets go in everywhere; none may come out: not to readers who may not see them, not into logs, jobs, notices or tables. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { moveVm } from '#src/resources/infra/vms/states.ts'
import { pollUntil } from '#src/start/wait.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { startLookout, type Lookout } from '../support/lookouts.ts'
import { makeCallers, type Callers } from './callers.ts'
import { startStubNode, type StubNode } from './stub-node.ts'

const secrets = {
  provision: 'canary-provision-1f6a',
  sensitive: 'canary-sensitive-2b7c',
  hidden: 'canary-hidden-3c8d',
  plain: 'canary-plaintext-4d9e',
  git: 'canary-git-5e0f',
  reserved: 'canary-reserved-6f1a',
  malformed: 'canary-malformed-7a2b',
  stdin: 'canary-code-8b3c',
  commandEnv: 'canary-command-env-0e7a',
  commandInput: 'canary-command-input-1f8b',
  replayed: 'canary-replayed-9c4d',
  query: 'canary-query-ad5e',
  wrongToken: 'canary-token-be6f',
} as const
/** What may be read in the tables: nothing of it is a secret that Berth was asked to keep. */
const all = Object.values(secrets)

let berth: Berth
let lookout: Lookout
let callers: Callers
let node: StubNode
let vm: string
beforeAll(async () => {
  berth = await startBerth()
  callers = await makeCallers(berth)
  node = await startStubNode(berth.services.db)
  await berth.services.database.pool.query('update nodes set memory_mb = 1000000')
  lookout = await startLookout(berth)
  vm = await useEverySecret()
})
afterAll(async () => {
  await lookout?.stop()
  await berth.stop()
  await node.stop()
})

const answers: { who: string; what: string; text: string }[] = []

async function call(
  who: keyof Callers,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  const answer = await fetch(lookout.url + path, {
    method,
    headers: {
      ...(callers[who] ? { authorization: `Bearer ${callers[who]}` } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  answers.push({ who, what: `${method} ${path}`, text })
  return { status: answer.status, text }
}

/** Uses every way in which a secret may come; answers the VM that keeps them. */
async function useEverySecret(): Promise<string> {
  const making = call('owner', 'POST', '/api/v1/vms', {
    name: 'keeper',
    skip_folder_create: true,
    env: { PROVISIONED: secrets.provision },
    git_repos: [{ url: `https://user:${secrets.git}@example.test/a/b.git` }],
  })
  let id = ''
  await pollUntil(
    async () => {
      const { rows } = await berth.services.database.pool.query<{ id: string }>(
        "select id from vms where name = 'keeper' and status = 'creating'",
      )
      id = rows[0]?.id ?? ''
      return id !== ''
    },
    { limitMs: 10_000, everyMs: 20 },
  )
  await moveVm(berth.services.db, berth.services, id, 'running')
  expect((await making).status).toBe(201)
  const made = encodeId('vm', id)
  const env = `/api/v1/vms/${made}/env`
  await call('owner', 'PATCH', `${env}?visibility=sensitive`, { SENSITIVE: secrets.sensitive })
  await call('owner', 'PATCH', `${env}?visibility=secret`, { HIDDEN: secrets.hidden })
  await call('owner', 'PATCH', `${env}?visibility=plaintext`, { PLAIN: secrets.plain })
  for (const body of [
    { LD_PRELOAD: secrets.reserved },
    { 'A B': secrets.reserved },
    { A: [secrets.reserved] },
    { A: { b: secrets.reserved } },
  ])
    expect((await call('owner', 'PATCH', env, body)).status).toBe(400)
  expect((await call('owner', 'PATCH', env, `{"A": "${secrets.malformed}"`)).status).toBe(400)
  expect((await call('owner', 'POST', '/api/v1/vms', { env: { A: secrets.reserved, PATH: 'x' } })).status).toBe(400)
  expect(
    (await call('owner', 'POST', '/api/v1/vms', { git_repo_url: `ftp://user:${secrets.reserved}@example.test/a` }))
      .status,
  ).toBe(400)
  expect((await call('owner', 'POST', '/api/v1/vms', { env: secrets.malformed })).status).toBe(400)
  node.answer = { stdout: secrets.replayed }
  await call(
    'owner',
    'POST',
    `/api/v1/vms/${made}/envd/exec`,
    { command: `echo ${secrets.stdin}`, env: { A: secrets.commandEnv }, stdin: secrets.commandInput },
    { 'idempotency-key': 'canary' },
  )
  await call('owner', 'POST', `/api/v1/vms/${made}/envd/exec`, {
    command: 'cat',
    background: true,
    env: { A: secrets.commandEnv },
    stdin: secrets.commandInput,
  })
  await call('owner', 'POST', '/graphql', {
    query: 'mutation ($e: TextMap) { createVm(input: { env: $e }) { vm { id } } }',
    variables: { e: { A: secrets.malformed, B: 5 } },
  })
  await call('owner', 'POST', '/graphql', {
    query: 'mutation ($v: ID!, $e: TextMap!) { setVmEnv(input: { vmId: $v, env: $e }) { warning } }',
    variables: { v: made, e: { IFS: secrets.reserved } },
  })
  await call('none', 'GET', `/api/v1/vms?token=${secrets.query}&access_token=${secrets.query}`)
  await call('none', 'GET', '/api/v1/vms', undefined, { authorization: `Bearer ${secrets.wrongToken}` })
  await call('none', 'GET', '/api/v1/vms', undefined, { authorization: `Bearer ${callers.keyWith}x` })
  for (const who of ['expired', 'deactivated', 'stranger', 'keyWithout'] as const) await call(who, 'GET', env)
  return made
}

describe('a caller', () => {
  const seen = async (who: keyof Callers): Promise<string> => {
    const texts = await Promise.all(
      [
        `/api/v1/vms/${vm}/env`,
        `/api/v1/vms/${vm}/env/SENSITIVE`,
        `/api/v1/vms/${vm}/env/HIDDEN`,
        `/api/v1/vms/${vm}/env/PROVISIONED`,
        `/api/v1/vms/${vm}/env?source=provision`,
        `/api/v1/vms/${vm}`,
        '/api/v1/vms',
      ].map(async (path) => (await call(who, 'GET', path)).text),
    )
    const asked = await call(who, 'POST', '/graphql', {
      query: `{ vm(id: "${vm}") { id name metadata warnings statusReason env { key value visibility source } envMap } vms(first: 5) { nodes { id name warnings } } }`,
    })
    return texts.join() + asked.text
  }
  const shown: Readonly<Record<string, readonly string[]>> = {
    owner: [secrets.sensitive, secrets.plain],
    member: [secrets.sensitive, secrets.plain],
    keyWith: [secrets.sensitive, secrets.plain],
    viewer: [secrets.plain],
    stranger: [],
    keyWithout: [],
    none: [],
  }
  test.each(Object.keys(shown) as (keyof Callers)[])('%s sees exactly what they may', async (who) => {
    const text = await seen(who)
    expect(all.filter((secret) => text.includes(secret)).sort()).toEqual([...(shown[who] ?? [])].sort())
  })

  test('never sees in a refusal what they sent, nor their token', () => {
    const told = answers.filter(
      ({ text }) =>
        text.includes(secrets.reserved) ||
        text.includes(secrets.malformed) ||
        text.includes(secrets.query) ||
        text.includes(secrets.wrongToken),
    )
    expect(told).toEqual([])
    for (const { text } of answers)
      for (const token of Object.values(callers)) if (token) expect(text).not.toContain(token)
  })
})

test('the log at its most verbose level contains no secret, no token, no key and no password', async () => {
  const lines = await lookout.lastWords()
  const password = /:\/\/[^:]+:([^@]+)@/.exec(berth.services.database.url)?.[1] ?? ''
  expect(password.length).toBeGreaterThan(5)
  expect(lines).toContain('listens')
  expect(all.filter((secret) => lines.includes(secret))).toEqual([])
  for (const token of Object.values(callers)) if (token && token.length > 20) expect(lines).not.toContain(token)
  expect(lines).not.toContain(password)
})

test('jobs and notices contain ids only', async () => {
  const { rows } = await berth.services.database.pool.query<{ data: Record<string, unknown> }>(
    'select data from pgboss.job where data is not null',
  )
  expect(rows.length).toBeGreaterThan(0)
  for (const { data } of rows) for (const value of Object.values(data)) expect(value).toMatch(/^[0-9a-f-]{36}$/)
  expect(lookout.notices.length).toBeGreaterThan(0)
  for (const notice of lookout.notices)
    expect(notice).toMatch(/^(?:[a-z_]+ (?:[0-9a-f-]{36}|[0-9a-z]{16}|all)|jobs [a-z-]+(?:\/[0-9a-f-]{36})?)$/)
})

test('no table contains a secret in clear, in any column, as text or as bytes', async () => {
  const keySecret = callers.keyWith?.split('.')[1] ?? ''
  const kept = [...all, keySecret, callers.owner, callers.keyWithout ?? '', '"d":'] // the last: the private half of a signing key
  // What is stored of a command is its text: whoever writes a secret into it has told it to everyone who lists processes.
  expect(await lookout.tablesWith(kept)).toEqual([])
})

test('what went to the node is what was sent, so that the checks above looked at real secrets', () => {
  expect(node.asked.map(({ name, input }) => [name, input['command']])).toEqual([
    ['exec', `echo ${secrets.stdin}`],
    ['startProcess', 'cat'],
  ])
  for (const { input } of node.asked)
    expect(input).toMatchObject({ env: { A: secrets.commandEnv }, stdin: secrets.commandInput })
})
