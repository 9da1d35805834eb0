/** What programs do with their tokens: a client of MCP that finds its way by itself, streams and terminals that end with them. */
import {
  auth,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
  type OAuthTokens,
  type StoredOAuthClientInformation,
} from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { bearerChallenge } from '#src/identity/oauth/metadata.ts'
import type { Caller } from '#src/platform/access.ts'
import { decodeId } from '#src/platform/ids.ts'
import { proxyLimits } from '#src/platform/limits/proxies.ts'
import { findOne, sql } from '#src/platform/postgres.ts'
import { endAuthorization } from '#src/resources/identity/authorizations.ts'
import { callerNow, rightsOf } from '#src/resources/infra/terminals/rights.ts'
import { callerOfUrl } from '#src/resources/infra/vm-files/urls.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'
import { loopback, startOAuthWorld, type Browser, type OAuthWorld } from './world.ts'

let world: OAuthWorld
let alice: Browser
beforeAll(async () => {
  world = await startOAuthWorld()
  alice = await world.signIn()
})
afterAll(() => world.stop())

/** A client of MCP, with what it keeps. */
function mcpClient(): OAuthClientProvider & { asked?: URL; held?: OAuthTokens } {
  let known: StoredOAuthClientInformation | undefined
  let verifier = ''
  const client: OAuthClientProvider & { asked?: URL; held?: OAuthTokens } = {
    redirectUrl: loopback,
    clientMetadata: { redirect_uris: [loopback], client_name: 'A client of MCP' },
    clientInformation: () => known,
    saveClientInformation: (information) => void (known = information),
    tokens: () => client.held,
    saveTokens: (tokens) => void (client.held = tokens),
    redirectToAuthorization: (url) => void (client.asked = url),
    saveCodeVerifier: (text) => void (verifier = text),
    codeVerifier: () => verifier,
  }
  return client
}

test('a client of MCP registers, is let in, and refreshes its tokens, by its own library', async () => {
  const challenge = bearerChallenge(world.berth.services.config, '/mcp')
  const refused = new Response(null, { status: 401, headers: { 'www-authenticate': challenge } })
  const { resourceMetadataUrl } = extractWWWAuthenticateParams(refused)
  expect(resourceMetadataUrl?.href).toBe(`${world.origin}/.well-known/oauth-protected-resource/mcp`)
  const client = mcpClient()
  const options = { serverUrl: `${world.origin}/mcp`, ...(resourceMetadataUrl ? { resourceMetadataUrl } : {}) }
  expect(await auth(client, options)).toBe('REDIRECT')
  if (!client.asked) throw new Error('the client asked nobody')
  expect(client.asked.searchParams.get('scope')).toBe('read write')
  const request = await world.requestAt(client.asked)
  const back = await world.allow(alice, request)
  const came = { authorizationCode: back.searchParams.get('code') ?? '', iss: back.searchParams.get('iss') ?? '' }
  expect(await auth(client, { ...options, ...came })).toBe('AUTHORIZED')
  const first = client.held?.access_token ?? ''
  expect(await world.ask(first)).toBe('200')
  expect(await auth(client, options)).toBe('AUTHORIZED')
  expect(client.held?.access_token).not.toBe(first)
  expect(await world.ask(client.held?.access_token ?? '')).toBe('200')
})

/** The authorization that began last, by its stored id. */
async function newest(): Promise<string> {
  const found = await findOne<{ id: string }>(
    world.berth.services.db,
    sql`select id from authorizations order by id desc limit 1`,
  )
  return found?.id ?? ''
}

test('a socket of a program ends with what lets it in', async () => {
  const { access_token: token } = await world.letIn(alice)
  const socket = new WebSocket(`ws://127.0.0.1:${world.berth.port}/graphql`, 'graphql-transport-ws')
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  await new Promise((resolve) => socket.once('open', resolve))
  socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } }))
  await new Promise((resolve) => socket.once('message', resolve))
  await endAuthorization(world.berth.services.db, await newest())
  expect(await closed).toBe(4401)
})

test('what a program opened a terminal or a tunnel with outlives its token, and ends with what lets it in', async () => {
  const { db } = world.berth.services
  await world.letIn(alice)
  const authorizationId = await newest()
  const { userId } = (await findOne<{ userId: string }>(
    db,
    sql`select user_id from authorizations where id = ${authorizationId}`,
  )) ?? { userId: '' }
  const organizationId = decodeId('organization', alice.organizationId) ?? ''
  const caller: Caller = {
    kind: 'person',
    userId,
    organizationId,
    role: 'member',
    memberships: new Map([[organizationId, 'member']]),
    vmId: null,
    tokenId: authorizationId,
    program: { authorizationId, scope: 'write' },
    expiresAtSeconds: 1, // long ago
  }
  const rights = rightsOf(caller)
  expect(await callerNow(db, rights)).toMatchObject({ userId, role: 'member' })
  await endAuthorization(db, authorizationId)
  await expect(callerNow(db, rights)).rejects.toThrow('may act for you no more')
  const { program: _, ...person } = caller
  await expect(callerNow(db, rightsOf(person))).rejects.toThrow('Your token has expired')
})

describe('what a program makes that needs no token', () => {
  let vmId: string
  beforeAll(async () => {
    const { db } = world.berth.services
    vmId = await makeVmRow(db, await world.berth.token('alice', 'acme', 'owner'), await makeSilentNode(db))
  })

  test('opens no file any more when what lets it in has ended, and until then what the program may', async () => {
    const { db, sealer } = world.berth.services
    const { access_token: token } = await world.letIn(alice)
    const authorizationId = await newest()
    const made = await world.berth.call<{ url: string }>('POST', `/api/v1/vms/${vmId}/file-urls`, {
      token,
      body: { path: '/home/user/.profile', method: 'PUT', ttl_seconds: 7 * 86_400 },
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const { searchParams } = new URL(made.body.url)
    const [expires = '', by = '', signature = ''] = ['expires', 'by', 'signature'].map(
      (name) => searchParams.get(name) ?? '',
    )
    const open = () =>
      callerOfUrl(
        { db, sealer },
        'PUT',
        { vmId, path: '/home/user/.profile', format: 'file' },
        { expires, by, signature },
      )
    expect(await open()).toMatchObject({ role: 'member', program: { authorizationId, scope: 'write' } }) // she is the owner
    await endAuthorization(db, authorizationId)
    await expect(open()).rejects.toThrow('no longer valid')
    expect((await fetch(made.body.url, { method: 'PUT', body: 'x' })).status).toBe(403)
  })

  test('shows a preview for an hour at most', async () => {
    const { access_token: token } = await world.letIn(alice)
    const preview = (ttlSeconds: number) =>
      world.ask(token, `{ vm(id: "${vmId}") { previewUrl(port: 80, ttlSeconds: ${ttlSeconds}) } }`)
    expect([
      await preview(proxyLimits.previewSecondsByProgram),
      await preview(proxyLimits.previewSecondsByProgram + 1),
    ]).toEqual(['200', 'INVALID_REQUEST'])
  })
})
