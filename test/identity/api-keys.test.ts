/** Organization keys by GraphQL: made and shown once, listed without their secret, revoked everywhere; by people of the right role only. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nowMs, shiftClock, timestamp } from '#src/platform/clock.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { createApiKeyChecker } from '#src/resources/identity/api-key-checker.ts'
import { makeApiKey } from '#src/resources/identity/api-keys.ts'
import { pollUntil } from '#src/start/wait.ts'
import { startSecondProcess, type SecondProcess } from '../contract/second-process.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf } from '../support/makers.ts'

let berth: Berth
let second: SecondProcess
let owner: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  second = await startSecondProcess(berth)
  owner = await berth.token('alice', 'acme', 'owner')
})
afterAll(async () => {
  shiftClock(0)
  await second.stop()
  await berth.stop()
})

type Shown = {
  id: string
  organizationId: string
  name: string
  lastFour: string
  scopes: string[]
  createdById: string
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
}
const fields = 'id organizationId name lastFour scopes createdById createdAt expiresAt revokedAt lastUsedAt'
const create =
  'mutation ($name: String!, $expiresAt: DateTime) { createApiKey(input: { name: $name, expiresAt: $expiresAt }) { key apiKey { ' +
  fields +
  ' } } }'
async function ask<Data>(
  query: string,
  variables: Record<string, unknown> = {},
  token: string | undefined = owner,
): Promise<{ data: Data | null; said: string }> {
  const answer = await berth.ask(query, { token, variables })
  const error = answer.body.errors?.[0]
  return {
    data: answer.body.data as Data | null,
    said: error ? `${error.extensions.http?.status ?? answer.status} ${error.extensions.code}: ${error.message}` : 'ok',
  }
}
async function make(name = 'laptop', expiresAt?: string, token = owner): Promise<{ key: string; apiKey: Shown }> {
  const { data, said } = await ask<{ createApiKey: { key: string; apiKey: Shown } }>(create, { name, expiresAt }, token)
  if (!data) throw new Error(said)
  return data.createApiKey
}
const list = async (
  args: string,
  token = owner,
): Promise<{ nodes: Shown[]; pageInfo: { hasNextPage: boolean; endCursor: string } }> =>
  (
    await ask<{ apiKeys: { nodes: Shown[]; pageInfo: { hasNextPage: boolean; endCursor: string } } }>(
      `{ apiKeys(${args}) { nodes { ${fields} } pageInfo { hasNextPage endCursor } } }`,
      {},
      token,
    )
  ).data!.apiKeys
const status = async (key: string, url = berth.url): Promise<number> =>
  (await fetch(`${url}/llm/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status
const everywhere = (key: string): Promise<number[]> => Promise.all([status(key), status(key, second.url)])

describe('a key', () => {
  test('is shown in full once, has the fixed scopes, and gives their access', async () => {
    const { key, apiKey } = await make('  my laptop  ')
    expect(key).toMatch(/^svc_live_ak_[0-9a-z]{16}\.[A-Za-z0-9_-]{43}$/)
    const { organizationId, userId } = idsOf(owner)
    expect(apiKey).toEqual({
      id: key.slice(12, 28),
      organizationId: encodeId('organization', organizationId),
      name: 'my laptop',
      lastFour: key.slice(-4),
      scopes: ['MODELS_READ', 'CHAT_STATELESS', 'AGENTS_USE', 'COMPUTE_USE'],
      createdById: encodeId('user', userId),
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
    })
    expect(await everywhere(key)).toEqual([200, 200])
    expect((await ask<{ apiKey: Shown }>(`{ apiKey(id: "${apiKey.id}") { ${fields} } }`)).data?.apiKey).toMatchObject({
      id: apiKey.id,
      name: 'my laptop',
    })
    expect(JSON.stringify(await list('first: 100'))).not.toContain(key.slice(29))
    const { rows } = await berth.services.database.pool.query<{ row: string }>(
      'select api_keys::text as row from api_keys',
    )
    expect(rows.map(({ row }) => row).join()).not.toContain(key.slice(29))
  })

  test('is listed newest first, page by page, to its own organization only', async () => {
    const token = await berth.token('lena', 'lists', 'admin')
    const made: string[] = []
    for (const name of ['one', 'two', 'three']) made.unshift((await make(name, undefined, token)).apiKey.id)
    const first = await list('first: 2', token)
    expect([first.nodes.map(({ id }) => id), first.pageInfo.hasNextPage]).toEqual([made.slice(0, 2), true])
    const rest = await list(`first: 2, after: "${first.pageInfo.endCursor}"`, token)
    expect([rest.nodes.map(({ id }) => id), rest.pageInfo.hasNextPage]).toEqual([made.slice(2), false])
    expect((await list('first: 100')).nodes.map(({ id }) => id)).not.toEqual(expect.arrayContaining(made))
    expect((await list(`first: 5, after: "${made[0]}"`)).nodes).toEqual([]) // another's cursor leads nowhere
    expect((await ask('{ apiKeys(after: "x") { nodes { id } } }')).said).toMatch(
      /^400 INVALID_REQUEST: after is not a cursor/,
    )
  })

  test('says when it was last used, to the minute, without slowing down requests', async () => {
    const { key, apiKey } = await make('used')
    expect(await status(key)).toBe(200)
    const usedAt = async (): Promise<string | null> =>
      (await ask<{ apiKey: Shown }>(`{ apiKey(id: "${apiKey.id}") { ${fields} } }`)).data!.apiKey.lastUsedAt
    expect(await pollUntil(async () => (await usedAt()) !== null, { limitMs: 5_000, everyMs: 20 })).toBe(true)
    const before = await usedAt()
    expect(await status(key)).toBe(200)
    await status(key)
    expect(await usedAt()).toBe(before)
  })

  test('that is revoked is refused by every process within a second, permanently; revoking it again changes nothing', async () => {
    const { key, apiKey } = await make()
    expect(await everywhere(key)).toEqual([200, 200])
    const revoke = `mutation { revokeApiKey(input: { id: "${apiKey.id}" }) { apiKey { id revokedAt } } }`
    const { data } = await ask<{ revokeApiKey: { apiKey: { revokedAt: string } } }>(revoke)
    expect(data?.revokeApiKey.apiKey.revokedAt).toMatch(/Z$/)
    expect(
      await pollUntil(async () => (await everywhere(key)).every((one) => one === 401), {
        limitMs: 1_000,
        everyMs: 10,
      }),
    ).toBe(true)
    expect(await ask(revoke)).toEqual({ data, said: 'ok' })
    expect(await everywhere(key)).toEqual([401, 401])
  })

  test('whose revocation overtakes a read is not cached as valid', async () => {
    const { key, apiKey } = await make()
    let hear: (id: string | null) => void = () => undefined
    const checker = createApiKeyChecker(
      berth.services.db,
      { connected: true, listen: (_topic, onNotice) => void (hear = onNotice) },
      'svc_live_ak_',
    )
    const reading = checker.check(key)
    hear(apiKey.id)
    expect(await reading).toMatchObject({ kind: 'key' }) // read before it was revoked
    await ask(`mutation { revokeApiKey(input: { id: "${apiKey.id}" }) { apiKey { id } } }`)
    expect(await checker.check(key)).toMatchObject({ kind: 'nobody' })
  })

  test('that expires is refused from then on', async () => {
    const expiresAt = timestamp(nowMs() + 3_600_000)
    const { key, apiKey } = await make('for an hour', expiresAt)
    expect(apiKey.expiresAt).toBe(expiresAt)
    expect(await status(key)).toBe(200)
    shiftClock(3_600_001)
    expect(await status(key)).toBe(401)
    shiftClock(0)
  })
})

describe('is refused', () => {
  test.each<[string, unknown, unknown]>([
    ['a name without a character', ' \n', undefined],
    ['a long name', 'x'.repeat(256), undefined],
    ['a name with NUL', 'a\0b', undefined],
    ['half a character', '\ud800', undefined],
    ['no name', null, undefined],
    ['an expiry that is over', 'x', '2020-01-01T00:00:00Z'],
    ['an expiry in eleven years', 'x', timestamp(nowMs() + 11 * 366 * 86_400_000)],
    ['an expiry that is no date', 'x', 'tomorrow'],
    ['a number', 'x', 5],
    ['a year', 'x', '2030'],
    ['a moment without a zone', 'x', '2030-01-01T00:00:00'],
    ['month 13', 'x', '2030-13-01T00:00:00Z'],
  ])('%s', async (_, name, expiresAt) => {
    expect((await ask(create, { name, expiresAt })).said).toMatch(/^400 /)
  })

  test('one key too many, until one is revoked or has expired', async () => {
    const token = await berth.token('maria', 'many', 'owner')
    const { organizationId, userId } = idsOf(token)
    for (let made = 0; made < limits.apiKeysMax; made++)
      await makeApiKey(berth.services.db, { organizationId, createdBy: userId, name: 'x', prefix: 'svc_live_ak_' })
    expect((await ask(create, { name: 'x' }, token)).said).toBe(
      `400 INVALID_REQUEST: An organization has at most ${limits.apiKeysMax} keys. Revoke one first.`,
    )
    const [{ id }] = (await list('first: 1', token)).nodes as [Shown]
    await ask(`mutation { revokeApiKey(input: { id: "${id}" }) { apiKey { id } } }`, {}, token)
    expect((await ask(create, { name: 'x' }, token)).said).toBe('ok')
  })

  test('a caller who is not a person with the role', async () => {
    const { key, apiKey } = await make()
    const revoke = `mutation { revokeApiKey(input: { id: "${apiKey.id}" }) { apiKey { id } } }`
    const said = async (query: string, token: string | undefined): Promise<string> =>
      (await ask(query, {}, token)).said.split(':')[0] ?? ''
    const [member, viewer, stranger, admin] = await Promise.all([
      berth.token('martha', 'acme', 'member'),
      berth.token('victor', 'acme', 'viewer'),
      berth.token('mallory', 'evil', 'owner'),
      berth.token('adam', 'acme', 'admin'),
    ])
    const making = 'mutation { createApiKey(input: { name: "x" }) { key } }'
    for (const query of [making, revoke])
      for (const token of [member, viewer]) expect(await said(query, token)).toBe('403 NOT_PERMITTED_FOR_ROLE')
    for (const query of [making, revoke, '{ apiKeys { nodes { id } } }', `{ apiKey(id: "${apiKey.id}") { id } }`]) {
      expect(await said(query, key)).toBe('401 UNAUTHORIZED')
      expect((await berth.ask(query)).body.errors?.[0]?.extensions.code).toBe('UNAUTHORIZED')
    }
    for (const id of [apiKey.id, '0000000000000000', 'x', `${apiKey.id}'`, 'org_x', ''])
      expect(
        (await ask(`mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { apiKey { id } } }`, { id }, stranger))
          .said,
      ).toBe('404 NOT_FOUND: There is no such key, or it is not yours.')
    expect(await said(`{ apiKey(id: "${apiKey.id}") { id } }`, viewer)).toBe('ok')
    expect(await status(key)).toBe(200)
    expect(await said(revoke, admin)).toBe('ok')
  })
})
