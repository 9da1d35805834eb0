/** mcp_oauth_validate against a real tool server and a real authorization server: every verdict, and no secret in what is shown. */
import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { findCredentialRow, openSecrets, type McpOauthSecrets } from '#src/resources/agents/vaults/credentials/rows.ts'
import { oauthClient, startAuthorizationServer, type AuthorizationServer } from '../../support/authorization-server.ts'
import { startBerth, type Answer, type Berth } from '../../support/berth.ts'
import { startMcpServer, type TestMcpServer } from '../../support/mcp-server.ts'
import { freePort } from '../../support/ports.ts'

type Captured = { status_code: number; content_type: string; body: string; body_truncated: boolean }
type Validation = {
  type: string
  credential_id: string
  vault_id: string
  status: string
  has_refresh_token: boolean
  mcp_probe: { method: string; http_response: Captured | null } | null
  refresh: { status: string; http_response: Captured | null } | null
  validated_at: string
}

let berth: Berth
let token: string
let vault: string
let authorization: AuthorizationServer
let tools: TestMcpServer
let nowhere: string
beforeAll(async () => {
  authorization = await startAuthorizationServer('client_secret_basic')
  tools = await startMcpServer((one) => authorization.accepts(one))
  nowhere = `127.0.0.1:${await freePort()}`
  berth = await startBerth({
    settings: {
      BERTH_RATE_LIMIT_FACTOR: '1000',
      BERTH_PRIVATE_HOSTS: [tools.hostPort, authorization.hostPort, nowhere].join(),
    },
  })
  token = await berth.token()
})
beforeEach(async () => {
  vault = (await berth.call<{ id: string }>('POST', '/agents/v1/vaults', { token, body: { display_name: 'keys' } }))
    .body.id
})
afterEach(() => {
  tools.intercept = null
  authorization.next = {}
  authorization.requests.length = 0
  tools.tokens.length = 0
})
afterAll(async () => {
  await berth.stop()
  await tools.close()
  authorization.close()
})

type Granted = { accessToken: string; refreshToken: string }
const path = (id = ''): string => `/agents/v1/vaults/${vault}/credentials${id}`
async function make({
  granted = authorization.grant(),
  withRefresh = true,
  server = tools.url,
  endpoint = authorization.tokenEndpoint,
  secret = oauthClient.secret,
}: {
  granted?: Granted
  withRefresh?: boolean
  server?: string
  endpoint?: string
  secret?: string
} = {}): Promise<Granted & { id: string }> {
  const refresh = {
    client_id: oauthClient.id,
    refresh_token: granted.refreshToken,
    token_endpoint: endpoint,
    token_endpoint_auth: { type: 'client_secret_basic', client_secret: secret },
    scope: 'tools',
  }
  const made = await berth.call<{ id: string }>('POST', path(), {
    token,
    body: {
      auth: {
        type: 'mcp_oauth',
        mcp_server_url: server,
        access_token: granted.accessToken,
        refresh: withRefresh ? refresh : null,
      },
    },
  })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return { ...granted, id: made.body.id }
}
const validate = (id: string): Promise<Answer<Validation>> =>
  berth.call<Validation>('POST', path(`/${id}/mcp_oauth_validate`), { token })
const stored = async (id: string): Promise<McpOauthSecrets> =>
  openSecrets<McpOauthSecrets>(
    berth.services.sealer,
    (await findCredentialRow(berth.services.db, decodeId('credential', id)!))!,
  )!
const answering =
  (status: number, body: string, type = 'application/json') =>
  (_req: unknown, res: ServerResponse): boolean => {
    res.writeHead(status, { 'content-type': type }).end(body)
    return true
  }

test('a good access token is valid: the server was asked for its tools, and nothing was refreshed', async () => {
  const { id, accessToken } = await make()
  const { status, body } = await validate(id)
  expect(status).toBe(200)
  expect(body).toEqual({
    type: 'vault_credential_validation',
    credential_id: id,
    vault_id: vault,
    status: 'valid',
    has_refresh_token: true,
    mcp_probe: null,
    refresh: null,
    validated_at: expect.stringMatching(/Z$/),
  })
  expect(new Set(tools.tokens)).toEqual(new Set([accessToken]))
  expect(authorization.requests).toEqual([])
})

