/** The console while what is behind it fails: a web process that is killed, a Postgres that is away, tabs that wait, an upgrade. */
import { appendFileSync, cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { issueToken } from '#src/identity/issuer.ts'
import { readConfig } from '#src/platform/config.ts'
import { encodeId } from '#src/platform/ids.ts'
import { openServices, type Services } from '#src/platform/services.ts'
import { startCommand, type Command } from '../support/command.ts'
import { freePort } from '../support/ports.ts'
import { createDatabase, startTestPostgres, type TestDatabase, type TestPostgres } from '../support/postgres.ts'
import { append, makeSessionRow } from '../support/sessions.ts'
import { openPage, signIn, type OpenPage } from './console.ts'
import { handsOn } from './hands.ts'

const tabCount = 10
const checkout = fileURLToPath(new URL('../..', import.meta.url))

let folder: string
let postgres: TestPostgres
let database: TestDatabase
let services: Services
let token: string
let webs: { port: number; process: Command }[]
let console: OpenPage
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-bad-days-'))
  postgres = await startTestPostgres()
  database = await createDatabase(postgres)
  webs = [await startWeb(), await startWeb()]
  const config = readConfig(settings(String(webs[0]?.port)))
  services = await openServices(config, database.url, 'web')
  const person = {
    user: 'alice',
    organization: 'acme',
    role: 'owner',
    ttlSeconds: 3_600,
    newNames: { make: true },
  } as const
  ;({ token } = await issueToken(services, person))
  console = await openPage({ port: webs[0]!.port, cacheDir: config.cacheDir }) // two were started
  await signIn(console.page, 'alice')
  await console.page.getByRole('heading', { name: 'Home' }).waitFor()
}, 120_000)
afterEach(({ task }) => console.showFailure(task.result?.state))
afterAll(async () => {
  await console.close()
  await services.database.close()
  for (const { process } of webs) process.child.kill('SIGKILL')
  await database.drop()
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}, 60_000)

const settings = (port: string): Record<string, string> => ({
  PORT: port,
  BERTH_PUBLIC_URL: 'http://localhost:4000', // the same for both, as the issuer of tokens
  DATABASE_URL: database.url,
  BERTH_DATA_DIR: folder,
  BERTH_CACHE_DIR: join(folder, 'cache'),
  BERTH_RATE_LIMIT_FACTOR: '1000',
})
async function startWeb(): Promise<{ port: number; process: Command }> {
  const port = await freePort()
  const metrics = { BERTH_METRICS_PORT: String(await freePort()) }
  const process = startCommand(['src/gateway/main.ts'], { ...settings(String(port)), ...metrics })
  await process.line(/the web process listens/)
  return { port, process }
}
/** By the second web process, which nobody kills. */
async function makeVault(name: string): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${webs[1]!.port}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({
      query: 'mutation($name: String!) { createVault(input: {displayName: $name}) { vault { id } } }',
      variables: { name },
    }),
  })
  expect(await answer.json()).toMatchObject({ data: { createVault: { vault: { id: expect.any(String) } } } })
}
const { go } = handsOn(() => console)
const vault = (name: string, page: Page = console.page) => page.getByRole('cell', { name, exact: true })

test('a web process that is killed in the middle of streams costs no event, repeats none, and ends no session', async () => {
  const { page, origin, way } = console
  const stored = await makeSessionRow(services.db, token)
  const say = (text: string) =>
    append(services.db, stored, { type: 'user.message', data: { content: [{ type: 'text', text }] } })
  await say('before it is killed')
  await page.goto(`${origin}/o/acme/sessions/${encodeId('session', stored)}`)
  await page.getByText('before it is killed', { exact: true }).waitFor()
  webs[0]!.process.child.kill('SIGKILL')
  await webs[0]!.process.ended
  await say('while nobody serves')
  way.leadTo(webs[1]!.port)
  await page.getByText('while nobody serves', { exact: true }).waitFor({ timeout: 60_000 })
  await say('after it was killed')
  await page.getByText('after it was killed', { exact: true }).waitFor()
  expect(await page.locator('.transcript article pre').allTextContents()).toEqual([
    'before it is killed',
    'while nobody serves',
    'after it was killed',
  ])
  await go('Vaults')
  await page.getByRole('heading', { name: 'Vaults', level: 1 }).waitFor()
  await makeVault('after the kill')
  await vault('after the kill').waitFor({ timeout: 60_000 })
}, 180_000)

