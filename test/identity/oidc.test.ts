/** Sign-in with a real identity provider in a real browser: who comes in, what stays outside, and what no attempt can do. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConfigError, readConfig } from '#src/platform/config.ts'
import { sql } from '#src/platform/postgres.ts'
import { buildConsole } from '../../src/console/build.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { launchChromium } from '../support/browser/chromium.ts'
import { startProvider, type TestProvider } from './oidc-provider.ts'

const claims = {
  'subject-1': { preferred_username: 'carol', email: 'carol@example.com', email_verified: true },
  'subject-2': { preferred_username: 'carol', email: 'other@example.com', email_verified: false },
}
let provider: TestProvider
let berth: Berth
let browser: Browser
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-oidc-'))
  let redirectUri = ''
  provider = await startProvider(() => redirectUri, claims)
  const secretFile = join(folder, 'secret')
  writeFileSync(secretFile, `${provider.clientSecret}\n`, { mode: 0o600 })
  berth = await startBerth({
    settings: {
      BERTH_ISSUERS: JSON.stringify([
        { issuer: provider.issuer, client_id: provider.clientId, client_secret_file: secretFile, name: 'example' },
      ]),
      BERTH_RATE_LIMIT_FACTOR: '100',
    },
  })
  redirectUri = `${berth.services.config.publicUrl}/identity/oidc/callback`
  await buildConsole(berth.services.config.cacheDir)
  browser = await launchChromium()
}, 60_000)
afterAll(async () => {
  await browser.close()
  provider.close()
  await berth.stop()
  rmSync(folder, { recursive: true })
})

const origin = (): string => berth.services.config.publicUrl
async function signInAs(subject: string, at = '/'): Promise<{ context: BrowserContext; page: Page }> {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${origin()}${at}`)
  await page.getByRole('link', { name: 'Sign in with example' }).click()
  await page.locator('input[name=login]').fill(subject)
  await page.locator('input[name=password]').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
  return { context, page }
}
const people = async (): Promise<{ name: string; email: string | null }[]> =>
  (
    await sql<{
      name: string
      email: string | null
    }>`select name, email from users where name like 'carol%' order by name`.execute(berth.services.db)
  ).rows

test('somebody new is let in, as a person without an organization, with a cookie that no script reads', async () => {
  const { context, page } = await signInAs('subject-1')
  await page.getByRole('heading', { name: 'Hello, carol' }).waitFor()
  expect(await people()).toEqual([{ name: 'carol', email: 'carol@example.com' }])
  const cookies = (await context.cookies(origin())).filter(({ name }) => name.startsWith('berth')) // its host is the provider's, too
  expect(cookies.map(({ name, httpOnly, sameSite }) => ({ name, httpOnly, sameSite }))).toEqual([
    { name: 'berth', httpOnly: true, sameSite: 'Strict' },
  ])
  await context.close()
})

test('who comes again is the same person, and somebody else of that name is another', async () => {
  await (await signInAs('subject-1', '/sign-in')).page.getByRole('heading', { name: 'Hello, carol' }).waitFor()
  await (await signInAs('subject-2')).page.getByRole('heading', { name: 'Hello, carol 2' }).waitFor()
  expect(await people()).toEqual([
    { name: 'carol', email: 'carol@example.com' },
    { name: 'carol 2', email: null },
  ])
})

test('who is invited and signs in with a provider joins by the same link, whose secret no server has seen', async () => {
  const { body } = await berth.ask('mutation { createInvitation(input: {role: MEMBER}) { url } }', {
    token: await berth.token(),
  })
  const link = new URL((body.data as { createInvitation: { url: string } }).createInvitation.url)
  expect(link.hash).not.toBe('')
  const seen: string[] = []
  const { context, page } = await signInAs('subject-1', `${link.pathname}${link.hash}`)
  page.on('request', (request) => seen.push(request.url()))
  await page.getByRole('button', { name: 'Join' }).click()
  await page.getByRole('heading', { name: 'Home' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/o/acme')
  expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain(link.hash.slice(1))
  expect(seen.filter((url) => url.includes(link.hash.slice(1)))).toEqual([])
  await context.close()
})

/** Begins an attempt without a browser. */
async function begin(query = ''): Promise<{ url: URL; cookie: string }> {
  const answer = await fetch(`${origin()}/identity/oidc/example${query}`, { redirect: 'manual' })
  expect(answer.status).toBe(303)
  return {
    url: new URL(answer.headers.get('location') ?? ''),
    cookie: (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '',
  }
}
async function end(query: string, cookie: string): Promise<{ status: number; text: string; cookies: string | null }> {
  const answer = await fetch(`${origin()}/identity/oidc/callback?${query}`, { headers: { cookie }, redirect: 'manual' })
  return { status: answer.status, text: await answer.text(), cookies: answer.headers.get('set-cookie') }
}

test('an attempt has a state, a nonce and a challenge, and its cookie says none of them', async () => {
  const { url, cookie } = await begin()
  expect(url.origin).toBe(provider.issuer)
  for (const name of ['state', 'nonce', 'code_challenge']) {
    const value = url.searchParams.get(name) ?? ''
    expect(value.length, name).toBeGreaterThan(40)
    expect(Buffer.from(cookie.split('=')[1] ?? '', 'base64url').toString('latin1')).not.toContain(value)
  }
  expect(url.searchParams.get('code_challenge_method')).toBe('S256')
  expect((await begin()).url.searchParams.get('state')).not.toBe(url.searchParams.get('state'))
})

test.each([
  ['without the cookie of its attempt', async () => ['code=x&state=y', '']],
  [
    'with two attempts, of which one may be another’s',
    async () => {
      const [one, other] = [await begin(), await begin()]
      return [`code=x&state=${one.url.searchParams.get('state')}`, `${one.cookie}; ${other.cookie}`]
    },
  ],
  ['with a cookie that somebody made', async () => ['code=x&state=y', 'berth-oidc=bm90IG91cnM']],
  [
    'with another attempt’s state',
    async () => [`code=x&state=${(await begin()).url.searchParams.get('state')}`, (await begin()).cookie],
  ],
  [
    'with a code that the provider did not give',
    async () => {
      const { url, cookie } = await begin()
      return [`code=made-up&state=${url.searchParams.get('state')}&iss=${encodeURIComponent(provider.issuer)}`, cookie]
    },
  ],
  [
    'of a provider that refused',
    async () => {
      const { url, cookie } = await begin()
      return [
        `error=access_denied&state=${url.searchParams.get('state')}&iss=${encodeURIComponent(provider.issuer)}`,
        cookie,
      ]
    },
  ],
])('a callback %s signs nobody in', async (_what, make) => {
  const [query = '', cookie = ''] = await make()
  const { status, text, cookies } = await end(query, cookie)
  expect(status).toBe(403)
  expect(text).toContain('You are not signed in')
  expect(cookies ?? '').not.toMatch(/(?:^|, )berth=/)
  expect(text).not.toContain(provider.clientSecret)
})

test.each([
  '//evil.example',
  'https://evil.example/',
  '/\\evil.example',
  'javascript:alert(1)',
  '/"><script>',
  '/o/%zz',
  '/.//evil.example',
  '/x/..//evil.example',
])('a link to sign-in with to=%s leads nowhere else', async (to) => {
  const { page, context } = await (async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`${origin()}/identity/oidc/example?to=${encodeURIComponent(to)}`)
    await page.locator('input[name=login]').fill('subject-1')
    await page.locator('input[name=password]').fill('any')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    return { context, page }
  })()
  await page.waitForURL((url) => url.origin !== provider.issuer && !url.pathname.startsWith('/identity/'))
  expect(new URL(page.url()).origin).toBe(origin())
  await context.close()
})

test('a provider that is not there is said so, and settings that cannot be are refused at the start', async () => {
  const answer = await fetch(`${origin()}/identity/oidc/nobody`)
  expect([answer.status, await answer.text()]).toEqual([
    404,
    expect.stringContaining('There is no identity provider nobody'),
  ])
  for (const wrong of [
    [{ issuer: 'https://id.example.com' }],
    [{ issuer: 'https://id.example.com', client_id: 'a', client_secret: 'in the open' }],
    [{ issuer: 'https://id.example.com', client_id: 'a', name: 'No Name' }],
    [
      { issuer: 'https://id.example.com', client_id: 'a' },
      { issuer: 'https://other.example.com', client_id: 'a' },
    ],
  ])
    expect(() => readConfig({ BERTH_ISSUERS: JSON.stringify(wrong) }), JSON.stringify(wrong)).toThrow(ConfigError)
})
