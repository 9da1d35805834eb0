/** Issuers of a database: their tokens let clients in to it and to no other, on the wire and by POST /sql. */
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import { CompactSign, exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWTPayload } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { sql } from '#src/platform/postgres.ts'
import { freePort } from '../support/ports.ts'
import { openDatabasesWorld, type DatabasesWorld } from './databases-world.ts'

const issuer = 'https://users.example'
const audience = 'my-app'
let world: DatabasesWorld
let keySet: Server
let jwksUri: string
let fetched = 0
let answerKeys: () => string
let key: CryptoKey
let owner: string
beforeAll(async () => {
  const port = await freePort()
  const pair = await generateKeyPair('ES256')
  key = pair.privateKey
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'ES256' }] })
  answerKeys = () => keys
  keySet = createServer((_request, response) => {
    fetched++
    response.end(answerKeys())
  }).listen(port, '127.0.0.1')
  await once(keySet, 'listening')
  jwksUri = `http://127.0.0.1:${port}/jwks`
  world = await openDatabasesWorld({ BERTH_PRIVATE_HOSTS: `127.0.0.1:${port}`, BERTH_RATE_LIMIT_FACTOR: '100' })
  owner = await world.berth.token('alice', 'acme')
  await world.change(world.known, sql`client_mode_enabled = true`)
  await world.change(world.foreign, sql`client_mode_enabled = true`)
})
afterAll(async () => {
  await world.close()
  keySet.close()
})

const token = (claims: JWTPayload = {}, by: CryptoKey = key): Promise<string> =>
  new SignJWT({ iss: issuer, aud: audience, sub: 'user-1', ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .setIssuedAt()
    .setExpirationTime(claims.exp ?? '5m')
    .sign(by)
const databaseId = () => encodeId('database', world.known.row.id)
const change = async (name: string, input: Record<string, string>, as = owner) => {
  const given = Object.entries({ databaseId: databaseId(), ...input })
    .map(([field, value]) => `${field}: ${JSON.stringify(value)}`)
    .join()
  const { body } = await world.berth.ask(
    `mutation { ${name}DatabaseAuthIssuer(input: { ${given} }) { authIssuer { issuer jwksUri audience } } }`,
    { token: as },
  )
  return body.errors?.[0]?.extensions.code ?? body.data
}
const whoIs = async (password: string, host = world.known.host): Promise<unknown> => {
  const client = await world.client({ user: 'authenticated', password, host })
  try {
    return (await client.query("select current_user as who, auth.claims() ->> 'sub' as sub")).rows[0]
  } finally {
    await client.end()
  }
}
const refused = { code: '28P01' }

describe('an issuer of a database', () => {
  test('is added by an admin of its organization, with an address that may be reached', async () => {
    await expect(whoIs(await token())).rejects.toMatchObject(refused)
    expect(await change('create', { issuer, jwksUri, audience })).toEqual({
      createDatabaseAuthIssuer: { authIssuer: { issuer, jwksUri, audience } },
    })
    expect(await change('create', { issuer, jwksUri, audience })).toBe('INVALID_REQUEST')
    for (const wrong of [
      { issuer: '', jwksUri, audience },
      { issuer: 'x'.repeat(limits.serverUrlLength + 1), jwksUri, audience },
      { issuer: 'two', jwksUri: 'http://127.0.0.1:1/jwks', audience },
      { issuer: 'two', jwksUri: 'file:///etc/passwd', audience },
      { issuer: 'two', jwksUri, audience: '' },
    ])
      expect(await change('create', wrong)).toBe('INVALID_REQUEST')
    const stranger = await world.berth.token('mallory', 'other')
    expect(await change('create', { issuer: 'two', jwksUri, audience }, stranger)).toBe('NOT_FOUND')
    const { body } = await world.berth.ask(`{ database(id: "${databaseId()}") { authIssuers { issuer } } }`, {
      token: owner,
    })
    expect(body.data).toEqual({ database: { authIssuers: [{ issuer }] } })
  })

  test('lets its users in with their claims, whose keys are fetched once', async () => {
    expect(await whoIs(await token())).toEqual({ who: 'authenticated', sub: 'user-1' })
    expect(await whoIs(await token({ sub: 'user-2', role: 'postgres' }))).toEqual({
      who: 'authenticated',
      sub: 'user-2',
    })
    expect(await whoIs(await token({ role: 'anon' }))).toEqual({ who: 'anon', sub: 'user-1' })
    const answer = await fetch(`${world.berth.url}/sql`, {
      method: 'POST',
      headers: {
        'neon-connection-string': `postgresql://authenticated@${world.known.host}/app`,
        authorization: `Bearer ${await token({ sub: 'user-3' })}`,
      },
      body: JSON.stringify({ query: "select auth.claims() ->> 'sub' as sub" }),
    })
    expect(await answer.json()).toMatchObject({ rows: [{ sub: 'user-3' }] })
    expect(fetched).toBe(1)
  })

  test('shows policies its claims with every digit of their numbers', async () => {
    const now = Math.floor(Date.now() / 1000)
    const payload = `{"iss":"${issuer}","aud":"${audience}","exp":${now + 300},"sub":"user-1","tenant":9007199254740993}`
    const exact = await new CompactSign(Buffer.from(payload))
      .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'JWT' })
      .sign(key)
    const client = await world.client({ user: 'authenticated', password: exact, host: world.known.host })
    const { rows } = await client.query("select auth.claims() ->> 'tenant' as tenant")
    await client.end()
    expect(rows).toEqual([{ tenant: '9007199254740993' }])
  })

  test('lets nobody in with another audience, an ended token, another key, without a subject, or elsewhere', async () => {
    const { privateKey: other } = await generateKeyPair('ES256')
    const ended = Math.floor(Date.now() / 1000) - 3600
    for (const wrong of [
      await token({ aud: 'another-app' }),
      await token({ exp: ended }),
      await token({}, other),
      await token({ sub: undefined }),
      await token({ iss: 'https://elsewhere.example' }),
      await token({ name: 'a\0b' }),
    ])
      await expect(whoIs(wrong)).rejects.toMatchObject(refused)
    await expect(whoIs(await token(), world.foreign.host)).rejects.toMatchObject(refused)
  })

  test('lets nobody in once it is deleted', async () => {
    expect(await change('delete', { issuer })).toMatchObject({ deleteDatabaseAuthIssuer: { authIssuer: { issuer } } })
    expect(await change('delete', { issuer })).toBe('NOT_FOUND')
    await expect
      .poll(async () =>
        whoIs(await token()).then(
          () => 'in',
          (error: { code: string }) => error.code,
        ),
      )
      .toBe('28P01')
  })

  test('whose keys cannot be fetched, or are too many, is not taken for one that refuses', async () => {
    answerKeys = () => `{"keys": [${' '.repeat(300 * 1024)}]}`
    expect(
      await change('create', { issuer: 'https://large.example', jwksUri: `${jwksUri}?large`, audience }),
    ).toBeTypeOf('object')
    await expect
      .poll(async () =>
        whoIs(await token({ iss: 'https://large.example' })).then(
          () => 'in',
          (error: { code: string }) => error.code,
        ),
      )
      .toBe('57P03')
  })
})
