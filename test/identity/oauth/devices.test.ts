/** Devices without a browser: what they are told while they wait, who lets them in, and that nobody guesses their codes. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { change, findOne, sql } from '#src/platform/postgres.ts'
import { authorizationLimits } from '#src/resources/identity/authorizations/limits.ts'
import { startOAuthWorld, type Browser, type OAuthAnswer, type OAuthWorld } from './world.ts'

let world: OAuthWorld
let alice: Browser
beforeAll(async () => {
  world = await startOAuthWorld()
  alice = await world.signIn()
})
afterAll(() => world.stop())

type Device = { device_code: string; user_code: string; verification_uri_complete: string; interval: number }
async function begin(scope = 'write'): Promise<Device> {
  const answer = await fetch(`${world.origin}/oauth/device_authorization`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: 'berth-cli', scope }),
  })
  expect(answer.status).toBe(200)
  return (await answer.json()) as Device
}
const ask = ({ device_code: code }: Device, clientId = 'berth-cli'): Promise<OAuthAnswer> =>
  world.token({
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    client_id: clientId,
    device_code: code,
  })
/** Lets the interval pass. */
const wait = () =>
  change(world.berth.services.db, sql`update authorization_requests set polled_at = polled_at - interval '1 hour'`)
const errorOf = async (device: Device): Promise<unknown> => (await ask(device)).body['error']
const answer = (userCode: string, allow: boolean, browser = alice) =>
  browser.post('/identity/authorization/answer', {
    user_code: userCode,
    allow,
    ...(allow ? { organization_id: browser.organizationId } : {}),
  })

test('a device waits, is let in by its code, and gets its tokens once', async () => {
  const device = await begin()
  expect(device).toMatchObject({
    user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
    verification_uri: `${world.origin}/activate`,
    verification_uri_complete: `${world.origin}/activate?user_code=${device.user_code}`,
    expires_in: authorizationLimits.requestSeconds,
    interval: authorizationLimits.pollSeconds,
  })
  expect(await errorOf(device)).toBe('authorization_pending')
  const asked = await alice.post('/identity/authorization', { user_code: device.user_code.toLowerCase() })
  expect(asked.body).toMatchObject({ client_name: 'Berth’s command line', scope: 'write', is_device: true })
  expect((await answer(device.user_code.replace('-', ' '), true)).body).toEqual({ to: null })
  await wait()
  const { status, body } = await ask(device)
  expect(status, JSON.stringify(body)).toBe(200)
  expect(await world.ask(body.access_token ?? '')).toBe('200')
  await wait()
  expect(await errorOf(device)).toBe('invalid_grant')
  expect(await world.ask(body.access_token ?? '')).toBe('UNAUTHORIZED')
})

test('one that asks too soon waits longer from then on, also when it was let in', async () => {
  const device = await begin()
  const seconds = async () =>
    (
      await findOne<{ pollSeconds: number }>(
        world.berth.services.db,
        sql`select poll_seconds from authorization_requests order by id desc limit 1`,
      )
    )?.pollSeconds
  expect(await errorOf(device)).toBe('authorization_pending')
  expect([await errorOf(device), await seconds()]).toEqual(['slow_down', 10])
  await answer(device.user_code, true)
  expect([await errorOf(device), await seconds()]).toEqual(['slow_down', 15])
  await wait()
  expect((await ask(device)).status).toBe(200)
})

test('one that is denied, is another program’s, or has waited for too long gets nothing', async () => {
  const denied = await begin()
  await answer(denied.user_code, false)
  expect(await errorOf(denied)).toBe('access_denied')
  const others = await begin()
  await answer(others.user_code, true)
  expect((await ask(others, 'another')).body['error']).toBe('invalid_grant')
  const late = await begin()
  await change(world.berth.services.db, sql`update authorization_requests set expires_at = now()`)
  expect(await errorOf(late)).toBe('expired_token')
  expect((await answer(late.user_code, true)).status).toBe(404)
})

test('codes are not guessed: a person has few tries, and what is no code is told so', async () => {
  const strict = await startOAuthWorld({ BERTH_RATE_LIMIT_FACTOR: '1' })
  try {
    const guesser = await strict.signIn()
    const statuses: number[] = []
    for (let tries = 0; tries <= authorizationLimits.userCodesPerMinute; tries++)
      statuses.push((await guesser.post('/identity/authorization', { user_code: 'BBBB-BBBB' })).status)
    expect(statuses).toEqual([...Array<number>(authorizationLimits.userCodesPerMinute).fill(404), 429])
  } finally {
    await strict.stop()
  }
  for (const code of ['', 'WDJB', 'AEIO-UAEI', '1111-1111', 'WDJB-MJHTX'])
    expect([code, (await alice.post('/identity/authorization', { user_code: code })).status]).toEqual([code, 400])
})
