import { createHmac, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  importJWK,
  SignJWT,
  UnsecuredJWT,
  type JWTPayload,
} from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rotateSigningKey } from '#src/identity/issuer.ts'
import { permissionsOf } from '#src/resources/identity/access-tokens.ts'
import { readTtl } from '#src/identity/token.ts'
import { findSigningKey } from '#src/resources/identity/signing-keys.ts'
import { startApp, type RunningApp } from '../gateway/running-app.ts'

let running: RunningApp
let good: string
let claims: JWTPayload & { org_memberships: unknown[] }
let kid: string
beforeAll(async () => {
  running = await startApp({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000' } })
  good = await running.token()
  claims = JSON.parse(Buffer.from(good.split('.')[1] ?? '', 'base64url').toString()) as typeof claims
  kid = decodeProtectedHeader(good).kid ?? ''
})
afterAll(() => running.stop())

const nowSeconds = (): number => Math.floor(Date.now() / 1000)
const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const statusOf = async (token: string): Promise<number> => (await running.ask('{ me { name } }', { token })).status

/** A token of our own key, with claims and header changed: what a stolen or careless signer could make. */
async function signed(changes: Record<string, unknown>, header: Record<string, unknown> = {}): Promise<string> {
  const jwk = await findSigningKey(running.services.db, running.services.sealer)
  const payload = Object.fromEntries(
    Object.entries({ ...claims, ...changes }).filter(([, value]) => value !== undefined),
  )
  return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid, ...header }).sign(await importJWK(jwk!, 'ES256'))
}

/** Signs whatever header and payload say with HMAC. */
function hmac(header: Record<string, unknown>, secret: string | Buffer): string {
  const text = `${encode(header)}.${encode(claims)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

const part = (index: number): string => good.split('.')[index] ?? ''

/** Every attack, by what it does. Each must be refused with 401. */
const attacks: Record<string, () => string | Promise<string>> = {
  'algorithm none': () => new UnsecuredJWT(claims).encode(),
  'algorithm nOnE': () => `${encode({ alg: 'nOnE' })}.${part(1)}.`,
  'algorithm NONE with the old signature': () => `${encode({ alg: 'NONE', kid })}.${part(1)}.${part(2)}`,
  'no algorithm': () => `${encode({ kid })}.${part(1)}.${part(2)}`,
  'HS256 with the public key as JSON': async () => hmac({ alg: 'HS256', kid }, JSON.stringify((await publicKeys())[0])),
  'HS256 with the x coordinate': async () => hmac({ alg: 'HS256', kid }, String((await publicKeys())[0]?.['x'])),
  'HS256 with an empty secret': () => hmac({ alg: 'HS256', kid }, ''),
  'another key under our key id': async () =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid }).sign((await generateKeyPair('ES256')).privateKey),
  'another key without a key id': async () =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign((await generateKeyPair('ES256')).privateKey),
  'a key in the header': async () => {
    const pair = await generateKeyPair('ES256', { extractable: true })
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid, jwk: await exportJWK(pair.publicKey) })
      .sign(pair.privateKey)
  },
  'a key address in the header': async () =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid, jku: 'https://evil.example/jwks.json' })
      .sign((await generateKeyPair('ES256')).privateKey),
  'a certificate in the header': async () =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid, x5c: ['AAAA'], x5u: 'https://evil.example' })
      .sign((await generateKeyPair('ES256')).privateKey),
  'RS256 with a key of its own': async () =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid })
      .sign(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey),
  'EdDSA with a key of its own': async () =>
    new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', kid }).sign((await generateKeyPair('EdDSA')).privateKey),
  'ES384 with a key of its own': async () =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES384', kid }).sign((await generateKeyPair('ES384')).privateKey),
  'a key id that climbs folders': () =>
    `${encode({ alg: 'ES256', kid: '../../../../dev/null' })}.${part(1)}.${part(2)}`,
  'a key id with SQL': () => `${encode({ alg: 'ES256', kid: `' or '1'='1` })}.${part(1)}.${part(2)}`,
  'an unknown critical header': () =>
    signed({}, { crit: ['exp-strict'], 'exp-strict': true }).catch(
      () => `${encode({ alg: 'ES256', kid, crit: ['exp-strict'], 'exp-strict': true })}.${part(1)}.${part(2)}`,
    ),
  'an unencoded payload': () => `${encode({ alg: 'ES256', kid, b64: false, crit: ['b64'] })}.${part(1)}.${part(2)}`,
  'another issuer': () => signed({ iss: 'https://evil.example' }),
  'an issuer with a slash more': () => signed({ iss: `${String(claims.iss)}/` }),
  'no issuer': () => signed({ iss: undefined }),
  'another audience': () => signed({ aud: 'someone-else' }),
  'no audience': () => signed({ aud: undefined }),
  'expired an hour ago': () => signed({ exp: nowSeconds() - 3600 }),
  'no expiry': () => signed({ exp: undefined }),
  'an expiry as text': () => signed({ exp: '9999999999' }),
  'not valid before tomorrow': () => signed({ nbf: nowSeconds() + 86_400 }),
  'issued tomorrow': () => signed({ iat: nowSeconds() + 86_400 }),
  'a logout token of the same issuer': () => signed({}, { typ: 'logout+jwt' }),
  'no time of issue': () => signed({ iat: undefined }),
  'no subject': () => signed({ sub: undefined }),
  'a subject of another kind': () => signed({ sub: claims.org_memberships[0] }),
  'a subject with SQL': () => signed({ sub: `usr_' or 1=1` }),
  'memberships that are no list': () => signed({ org_memberships: { a: 1 } }),
  'a membership that does not exist': () =>
    signed({
      org_memberships: [{ org_id: claims['org_id'], membership_id: 'mbr_01m7xwdcq3ftsrck8w2tcdz3c7', role: 'owner' }],
    }),
  'a role that there is not': () => signed({ role: 'root' }),
  'a changed payload': () => `${part(0)}.${encode({ ...claims, role: 'viewer' })}.${part(2)}`,
  'a changed signature': () => `${part(0)}.${part(1)}.${part(2).slice(0, -6)}AAAAAA`,
  'no signature': () => `${part(0)}.${part(1)}.`,
  'a signature of zeros (psychic signature)': () => `${part(0)}.${part(1)}.${Buffer.alloc(64).toString('base64url')}`,
  'two parts': () => `${part(0)}.${part(1)}`,
  'five parts': () => `${good}.AAAA.AAAA`,
  'cut short': () => good.slice(0, good.length / 2),
  'a header that is no JSON': () => `${encode('{')}.${part(1)}.${part(2)}`,
  'a megabyte (refused by its length)': () => `${part(0)}.${'A'.repeat(8_000)}.${part(2)}`,
  empty: () => '.',
  'a JSON serialisation': () =>
    JSON.stringify({ payload: part(1), protected: part(0), signature: part(2) }).replaceAll(' ', ''),
}

