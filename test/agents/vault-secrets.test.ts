/** Secrets of vaults go in everywhere; none may come out: not in an answer, a log, a job, a notice, a stream, or a table. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { transaction } from '#src/platform/postgres.ts'
import { giveVariables, openEnvironmentVariables } from '#src/resources/agents/vaults/credentials/use.ts'
import { oauthClient, startAuthorizationServer, type AuthorizationServer } from '../support/authorization-server.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { startLookout, type Lookout } from '../support/lookouts.ts'
import { idsOf, makeSilentNode, makeVmRow } from '../support/makers.ts'
import { startMcpServer, type TestMcpServer } from '../support/mcp-server.ts'

const named = {
  bearer: 'canary-bearer-1a2b',
  rotated: 'canary-rotated-2b3c',
  access: 'canary-access-3c4d',
  variable: 'canary-variable-4d5e',
  guarded: 'canary-guarded-5e6f',
  refused: 'canary-refused-6f7a',
  replayed: 'canary-replayed-7a8b',
  literal: 'canary-literal-8b9c',
}
const all: string[] = [...Object.values(named), oauthClient.secret]

let berth: Berth
let lookout: Lookout
let token: string
let authorization: AuthorizationServer
let tools: TestMcpServer
const answers: string[] = []
beforeAll(async () => {
  authorization = await startAuthorizationServer('client_secret_post')
  tools = await startMcpServer((one) => authorization.accepts(one))
  const open = { BERTH_PRIVATE_HOSTS: `${authorization.hostPort},${tools.hostPort}` }
  berth = await startBerth({ settings: open })
  token = await berth.token()
  lookout = await startLookout(berth, open)
  await useEverySecret()
}, 60_000)
afterAll(async () => {
  await lookout?.stop()
  await berth.stop()
  await tools.close()
  authorization.close()
})

type Body = { id: string; status?: string }
async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Body }> {
  const answer = await fetch(lookout.url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  answers.push(text)
  return { status: answer.status, body: (text ? JSON.parse(text) : {}) as Body }
}

/** Uses every way in which a secret may come. */
async function useEverySecret(): Promise<void> {
  const vault = (await call('POST', '/agents/v1/vaults', { display_name: 'keys' })).body.id
  const path = `/agents/v1/vaults/${vault}/credentials`
  const add = async (auth: unknown, headers: Record<string, string> = {}): Promise<string> => {
    const made = await call('POST', path, { auth }, headers)
    expect(made.status).toBe(201)
    return made.body.id
  }
  const bearer = await add({ type: 'static_bearer', mcp_server_url: 'https://a.example.com', token: named.bearer })
  await add(
    { type: 'static_bearer', mcp_server_url: 'https://b.example.com', token: named.replayed },
    { 'idempotency-key': 'one' },
  )
  await call(
    'POST',
    path,
    { auth: { type: 'static_bearer', mcp_server_url: 'https://b.example.com', token: named.replayed } },
    { 'idempotency-key': 'one' },
  )
  await call('PUT', `${path}/${bearer}`, { auth: { token: named.rotated } })
  await add({ type: 'environment_variable', secret_name: 'PLAIN', secret_value: named.variable })
  await add({
    type: 'environment_variable',
    secret_name: 'GUARDED',
    secret_value: named.guarded,
    networking: { type: 'unrestricted' },
  })
  const granted = authorization.grant()
  all.push(granted.refreshToken)
  const oauth = await add({
    type: 'mcp_oauth',
    mcp_server_url: tools.url,
    access_token: named.access,
    refresh: {
      client_id: oauthClient.id,
      refresh_token: granted.refreshToken,
      token_endpoint: authorization.tokenEndpoint,
      token_endpoint_auth: { type: 'client_secret_post', client_secret: oauthClient.secret },
    },
  })
  expect((await call('POST', `${path}/${oauth}/mcp_oauth_validate`)).body.status).toBe('valid') // refreshed on the way
  all.push(tools.tokens.at(-1) ?? '') // the new access token
  authorization.revoke(tools.tokens.at(-1) ?? '')
  authorization.next = {
    answer: (res, form) =>
      void res
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: 'invalid_grant', error_description: form.toString() })),
  }
  all.push(authorization.requests[0]?.['client_secret'] ?? '')
  expect((await call('POST', `${path}/${oauth}/mcp_oauth_validate`)).body.status).toBe('invalid')
  all.push(authorization.requests.at(-1)?.['refresh_token'] ?? '')
  for (const auth of [
    { type: 'static_bearer', mcp_server_url: `https://x:${named.refused}@a.test`, token: 'x' },
    { type: 'static_bearer', mcp_server_url: 'https://a.test', token: [named.refused] },
    { type: named.refused },
    named.refused,
    { type: 'environment_variable', secret_name: 'A', secret_value: `() { ${named.refused}; }` },
    { type: 'environment_variable', secret_name: `A ${named.refused}`, secret_value: 'x' },
    { type: 'static_bearer', mcp_server_url: 'https://a.example.com', token: named.refused },
  ]) {
    expect((await call('POST', path, { auth })).status).toBeGreaterThanOrEqual(400)
  }
  await call('POST', path, `{"auth": {"token": "${named.refused}"`)
  await call('POST', path, { auth: { type: 'mcp_oauth', token: named.refused }, display_name: 5 })
  for (const query of [
    `mutation { createVaultCredential(vaultId: "${vault}", auth: {type: "static_bearer", mcp_server_url: "https://c.example.com", token: "${named.literal}"}) { id auth } }`,
    `mutation { createVaultCredential(vaultId: "${vault}", auth: {type: "static_bearer", token: "${named.literal}"}) { id nothing } }`,
    `mutation { createVaultCredential(vaultId: 5, auth: {token: "${named.literal}"}) { id } }`,
  ])
    await call('POST', '/graphql', { query })
  await call('POST', '/graphql', {
    query: 'mutation ($v: ID!, $a: JSON!) { createVaultCredential(vaultId: $v, auth: $a) { id } }',
    variables: { v: { x: named.refused }, a: { token: named.refused } },
  })
  for (const one of ['', '?include_archived=true', `/${bearer}`, `/${oauth}`]) await call('GET', path + one)
  await call('POST', '/graphql', { query: `{ vaultCredentials(vaultId: "${vault}") { nodes { id auth metadata } } }` })
  const { db } = berth.services
  const vm = decodeId('vm', await makeVmRow(db, token, await makeSilentNode(db))) ?? ''
  const variables = await openEnvironmentVariables(berth.services, idsOf(token), [decodeId('vault', vault) ?? ''])
  expect(variables.map(({ secretName }) => secretName).sort()).toEqual(['GUARDED', 'PLAIN'])
  await transaction(db, (tx) => giveVariables(berth.services, tx, vm, variables))
}

test('no answer contains one, not even a refusal of what was sent', () => {
  expect(answers.length).toBeGreaterThan(25)
  expect(all.filter((secret) => answers.some((text) => text.includes(secret)))).toEqual([])
})

test('no notice and no job contains one', async () => {
  expect(lookout.notices.some((notice) => notice.startsWith('vault '))).toBe(true)
  const { rows } = await berth.services.database.pool.query<{ text: string }>(
    'select t::text as text from pgboss.job t',
  )
  const text = lookout.notices.join('\n') + rows.map((row) => row.text).join('\n')
  expect(all.filter((secret) => text.includes(secret))).toEqual([])
})

test('no table contains one in clear, in any column, as text or as bytes', async () => {
  expect(await lookout.tablesWith(all)).toEqual([])
})

test('the log at its most verbose level contains none', async () => {
  const lines = await lookout.lastWords()
  expect(lines).toContain('listens')
  expect(all.every((secret) => secret.length > 12)).toBe(true)
  expect(all.filter((secret) => lines.includes(secret))).toEqual([])
})
