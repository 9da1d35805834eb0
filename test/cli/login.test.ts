/** Signing in on the command line: by a real browser, or on another device, and what is said when it is not allowed. */
import { readFileSync, statSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { change, sql } from '#src/platform/postgres.ts'
import { signInByDevice } from '../../cli/sign-in/device.ts'
import { findServer } from '../../cli/sign-in/server.ts'
import { openConsole, signIn, type OpenConsole } from '../console/console.ts'
import { startOAuthWorld, type Browser, type OAuthWorld } from '../identity/oauth/world.ts'
import { makePerson, type Person, type Running } from './command.ts'
import { addressOf, atScreen, credentialsFile, keptBy } from './signed-in.ts'

let world: OAuthWorld
let console: OpenConsole
let alice: Browser
let people: Person[]
beforeAll(async () => {
  people = []
  world = await startOAuthWorld()
  alice = await world.signIn()
  console = await openConsole({ of: world.berth })
}, 120_000)
afterAll(async () => {
  for (const person of people) person.leave()
  await console.stop()
})
afterEach(({ task }) => console.showFailure(task.result?.state))

function somebody(env: Record<string, string> = atScreen): Person {
  const person = makePerson(env)
  people.push(person)
  return person
}
const heading = (name: string) => console.page.getByRole('heading', { name, level: 1 })

test('a person signs in by their browser, and every command works; only they can read the tokens, which are printed nowhere', async () => {
  const { page } = console
  const person = somebody()
  const login = person.start(['login', world.origin, '--quiet'])
  const address = await addressOf(login)
  await page.goto(address.href)
  await signIn(page, 'alice')
  await heading('Let Berth’s command line in?').waitFor()
  await page.getByText('this machine, where the program runs').waitFor()
  await page.getByRole('button', { name: 'Allow' }).click()
  await heading('You are back at the command line.').waitFor()
  const ended = await login.ended
  expect(ended).toMatchObject({ exit: 0, out: 'Signed in as alice (acme, owner).\n' })
  const { token, grant } = keptBy(person)
  expect(statSync(credentialsFile(person)).mode & 0o777).toBe(0o600)
  for (const secret of [token, grant.refreshToken]) {
    expect(`${ended.out}${ended.err}`).not.toContain(secret)
    expect(readFileSync(`${person.home}/config/berth/contexts.json`, 'utf8')).not.toContain(secret)
  }
  expect((await person.run(['status'])).out).toMatch(/person +alice/)
  expect((await person.run(['key', 'create', 'ci'])).exit).toBe(0)
  expect((await person.run(['project', 'create', 'shop', '--org', 'acme'])).exit).toBe(0)
}, 120_000)

test('one who denies it is not signed in, and a scope is asked for as it was passed', async () => {
  const { page } = console
  const person = somebody()
  const login = person.start(['login', world.origin, '--scope', 'read'])
  await page.goto((await addressOf(login)).href)
  await page.getByText('see what a viewer sees there').waitFor()
  await page.getByRole('button', { name: 'Deny' }).click()
  await heading('You are not signed in.').waitFor()
  expect(await login.ended).toMatchObject({ exit: 3, out: '', err: expect.stringContaining('You denied it') })
  expect((await person.run(['vm', 'ls'])).exit).toBe(2)
}, 90_000)

test('only the answer that was asked for counts, and nobody is waited for without an end', async () => {
  const person = somebody()
  const late = await person.run(['login', world.origin, '--timeout', '1s'])
  expect(late).toMatchObject({ exit: 3, out: '', err: expect.stringContaining('Nobody has answered within 1 s.') })
  const login = person.start(['login', world.origin])
  const asked = await addressOf(login)
  const back = new URL(asked.searchParams.get('redirect_uri') ?? '')
  expect(back.hostname).toBe('127.0.0.1')
  const statusOf = async (query: Record<string, string>) =>
    (await fetch(`${back.href}?${new URLSearchParams(query).toString()}`)).status
  const state = asked.searchParams.get('state') ?? ''
  expect(await statusOf({ code: 'stolen' })).toBe(404)
  expect(await statusOf({ code: 'stolen', state: `${state}x` })).toBe(404)
  expect(await statusOf({ error: 'access_denied' })).toBe(404)
  expect(await statusOf({ code: 'stolen', state, iss: 'https://elsewhere.example.com' })).toBe(200)
  expect(await login.ended).toMatchObject({ exit: 3, err: expect.stringContaining('no answer of this Berth') })
})

/** What the person must enter. */
async function codeOf(login: Running): Promise<string> {
  await login.printed(`Open ${world.origin}/activate and enter `)
  await expect.poll(() => login.text()).toMatch(/enter \w{4}-\w{4}\n/)
  return /enter (\w{4}-\w{4})\n/.exec(login.text())?.[1] ?? ''
}
const answer = (userCode: string, allow: boolean) =>
  alice.post('/identity/authorization/answer', {
    user_code: userCode,
    allow,
    ...(allow ? { organization_id: alice.organizationId } : {}),
  })

test('over ssh or without a screen a code is shown, which a person allows elsewhere, denies, or leaves', async () => {
  const at = `http://127.0.0.1:${world.berth.port}`
  const late = somebody().start(['login', at, '--device'])
  const lateCode = await codeOf(late)
  await change(
    world.berth.services.db,
    sql`update authorization_requests set expires_at = now() where user_code = ${lateCode.replace('-', '')}`,
  )
  const person = somebody({ ...atScreen, SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' })
  const login = person.start(['login', at])
  await answer(await codeOf(login), true)
  const denied = somebody({ ...atScreen, DISPLAY: '', WAYLAND_DISPLAY: '' }).start(['login', at])
  await answer(await codeOf(denied), false)
  expect(await login.ended).toMatchObject({ exit: 0, out: 'Signed in as alice (acme, owner).\n' })
  expect((await person.run(['status'])).exit).toBe(0)
  expect(await denied.ended).toMatchObject({ exit: 3, out: '', err: expect.stringContaining('You denied it') })
  expect(await late.ended).toMatchObject({ exit: 3, err: expect.stringContaining('Nobody has answered') })
}, 90_000)

test('a device that asked too soon asks less often from then on', async () => {
  const server = await findServer(new URL(world.origin))
  if (!server) throw new Error('nothing is offered')
  const waited: number[] = []
  let code = ''
  const credential = await signInByDevice(server, {
    scope: 'read',
    timeoutSeconds: 60,
    show: (shown) => void ({ code } = shown),
    async wait(ms) {
      waited.push(ms)
      if (waited.length < 3) return // the second question comes too soon
      await answer(code, true)
      await change(world.berth.services.db, sql`update authorization_requests set polled_at = null`)
    },
  })
  expect(waited).toEqual([5_000, 5_000, 10_000])
  expect(await world.ask(credential.token)).toBe('200')
})

test('options that do not fit are told so', async () => {
  const person = somebody()
  const refused = async (...words: string[]) => {
    const { exit, err } = await person.run(['login', world.origin, ...words])
    expect([words, exit]).toEqual([words, 2])
    return err
  }
  expect(await refused('--device', '--user', 'alice')).toContain('Choose one way')
  expect(await refused('--scope', 'everything')).toContain('read, write, admin')
  expect(await refused('--machine', '--scope', 'read')).toContain('--role')
  expect(await refused('--timeout', 'long')).toContain('90s')
})