async function publicKeys(): Promise<Record<string, unknown>[]> {
  return ((await (await fetch(`${running.url}/.well-known/jwks.json`)).json()) as { keys: Record<string, unknown>[] })
    .keys
}

describe('a token that is not right', () => {
  it('comes in at least 28 kinds', () => expect(Object.keys(attacks).length).toBeGreaterThanOrEqual(28))
  for (const [name, make] of Object.entries(attacks)) {
    it(`is refused: ${name}`, async () => expect(await statusOf(await make())).toBe(401))
  }
  it('is refused while the right one passes', async () => expect(await statusOf(good)).toBe(200))
  it('may be of the type of RFC 9068, or of none', async () => {
    expect([await statusOf(await signed({}, { typ: 'at+jwt' })), await statusOf(await signed({}))]).toEqual([200, 200])
  })
  it('cannot come by cookie, query or body', async () => {
    const answer = await fetch(`${running.url}/graphql?token=${good}&query=%7Bme%7Bname%7D%7D`, {
      headers: { cookie: `token=${good}` },
    })
    expect([answer.status, await answer.json()]).toMatchObject([
      401,
      { errors: [{ extensions: { code: 'UNAUTHORIZED' } }] },
    ])
  })
  it('is told that it has expired, but only when its signature is right', async () => {
    const sentenceOf = async (token: string): Promise<string | undefined> =>
      (await running.ask('{ me { name } }', { token })).body.errors?.[0]?.message
    const expired = await signed({ exp: nowSeconds() - 3600 })
    expect(await sentenceOf(expired)).toBe('Your token has expired. Get a new one and try again.')
    expect(await sentenceOf(`${expired.slice(0, -6)}AAAAAA`)).toContain('its signature, issuer, audience or dates')
  })
  it('names its organization only as far as its memberships go', async () => {
    const lonely = await signed({ org_memberships: [] })
    expect((await running.ask('{ me { name } }', { token: lonely })).body.errors?.[0]?.extensions.code).toBe(
      'FORBIDDEN',
    )
  })
})