test('an expired access token is refreshed and tested again, and the rotated pair is stored', async () => {
  const { id, accessToken, refreshToken } = await make()
  authorization.revoke(accessToken)
  const { body } = await validate(id)
  expect(body).toMatchObject({
    status: 'valid',
    has_refresh_token: true,
    mcp_probe: null,
    refresh: { status: 'succeeded', http_response: null },
  })
  expect(authorization.requests).toEqual([{ grant_type: 'refresh_token', refresh_token: refreshToken, scope: 'tools' }])
  const kept = await stored(id)
  expect(kept.refresh_token).not.toBe(refreshToken)
  expect(authorization.accepts(kept.access_token)).toBe(true)
  expect(tools.tokens.at(-1)).toBe(kept.access_token)
  const shown = (await berth.call<{ auth: { expires_at: string } }>('GET', path(`/${id}`), { token })).body
  expect(Date.parse(shown.auth.expires_at)).toBeGreaterThan(Date.now() + 3_500_000)
  authorization.revoke(kept.access_token)
  expect((await validate(id)).body).toMatchObject({ status: 'valid', refresh: { status: 'succeeded' } }) // the rotated one is good
})

describe('invalid', () => {
  test('is a refused token without a refresh token; the server’s response is shown without the token', async () => {
    const { id, accessToken } = await make({ withRefresh: false })
    authorization.revoke(accessToken)
    const { body } = await validate(id)
    expect(body).toMatchObject({
      status: 'invalid',
      has_refresh_token: false,
      refresh: { status: 'no_refresh_token', http_response: null },
    })
    expect(body.mcp_probe).toEqual({
      method: 'initialize',
      http_response: {
        status_code: 401,
        content_type: 'application/json',
        body: JSON.stringify({ error: 'invalid_token', error_description: '*** is not good' }),
        body_truncated: false,
      },
    })
  })

  test('is a refresh token that was refused, after which sessions do not try it again', async () => {
    const { id, accessToken, refreshToken } = await make({
      granted: { accessToken: 'ended-access', refreshToken: 'used-refresh' },
    })
    const { body } = await validate(id)
    expect(body).toMatchObject({
      status: 'invalid',
      refresh: {
        status: 'failed',
        http_response: { status_code: 400, content_type: 'application/json', body_truncated: false },
      },
    })
    expect(body.refresh!.http_response!.body).toContain('invalid_grant')
    const text = JSON.stringify(body)
    for (const secret of [
      accessToken,
      refreshToken,
      oauthClient.secret,
      Buffer.from(`${encodeURIComponent(oauthClient.id)}:${encodeURIComponent(oauthClient.secret)}`).toString('base64'),
    ])
      expect(text).not.toContain(secret)
    expect((await findCredentialRow(berth.services.db, decodeId('credential', id)!))!.refusedGeneration).toBe(1)
    expect(await stored(id)).toMatchObject({ access_token: 'ended-access', refresh_token: 'used-refresh' })
  })

  test('is a client unknown to the authorization server', async () => {
    const { id, accessToken } = await make({ secret: 'wrong-secret' })
    authorization.revoke(accessToken)
    expect((await validate(id)).body).toMatchObject({
      status: 'invalid',
      refresh: { status: 'failed', http_response: { status_code: 401 } },
    })
  })

  test('is a new token that the server refuses too', async () => {
    const { id } = await make()
    tools.intercept = answering(401, '{}')
    expect((await validate(id)).body).toMatchObject({
      status: 'invalid',
      mcp_probe: { method: 'initialize', http_response: { status_code: 401 } },
      refresh: { status: 'succeeded' },
    })
  })

  test('is 403', async () => {
    const { id } = await make()
    tools.intercept = answering(403, 'no', 'text/plain')
    expect((await validate(id)).body).toMatchObject({
      status: 'invalid',
      mcp_probe: { http_response: { status_code: 403, content_type: 'text/plain', body: 'no' } },
      refresh: null,
    })
  })
})

