/** A Berth whose console is open in a real browser, with whatever the browser complained about. */
import { mkdirSync } from 'node:fs'
import axe from 'axe-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { buildConsole } from '../../src/console/build.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { expect } from 'vitest'
import { launchChromium } from '../support/browser/chromium.ts'
import { openWay, type Way } from './cuttable.ts'

/** Where pictures go; none are made without it. */
const pictures = process.env['BERTH_TEST_PICTURES']
/** A browser says so of each answer that is an error; who is signed out asks once to know it. */
const expected = /status of 401/
const stepMs = 20_000
const shownCharacters = 4_000

/** The console in a browser. */
export type OpenPage = {
  browser: Browser
  context: BrowserContext
  page: Page
  origin: string
  /** The browser's way to Berth. */
  way: Way
  /** What a user of the console would never see: errors, refusals of the page's policy, requests to other hosts. */
  complaints: string[]
  picture: (name: string) => Promise<void>
  /** Prints what the page showed when a test has failed. */
  showFailure: (state: string | undefined) => Promise<void>
  close: () => Promise<void>
}

/** Opens the console of a Berth whose web process listens there, at sign-in. */
export async function openPage({ port, cacheDir }: { port: number; cacheDir: string }): Promise<OpenPage> {
  await buildConsole(cacheDir)
  const browser = await launchChromium()
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  page.setDefaultTimeout(stepMs) // shorter than a test, so that it says at which step it stands
  const way = await openWay(port)
  const origin = `http://localhost:${way.port}`
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' && !expected.test(message.text())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('request', (request) => {
    if (/^https?:/.test(request.url()) && new URL(request.url()).origin !== origin)
      complaints.push(`a request to ${request.url()}`)
  })
  await page.goto(origin)
  return {
    browser,
    context,
    page,
    origin,
    way,
    complaints,
    picture: (name) => takePicture(page, name),
    async showFailure(state) {
      if (state !== 'fail') return
      globalThis.console.log(page.url(), (await page.locator('body').innerText()).slice(0, shownCharacters))
    },
    async close() {
      await browser.close()
      way.close()
    },
  }
}

/** Keeps a picture of what a page shows now, where the setting says so. */
export async function takePicture(page: Page, name: string): Promise<void> {
  if (!pictures) return
  mkdirSync(pictures, { recursive: true })
  await page.screenshot({ path: `${pictures}/${name}.png` })
}

/** The console of a Berth without a worker. */
export type OpenConsole = OpenPage & { berth: Berth; stop: () => Promise<void> }

/** Opens it, at sign-in. @param of a Berth that runs, which ends with it; otherwise one of its own, as the others say */
export async function openConsole({
  of,
  worker = false,
  settings = {},
}: {
  of?: Berth
  worker?: boolean
  settings?: Record<string, string>
} = {}): Promise<OpenConsole> {
  const berth = of ?? (await startBerth({ worker, settings: { BERTH_RATE_LIMIT_FACTOR: '100', ...settings } }))
  const opened = await openPage({ port: berth.port, cacheDir: berth.services.config.cacheDir })
  return {
    ...opened,
    berth,
    async stop() {
      await opened.close()
      await berth.stop()
    },
  }
}

/** Signs in as somebody of an organization, which are made if they are new. */
export async function signIn(page: Page, user: string, organization = 'acme'): Promise<void> {
  await page.getByLabel('Your name').fill(user)
  await page.getByLabel('Organization').last().fill(organization)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** What a reader of screens could not use, in the words of axe. */
export async function violationsOf(page: Page): Promise<string[]> {
  // From outside the page's policy, which lets no script of others in.
  const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
    `${axe.source}; axe.run()`,
  )
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}

const looks = [
  ['light', 'light', 1280],
  ['dark', 'dark', 1280],
  ['narrow', 'light', 390],
] as const

/** Expects that everybody can use what a page shows now, in light, dark and narrow, and that nothing sticks out. */
export async function expectUsable({ page, picture }: OpenConsole, name: string): Promise<void> {
  for (const [look, colorScheme, width] of looks) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 800 })
    expect(await violationsOf(page), `${name}, ${look}`).toEqual([])
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    expect(overflow, `${name}, ${look}: nothing sticks out`).toBeLessThanOrEqual(0)
    await picture(`${name}-${look}`)
  }
}
