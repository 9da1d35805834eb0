/** What sessions get of vaults: bearer tokens, refreshed once for everybody, and environment variables. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { environmentWith } from '#src/platform/config.ts'
import { shiftClock } from '#src/platform/clock.ts'
import { decodeId } from '#src/platform/ids.ts'
import { findOne, sql, transaction } from '#src/platform/postgres.ts'
import { findCredentialRow, openSecrets, type McpOauthSecrets } from '#src/resources/agents/vaults/credentials/rows.ts'
import {
  credentialFor,
  findSecretHosts,
  findSecretUses,
  giveVariables,
  openEnvironmentVariables,
  refreshBearer,
  type VaultOwner,
} from '#src/resources/agents/vaults/credentials/use.ts'
import { openEnv } from '#src/resources/infra/vms/variables.ts'
import { oauthClient, startAuthorizationServer, type AuthorizationServer } from '../../support/authorization-server.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf, makeSilentNode, makeVmRow } from '../../support/makers.ts'

let berth: Berth
let token: string
let owner: VaultOwner
let authorization: AuthorizationServer
let vault: string
beforeAll(async () => {
  authorization = await startAuthorizationServer('none')
  berth = await startBerth({
    settings: { BERTH_RATE_LIMIT_FACTOR: '1000', BERTH_PRIVATE_HOSTS: authorization.hostPort },
  })
  token = await berth.token()
  owner = idsOf(token)
})
const makeVault = async (): Promise<string> =>
  (await berth.call<{ id: string }>('POST', '/agents/v1/vaults', { token, body: { display_name: 'keys' } })).body.id
beforeEach(async () => {
  vault = await makeVault()
})
afterEach(() => {
  shiftClock(0)
  authorization.next = {}
  authorization.requests.length = 0
})
afterAll(async () => {
  await berth.stop()
  authorization.close()
})

const uuid = (id: string): string => decodeId('vault', id) ?? ''
const add = async (auth: object, within = vault): Promise<string> => {
  const made = await berth.call<{ id: string }>('POST', `/agents/v1/vaults/${within}/credentials`, {
    token,
    body: { auth },
  })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return decodeId('credential', made.body.id) ?? ''
}
const server = 'https://mcp.example.com/x'
const addOauth = async (
  expiresAt: string | null = null,
): Promise<{ id: string; accessToken: string; refreshToken: string }> => {
  const granted = authorization.grant()
  const refresh = {
    client_id: oauthClient.id,
    refresh_token: granted.refreshToken,
    token_endpoint: authorization.tokenEndpoint,
    token_endpoint_auth: { type: 'none' },
  }
  return {
    ...granted,
    id: await add({
      type: 'mcp_oauth',
      mcp_server_url: server,
      access_token: granted.accessToken,
      expires_at: expiresAt,
      refresh,
    }),
  }
}
const use = (vaults = [vault], whose = owner, url = server) =>
  credentialFor(berth.services, whose, vaults.map(uuid), url)
const soon = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString()
const secretsOf = async (id: string): Promise<McpOauthSecrets> =>
  openSecrets<McpOauthSecrets>(berth.services.sealer, (await findCredentialRow(berth.services.db, id))!)!

describe('the token for a tool server', () => {
  test('comes from the first vault that has one, however the URL is spelt, and never from another person’s vault', async () => {
    const second = await makeVault()
    const id = await add({ type: 'static_bearer', mcp_server_url: server, token: 'first' })
    await add({ type: 'static_bearer', mcp_server_url: server, token: 'second' }, second)
    expect(await use([vault, second], owner, 'https://MCP.example.com/x/')).toEqual({
      credentialId: id,
      token: 'first',
      tokenGeneration: 1,
    })
    expect((await use([second, vault]))?.token).toBe('second')
    expect(await use([vault], owner, 'https://other.example.com')).toBeNull()
    expect(await use([])).toBeNull()
    expect(
      await use([vault], { ...owner, userId: idsOf(await berth.token('martha', 'acme', 'member')).userId }),
    ).toBeNull()
    expect(await use([vault], idsOf(await berth.token('alice', 'other', 'owner')))).toBeNull()
  })

  test('does not exist once the credential or its vault is archived', async () => {
    const second = await makeVault()
    await add({ type: 'static_bearer', mcp_server_url: server, token: 'x' }, second)
    expect((await use([second]))?.token).toBe('x')
    await berth.call('POST', `/agents/v1/vaults/${second}/archive`, { token })
    expect(await use([second])).toBeNull()
  })

  test('is refreshed shortly before it expires, and not sooner; the same token is not requested twice', async () => {
    const { accessToken } = await addOauth(soon(600))
    expect((await use())?.token).toBe(accessToken)
    expect(authorization.requests).toHaveLength(0)
    shiftClock(550_000)
    const fresh = await use()
    expect(fresh).toMatchObject({ tokenGeneration: 2 })
    expect(fresh?.token).not.toBe(accessToken)
    expect((await use())?.token).toBe(fresh?.token)
    expect(authorization.requests).toHaveLength(1)
  })

  test('is the old one while the authorization server is unreachable, and after a refusal it is not requested again', async () => {
    const { id, accessToken } = await addOauth(soon(-10))
    authorization.next = { answer: (res) => void res.destroy() }
    expect((await use())?.token).toBe(accessToken)
    authorization.next = {
      answer: (res) => void res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}'),
    }
    expect((await use())?.token).toBe(accessToken)
    authorization.requests.length = 0
    expect((await use())?.token).toBe(accessToken)
    expect(await refreshBearer(berth.services, { credentialId: id, token: accessToken, tokenGeneration: 1 })).toBeNull()
    expect(authorization.requests).toHaveLength(0)
  })
})

describe('refreshing', () => {
  test('by twenty at once in one process asks once, and all get the new token', async () => {
    const { accessToken } = await addOauth(soon(-10))
    authorization.next = { delayMs: 100 }
    const all = await Promise.all(Array.from({ length: 20 }, () => use()))
    expect(new Set(all.map((one) => one?.token)).size).toBe(1)
    expect(all[0]?.token).not.toBe(accessToken)
    expect(authorization.requests).toHaveLength(1)
  })

  test('by four processes at once asks once, and all get the new token', async () => {
    const { id } = await addOauth()
    authorization.next = { delayMs: 300 }
    const processes = Array.from({ length: 4 }, () => {
      const child = spawn(
        process.execPath,
        ['test/agents/refreshing-process.ts', berth.services.database.url, id, '1'],
        {
          stdio: ['pipe', 'pipe', 'inherit'],
          env: environmentWith({
            BERTH_DATA_DIR: berth.dataDir,
            BERTH_PRIVATE_HOSTS: authorization.hostPort,
            BERTH_LOG_LEVEL: 'error',
          }),
        },
      )
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      return { child, next: async () => String((await lines.next()).value) }
    })
    expect(await Promise.all(processes.map(({ next }) => next()))).toEqual(Array(4).fill('ready'))
    for (const { child } of processes) child.stdin.write('go\n')
    const said = await Promise.all(processes.map(({ next }) => next()))
    expect(authorization.requests).toHaveLength(1)
    expect(new Set(said)).toEqual(new Set([`token ${(await secretsOf(id)).access_token} 2`]))
  }, 30_000)

  test('that finds the refresh token used up by another process takes that process’s tokens', async () => {
    const { id, accessToken } = await addOauth()
    const newer = authorization.grant()
    authorization.next = {
      answer: (res) => {
        // somebody without the lock was faster
        const sealed = berth.services.sealer.seal(
          JSON.stringify({ access_token: newer.accessToken, refresh_token: newer.refreshToken, client_secret: null }),
          `vault_credentials.sealed_secrets:${id}`,
        )
        void berth.services.database.pool
          .query('update vault_credentials set sealed_secrets = $1, token_generation = 2 where id = $2', [sealed, id])
          .then(() => res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}'))
      },
    }
    expect(await refreshBearer(berth.services, { credentialId: id, token: accessToken, tokenGeneration: 1 })).toEqual({
      credentialId: id,
      token: newer.accessToken,
      tokenGeneration: 2,
    })
    expect((await findCredentialRow(berth.services.db, id))?.refusedGeneration).toBeNull()
  })

  test('a credential that is archived meanwhile stores nothing', async () => {
    const { id, accessToken } = await addOauth()
    authorization.next = {
      answer: (res) =>
        void berth
          .call('POST', `/agents/v1/vaults/${vault}/archive`, { token })
          .then(() => res.writeHead(200, { 'content-type': 'application/json' }).end('{"access_token":"late"}')),
    }
    expect(await refreshBearer(berth.services, { credentialId: id, token: accessToken, tokenGeneration: 1 })).toBeNull()
    expect((await findCredentialRow(berth.services.db, id))?.sealedSecrets).toBeNull()
  })

  test('keeps the refresh token when the server sends none, and has no expiry when the server names none', async () => {
    const { id, refreshToken } = await addOauth(soon(-10))
    authorization.next = {
      answer: (res) =>
        void res.writeHead(200, { 'content-type': 'application/json' }).end('{"access_token":"endless"}'),
    }
    expect((await use())?.token).toBe('endless')
    expect(await secretsOf(id)).toMatchObject({ access_token: 'endless', refresh_token: refreshToken })
    expect((await findCredentialRow(berth.services.db, id))?.auth).toMatchObject({ expires_at: null })
  })
})

describe('environment variables', () => {
  const variable = (secret_name: string, secret_value: string, rest: object = {}) => ({
    type: 'environment_variable',
    secret_name,
    secret_value,
    ...rest,
  })

  test('come from the first vault that has the name; with networking the VM gets a placeholder, which is replaced only for VMs that got it', async () => {
    const second = await makeVault()
    await add(variable('PLAIN', 'one'))
    await add(variable('PLAIN', 'two'), second)
    const guarded = await add(
      variable('GUARDED', 'secret-3', {
        networking: { type: 'limited', allowed_hosts: ['api.example.com'] },
        injection_location: { header: true, body: true },
      }),
      second,
    )
    await add({ type: 'static_bearer', mcp_server_url: server, token: 'x' })
    const variables = await openEnvironmentVariables(berth.services, owner, [vault, second].map(uuid))
    expect(variables).toEqual([
      { credentialId: expect.any(String), secretName: 'PLAIN', value: 'one', networking: null },
      {
        credentialId: guarded,
        secretName: 'GUARDED',
        value: expect.stringMatching(/^berth-secret-vcrd_[0-9a-z]{26}$/),
        networking: { type: 'limited', allowed_hosts: ['api.example.com'] },
      },
    ])
    const node = await makeSilentNode(berth.services.db)
    const [vm = '', other = ''] = (
      await Promise.all([makeVmRow(berth.services.db, token, node), makeVmRow(berth.services.db, token, node)])
    ).map((one) => decodeId('vm', one) ?? '')
    for (let twice = 0; twice < 2; twice++)
      await transaction(berth.services.db, (tx) => giveVariables(berth.services, tx, vm, variables))
    expect(await openEnv(berth.services, vm)).toEqual({ PLAIN: 'one', GUARDED: variables[1]!.value })
    expect(await findOne(berth.services.db, sql`select env_generation from vms where id = ${vm}`)).toEqual({
      envGeneration: 2,
    })
    expect(await findSecretUses(berth.services, vm)).toEqual([
      { credentialId: guarded, secret: 'secret-3', hosts: ['api.example.com'], inHeaders: true, inBody: true },
    ])
    expect(await findSecretUses(berth.services, other)).toEqual([])
    expect([await findSecretHosts(berth.services, vm), await findSecretHosts(berth.services, other)]).toEqual([
      [['api.example.com']],
      [],
    ])
    await berth.call('POST', `/agents/v1/vaults/${second}/archive`, { token })
    expect(await findSecretUses(berth.services, vm)).toEqual([])
    expect(await findSecretHosts(berth.services, vm)).toEqual([])
    expect(
      (await openEnvironmentVariables(berth.services, owner, [vault, second].map(uuid))).map(
        ({ secretName }) => secretName,
      ),
    ).toEqual(['PLAIN'])
    expect(await openEnvironmentVariables(berth.services, { ...owner, userId: uuid(vault) }, [uuid(vault)])).toEqual([])
  })
})
