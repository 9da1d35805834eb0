/** A person lets programs in, in a real browser: what they are shown, where they are sent, and that everybody can use the pages. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as oidc from 'openid-client'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { change, sql } from '#src/platform/postgres.ts'
import { expectUsable, openConsole, signIn, type OpenConsole } from '../../console/console.ts'
import { startOAuthWorld, type OAuthWorld } from './world.ts'

let world: OAuthWorld
let console: OpenConsole
let program: Server
let redirectUri: string
let came: URL[]
beforeAll(async () => {
  came = []
  program = createServer(({ url = '/' }, answer) => {
    if (url.startsWith('/callback')) came.push(new URL(url, redirectUri))
    answer.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Back in the program</h1>')
  })
  await new Promise<void>((resolve) => void program.listen(0, '127.0.0.1', resolve))
  redirectUri = `http://127.0.0.1:${(program.address() as AddressInfo).port}/callback` // it listens
  world = await startOAuthWorld()
  console = await openConsole({ of: world.berth })
}, 120_000)
afterAll(async () => {
  await console.stop()
  program.close()
})
afterEach(({ task }) => console.showFailure(task.result?.state))

/** The page of a program's request, in the browser, whose way to Berth has another port. */
const here = (url: URL): string => `${console.origin}${url.pathname}${url.search}`
const heading = (name: string) => console.page.getByRole('heading', { name, level: 1 })

test('the command line of a library is let in by a person who signs in first, and its code is for it alone', async () => {
  const { page } = console
  const client = await world.client()
  const verifier = oidc.randomPKCECodeVerifier()
  const state = oidc.randomState()
  const asked = oidc.buildAuthorizationUrl(client, {
    redirect_uri: redirectUri,
    scope: 'read write',
    state,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  const request = await world.requestAt(asked)
  await page.goto(`${console.origin}/authorize?request=${request}`)
  await signIn(page, 'alice')
  await heading('Let Berth’s command line in?').waitFor()
  await page.getByText('do what a member may do there').waitFor()
  await page.getByText('this machine, where the program runs').waitFor()
  expect(came).toEqual([])
  await expectUsable(console, 'authorize')
  await page.getByRole('button', { name: 'Allow' }).click()
  await heading('Back in the program').waitFor()
  const [back] = came
  if (!back) throw new Error('the program was not told')
  const tokens = await oidc.authorizationCodeGrant(client, back, { pkceCodeVerifier: verifier, expectedState: state })
  expect(await world.ask(tokens.access_token)).toBe('200')
  await page.goto(`${console.origin}/authorize?request=${request}`)
  await heading('Nothing asks here').waitFor()
}, 120_000)

test('a program that calls itself something hostile is shown as text, and denied where the person says so', async () => {
  const { page } = console
  const name = '<img src=x onerror=alert(1)> \u202eBerth'
  const registered = await fetch(`${world.origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [redirectUri], client_name: name }),
  })
  const { client_id: id } = (await registered.json()) as { client_id: string }
  const { url } = await world.begin({ client_id: id, redirect_uri: redirectUri, scope: 'admin' })
  await page.goto(`${console.origin}/authorize?request=${await world.requestAt(url)}`)
  await heading('Let <img src=x onerror=alert(1)> \\u202eBerth in?').waitFor()
  await page.getByText('nobody: any program can say so').waitFor()
  expect(await page.locator('main img').count()).toBe(0)
  await expectUsable(console, 'authorize-hostile')
  came.length = 0
  await page.getByRole('button', { name: 'Deny' }).click()
  await heading('Back in the program').waitFor()
  expect(came.map(({ searchParams }) => [searchParams.get('error'), searchParams.has('code')])).toEqual([
    ['access_denied', false],
  ])
}, 90_000)

test('a device is let in by its code, entered or in the address', async () => {
  const { page } = console
  const client = await world.client()
  const device = await oidc.initiateDeviceAuthorization(client, { scope: 'read' })
  await page.goto(`${console.origin}/activate`)
  await heading('Let a device in').waitFor()
  await expectUsable(console, 'activate')
  await page.getByLabel('Code that the device shows').fill('wdjb-mjht')
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.getByText('No device waits with this code.').waitFor()
  await page.getByRole('button', { name: 'Enter another code' }).click()
  await page.getByLabel('Code that the device shows').fill(device.user_code.toLowerCase())
  await page.getByRole('button', { name: 'Go on' }).click()
  await heading('Let Berth’s command line in?').waitFor()
  await page.getByText('see what a viewer sees there').waitFor()
  await expectUsable(console, 'activate-asked')
  await page.getByRole('button', { name: 'Allow' }).click()
  await heading('Berth’s command line is let in').waitFor()
  const { status, body } = await world.token({
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    client_id: 'berth-cli',
    device_code: device.device_code,
  })
  expect([status, await world.ask(body.access_token ?? '')]).toEqual([200, '200'])

  const other = await oidc.initiateDeviceAuthorization(client, { scope: 'read' })
  await page.goto(here(new URL(other.verification_uri_complete ?? '')))
  await page.getByText(other.user_code).waitFor()
  await page.getByRole('button', { name: 'Deny' }).click()
  await heading('It was not let in').waitFor()
}, 120_000)

test('what was let in is under Members, and ends there', async () => {
  const { page } = console
  await change(world.berth.services.db, sql`delete from authorizations`)
  const { access_token: token } = await world.letIn(await world.signIn())
  await page.goto(`${console.origin}/o/acme/members`)
  const row = page.getByRole('region', { name: 'Programs' }).locator('tbody tr')
  await row.getByText('acme').waitFor()
  await expectUsable(console, 'members-programs')
  await row.getByRole('button', { name: 'End' }).click()
  await row.waitFor({ state: 'detached' })
  expect(await world.ask(token)).toBe('UNAUTHORIZED')
}, 60_000)

test('the browser complained of nothing: no error, no refusal of the page’s policy, no request to another host', () => {
  const program = new URL(redirectUri).host
  const refused = /status of 404/ // answers that a test asked for
  expect(console.complaints.filter((one) => !one.includes(program) && !refused.test(one))).toEqual([])
})