describe('unknown', () => {
  test('is a server that cannot be reached', async () => {
    const { id } = await make({ server: `http://${nowhere}/mcp` })
    expect((await validate(id)).body).toMatchObject({
      status: 'unknown',
      mcp_probe: { method: 'initialize', http_response: null },
      refresh: null,
    })
  })

  test.each([500, 503, 404, 429])('is a server that answers %i', async (status) => {
    const { id } = await make()
    tools.intercept = answering(status, 'x'.repeat(10_000), 'text/plain')
    const { body } = await validate(id)
    expect(body).toMatchObject({
      status: 'unknown',
      mcp_probe: { method: 'initialize', http_response: { status_code: status, body_truncated: true } },
      refresh: null,
    })
    expect(body.mcp_probe!.http_response!.body).toHaveLength(4096)
  })

  test('is a server that fails when asked for its tools', async () => {
    const { id } = await make()
    tools.intercept = (req, res, text) => text.includes('tools/list') && answering(502, 'bad')(req, res)
    expect((await validate(id)).body).toMatchObject({
      status: 'unknown',
      mcp_probe: { method: 'tools/list', http_response: { status_code: 502, body: 'bad' } },
    })
  })

  test('is a token endpoint that cannot be reached, answers 500, is not a token endpoint, or redirects elsewhere; the tokens stay', async () => {
    const cases: readonly (readonly [string, Parameters<typeof answering> | null, string])[] = [
      [`http://${nowhere}/token`, null, 'connect_error'],
      [authorization.tokenEndpoint, [500, 'oops'], 'failed'],
      [authorization.tokenEndpoint, [200, '<html>'], 'failed'],
      [authorization.tokenEndpoint, [200, '{"access_token":"a b"}'], 'failed'],
    ]
    for (const [index, [endpoint, answer, status]] of cases.entries()) {
      authorization.next = answer ? { answer: (res) => void answering(...answer)(null, res) } : {}
      const granted = authorization.grant()
      const { id } = await make({ granted, endpoint, server: `${tools.url}?${index}` })
      authorization.revoke(granted.accessToken)
      expect((await validate(id)).body).toMatchObject({ status: 'unknown', refresh: { status } })
      expect(await stored(id)).toMatchObject({ access_token: granted.accessToken, refresh_token: granted.refreshToken })
    }
    authorization.next = { answer: (res) => void res.writeHead(307, { location: tools.url }).end() }
    const { id, accessToken } = await make({ server: `${tools.url}?redirect` })
    authorization.revoke(accessToken)
    tools.tokens.length = 0
    expect((await validate(id)).body).toMatchObject({
      refresh: { status: 'failed', http_response: { status_code: 307 } },
    })
    expect(tools.tokens).toHaveLength(1) // the probe alone: nothing was sent on
  })
})

test('secrets in any encoding are masked in what is shown', async () => {
  const { id, accessToken, refreshToken } = await make()
  const said = [
    accessToken,
    `Bearer ${accessToken}`,
    encodeURIComponent(oauthClient.secret),
    JSON.stringify({ refresh_token: refreshToken, client_secret: oauthClient.secret }),
    Buffer.from(accessToken).toString('base64'),
    'access_token=never-seen-before&x=1',
    '{"access_token":"another-unknown"}',
    'Authorization: Bearer abcdefghijklmnop',
  ].join('\n')
  tools.intercept = answering(500, said, 'text/plain')
  const { body } = await validate(id)
  const shown = body.mcp_probe!.http_response!.body
  for (const secret of [
    accessToken,
    refreshToken,
    oauthClient.secret,
    encodeURIComponent(oauthClient.secret),
    Buffer.from(accessToken).toString('base64'),
    'never-seen-before',
    'another-unknown',
    'abcdefghijklmnop',
  ])
    expect(shown).not.toContain(secret)
  expect(shown).toContain('x=1')
})

test('a tool server at a private address that no operator has opened is not reached', async () => {
  const other = await startMcpServer()
  const port = other.hostPort.split(':')[1]
  const made = await berth.call<{ id: string }>('POST', path(), {
    token,
    body: { auth: { type: 'mcp_oauth', mcp_server_url: `https://127.0.0.1:${port}/mcp`, access_token: 'x' } },
  })
  expect((await validate(made.body.id)).body).toMatchObject({ status: 'unknown', mcp_probe: { http_response: null } })
  expect(other.tokens).toEqual([])
  await other.close()
})

test('a credential of another type is 400, an archived one 409', async () => {
  const bearer = await berth.call<{ id: string }>('POST', path(), {
    token,
    body: { auth: { type: 'static_bearer', mcp_server_url: 'https://a.example.com', token: 'x' } },
  })
  expect(await validate(bearer.body.id)).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } })
  const { id } = await make()
  await berth.call('POST', path(`/${id}/archive`), { token })
  expect(await validate(id)).toMatchObject({ status: 409, body: { error: { code: 'resource_archived' } } })
})