describe('the built-in issuer', () => {
  it('signs the documented claims', async () => {
    expect(claims).toMatchObject({
      iss: running.services.config.publicUrl,
      aud: 'berth',
      role: 'owner',
      permissions: permissionsOf('owner'),
    })
    expect(claims.sub).toMatch(/^usr_/)
    expect(claims['org_id']).toMatch(/^org_/)
    expect(claims.exp! - claims.iat!).toBe(3600)
    expect([typeof claims.jti, typeof claims['sid']]).toEqual(['string', 'string'])
    expect(claims.org_memberships).toEqual([
      { org_id: claims['org_id'], membership_id: expect.stringMatching(/^mbr_/), role: 'owner' },
    ])
    expect(decodeProtectedHeader(good)).toEqual({ alg: 'ES256', kid, typ: 'JWT' })
  })
  it('gives each role its own permissions', () => {
    expect(permissionsOf('viewer')).toContain('vms:read')
    expect(permissionsOf('viewer')).not.toContain('vms:write')
    expect(permissionsOf('member')).toContain('vms:write')
    expect(permissionsOf('member')).not.toContain('keys:write')
    expect(permissionsOf('admin')).toContain('keys:write')
  })
  it('publishes where its keys are, and only their public part', async () => {
    const found = (await (await fetch(`${running.url}/.well-known/openid-configuration`)).json()) as {
      issuer: string
      jwks_uri: string
    }
    expect([found.issuer, found.jwks_uri]).toEqual([claims.iss, `${claims.iss}/.well-known/jwks.json`])
    const keys = await publicKeys()
    expect(keys.map((key) => key['kid'])).toEqual([kid])
    expect(Object.keys(keys[0] ?? {}).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
  })
  it('rotates: the last key still verifies, the one before does not', async () => {
    const own = await startApp({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000' } })
    try {
      const first = await own.token()
      await rotateSigningKey(own.services)
      const second = await own.token()
      expect(decodeProtectedHeader(second).kid).not.toBe(decodeProtectedHeader(first).kid)
      const status = async (token: string): Promise<number> => (await own.ask('{ __typename }', { token })).status
      expect([await status(first), await status(second)]).toEqual([200, 200])
      await rotateSigningKey(own.services)
      const third = await own.token()
      expect([await status(second), await status(third)]).toEqual([200, 200])
      const published = (
        (await (await fetch(`${own.url}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] }
      ).keys.map((key) => key.kid)
      expect(published).toHaveLength(2)
      expect(published).not.toContain(decodeProtectedHeader(first).kid)
    } finally {
      await own.stop()
    }
  })
})

describe('a length of time', () => {
  it('is seconds, minutes, hours or days, 30 days at most', () => {
    expect(['90s', '15m', '1h', '7d', '30d'].map(readTtl)).toEqual([90, 900, 3600, 604_800, 2_592_000])
  })
  it('is nothing else', () => {
    for (const text of ['', '0s', '1', '1w', '31d', '-1h', '1h30m', ' 1h', '1.5h', '99999999s'])
      expect(() => readTtl(text)).toThrow(/90s, 15m, 1h or 7d/)
  })
})

describe('an issuer of the operator', () => {
  let keySet = ''
  const service = createServer((_, res) => void res.writeHead(200, { 'content-type': 'application/json' }).end(keySet))
  let own: RunningApp
  beforeAll(async () => {
    service.listen(0, '127.0.0.1')
    await once(service, 'listening')
    const { port } = service.address() as AddressInfo // it listens on a port
    const jwksUri = `http://127.0.0.1:${port}/jwks.json`
    own = await startApp({
      settings: { BERTH_ISSUERS: JSON.stringify([{ issuer: 'https://issuer.example', jwks_uri: jwksUri }]) },
    })
  })
  afterAll(async () => {
    await own?.stop()
    service.closeAllConnections()
    service.close()
  })

  it('whose key set is too large is asked for a smaller one, and its tokens are taken once it has that', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    const key = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }
    const token = await new SignJWT({ ...claims, org_memberships: [] })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .setIssuer('https://issuer.example')
      .sign(privateKey)
    const ask = async (): Promise<unknown> => (await own.ask('{ __typename }', { token })).body
    for (const large of [' '.repeat(300_000), `{"keys":[${'[],'.repeat(60_000)}0]}`]) {
      keySet = large
      expect(await ask()).toMatchObject({
        errors: [
          {
            message: expect.stringContaining('more than 256 KiB or 10,000 values'),
            extensions: { http: { status: 503 } },
          },
        ],
      })
    }
    keySet = JSON.stringify({ keys: [key] })
    expect(await ask()).toEqual({ data: { __typename: 'Query' } })
  })
})