test('while Postgres is away what was read stays, what is asked says so, and it goes on by itself', async () => {
  const { page } = console
  await postgres.killPostgres()
  await postgres.backendsGone()
  await go('Databases')
  await page.getByRole('alert').first().waitFor({ timeout: 60_000 })
  const said = await page.getByRole('alert').first().innerText()
  expect(said).toMatch(/again|moment|available/)
  expect(said).not.toMatch(/ECONN|postgres|Internal/i)
  await go('Vaults')
  expect(await vault('after the kill').isVisible()).toBe(true)
  await postgres.restartPostgres()
  await go('Databases')
  const again = page.getByRole('button', { name: 'Try again' })
  if (await again.isVisible()) await again.click()
  await page.getByRole('button', { name: 'New database' }).first().waitFor()
  await go('Vaults')
  await makeVault('after the outage')
  await vault('after the outage').waitFor({ timeout: 60_000 })
}, 180_000)

test('ten tabs have one socket, and each shows what is made', async () => {
  const { context, origin, way } = console
  const before = way.sockets()
  const tabs = await Promise.all(
    Array.from({ length: tabCount - 1 }, async () => {
      const tab = await context.newPage()
      await tab.goto(`${origin}/o/acme/vaults`)
      await vault('after the outage', tab).waitFor({ timeout: 60_000 })
      return tab
    }),
  )
  await makeVault('for ten tabs')
  for (const tab of tabs) await vault('for ten tabs', tab).waitFor({ timeout: 60_000 })
  expect(way.sockets()).toBe(before)
  for (const tab of tabs) await tab.close()
}, 120_000)

test('a tab that nobody looks at for an hour follows nothing, and shows everything once somebody does', async () => {
  const { context, origin } = console
  const tab = await context.newPage()
  await tab.clock.install()
  await tab.goto(`${origin}/o/acme/vaults`)
  await vault('for ten tabs', tab).waitFor()
  const look = (isHidden: boolean) =>
    tab.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden })
      document.dispatchEvent(new Event('visibilitychange'))
    }, isHidden)
  await look(true)
  await tab.clock.fastForward('00:01:30')
  await tab.clock.fastForward('01:00:00')
  await makeVault('while hidden')
  await console.page.bringToFront()
  await vault('while hidden').waitFor() // the tab that is seen has it
  expect(await vault('while hidden', tab).count()).toBe(0)
  await look(false)
  await vault('while hidden', tab).waitFor({ timeout: 60_000 })
  expect(await tab.getByText('Connection lost').count()).toBe(0)
  await tab.close()
}, 120_000)

test('after two upgrades a tab of the first still opens pages that it had not loaded', async () => {
  const { context, origin } = console
  const tab = await context.newPage()
  await tab.goto(`${origin}/o/acme`)
  await tab.getByRole('heading', { name: 'Home' }).waitFor()
  const builds = (): string[] => readdirSync(join(folder, 'cache', 'console')).filter((name) => !name.startsWith('.'))
  expect(builds()).toHaveLength(1)
  for (const version of ['second', 'third']) {
    const copy = join(folder, version)
    for (const part of ['src', 'console', 'package.json', 'package-lock.json', 'tsconfig.json'])
      cpSync(join(checkout, part), join(copy, part), { recursive: true })
    symlinkSync(join(checkout, 'node_modules'), join(copy, 'node_modules'))
    appendFileSync(join(copy, 'console/app/app.css'), `\n.${version} {\n  color: var(--ink);\n}\n`)
    const built = startCommand([join(copy, 'src/console/build.ts')], settings('1'))
    expect([await built.ended, built.lines.slice(0, -1)]).toEqual([0, []])
  }
  expect(builds()).toHaveLength(3)
  for (const place of ['Usage', 'Audit', 'Members']) {
    await go(place, tab)
    await tab.getByRole('heading', { name: place, level: 1 }).waitFor()
  }
  await tab.close()
}, 180_000)
