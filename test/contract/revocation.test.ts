/** Permissions that end, end everywhere at once: keys, memberships and organizations, in every process. */
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shiftClock } from '#src/platform/clock.ts'
import { decodeId } from '#src/platform/ids.ts'
import { createMembershipChecker, deactivateMembership } from '#src/resources/identity/memberships.ts'
import { endApiKey } from '#src/resources/identity/api-keys.ts'
import { pollUntil } from '#src/start/wait.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf, makeKey } from '../support/makers.ts'
import { startSecondProcess, type SecondProcess } from './second-process.ts'

const promisedMs = 1_000 // "revoked everywhere within a second"
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

const status = async (credential: string, url = berth.url, header = 'authorization'): Promise<number> =>
  (
    await fetch(`${url}/api/v1/vms`, {
      headers: { [header]: header === 'authorization' ? `Bearer ${credential}` : credential },
    })
  ).status
const everywhere = (credential: string): Promise<number[]> =>
  Promise.all([status(credential), status(credential, second.url)])
/** Until both processes refuse; fails when it takes longer than promised. */
const refusedSoon = (credential: string): Promise<boolean> =>
  pollUntil(async () => (await everywhere(credential)).every((one) => one === 401), {
    limitMs: promisedMs,
    everyMs: 20,
  })

describe('an organization key', () => {
  test('has the documented form, and gives the access of its scopes with either header', async () => {
    const { key } = await makeKey(berth, owner)
    expect(key).toMatch(/^svc_live_ak_[0-9a-z]{16}\.[A-Za-z0-9_-]{43}$/)
    expect(await everywhere(key)).toEqual([200, 200])
    expect(await status(key, berth.url, 'x-api-key')).toBe(200)
  })

  test('that is revoked is refused by every process immediately and permanently, and only its own organization can revoke it', async () => {
    const { key, keyId } = await makeKey(berth, owner)
    expect(await everywhere(key)).toEqual([200, 200])
    const stranger = idsOf(await berth.token('mallory', 'evil', 'owner'))
    expect(await endApiKey(berth.services.db, stranger.organizationId, keyId)).toBeUndefined()
    expect(await everywhere(key)).toEqual([200, 200])
    expect(await endApiKey(berth.services.db, idsOf(owner).organizationId, keyId)).toMatchObject({ id: keyId })
    expect(await refusedSoon(key)).toBe(true)
    expect(await endApiKey(berth.services.db, idsOf(owner).organizationId, keyId)).toMatchObject({ id: keyId })
    expect(await everywhere(key)).toEqual([401, 401])
  })

  test('with another secret, another id or another prefix is refused', async () => {
    const { key } = await makeKey(berth, owner)
    const [front = '', secret = ''] = key.split('.')
    const other = await makeKey(berth, owner)
    for (const wrong of [
      `${front}.${secret.slice(0, -1)}${secret.endsWith('A') ? 'B' : 'A'}`,
      `${front}.${other.key.split('.')[1]}`,
      `${front.slice(0, -1)}!.${secret}`,
      `${front}.${secret}=`,
      `${front}.`,
      front,
      key.replace('svc_live', 'svc_test'),
      key.toUpperCase(),
      `${key} `.repeat(2),
    ])
      expect(await status(wrong), wrong).toBe(401)
    expect(await status(key)).toBe(200)
  })

  test('expires when it says', async () => {
    const { key } = await makeKey(berth, owner, { expiresAt: '2099-01-01T00:00:00.000Z' })
    expect(await status(key)).toBe(200)
    const past = await makeKey(berth, owner, { expiresAt: '2020-01-01T00:00:00.000Z' })
    expect(await status(past.key)).toBe(401)
  })
})

describe('a membership', () => {
  const membershipOf = (token: string): string =>
    decodeId(
      'membership',
      decodeJwt<{ org_memberships: { membership_id: string }[] }>(token).org_memberships[0]?.membership_id ?? '',
    ) ?? ''

  test('whose end is noticed during a read is not cached as active', async () => {
    const text = await berth.token('nick', 'acme', 'member')
    const membershipId = membershipOf(text)
    const { organizationId, userId } = idsOf(text)
    const token = {
      userId,
      issuedAtSeconds: 0,
      memberships: [{ membershipId, organizationId, role: 'member' as const }],
    }
    let hear: (id: string | null) => void = () => undefined
    const checker = createMembershipChecker(berth.services.db, {
      connected: true,
      listen: (_topic, onNotice) => void (hear = onNotice),
    })
    const reading = checker.check(token)
    hear(membershipId)
    await reading // read before it was deactivated
    await deactivateMembership(berth.services.db, membershipId)
    await expect(checker.check(token)).rejects.toMatchObject({ code: 'authentication_invalid' })
  })

  test('that is deactivated makes every process refuse every token that names it, also where the token acts for another organization', async () => {
    await berth.token('nora', 'acme', 'member')
    const elsewhere = await berth.token('nora', 'other', 'owner') // names both memberships
    const here = await berth.token('nora', 'acme', 'member')
    expect([...(await everywhere(here)), ...(await everywhere(elsewhere))]).toEqual([200, 200, 200, 200])
    await deactivateMembership(berth.services.db, membershipOf(here))
    expect(await refusedSoon(here)).toBe(true)
    expect(await refusedSoon(elsewhere)).toBe(true)
    const refused = await berth.call('GET', '/api/v1/vms', { token: here })
    expect(refused).toMatchObject({ status: 401, body: { error: 'authentication_invalid' } })
    expect(refused.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
  })

  test('that is created again works with a new token, and the old one stays refused', async () => {
    const old = await berth.token('oscar', 'acme', 'member')
    await deactivateMembership(berth.services.db, membershipOf(old))
    expect(await refusedSoon(old)).toBe(true)
    expect(await everywhere(await berth.token('oscar', 'acme', 'member'))).toEqual([200, 200])
    expect(await everywhere(old)).toEqual([401, 401])
  })
})

test('an expired token is refused although it was valid a moment ago', async () => {
  const token = await berth.token('petra', 'acme', 'member', 30)
  expect(await status(token)).toBe(200)
  shiftClock(100_000) // 30 s, and 60 s that clocks may differ
  expect(await status(token)).toBe(401)
  shiftClock(0)
})
