/** A browser that has the console open, and what is measured in its page. */
import type { Browser, Page } from 'playwright-core'
import type { World } from '../world.ts'

/** Signs in at this machine, and waits for the first page. */
export async function signedIn(world: World, browser: Browser, user = 'bench', organization = 'bench'): Promise<Page> {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage()
  await page.goto(addressOf(world))
  await page.getByLabel('Your name').fill(user)
  await page.getByLabel('Organization').fill(organization)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Home' }).waitFor()
  return page
}

/** Where a browser of this machine finds the console. */
export function addressOf(world: World): string {
  return world.url.replace('127.0.0.1', 'localhost')
}

/** Begins to note how long each frame of the page takes; `end` gives them. Unit: ms. */
export async function noteFrames(page: Page): Promise<{ end: () => Promise<number[]> }> {
  await page.evaluate(
    `globalThis.benchFrames = []; { let before = performance.now(); const frame = (now) => { if (!globalThis.benchFrames) return
      globalThis.benchFrames.push(now - before); before = now; requestAnimationFrame(frame) }; requestAnimationFrame(frame) }`,
  )
  return {
    end: () =>
      page.evaluate<number[]>('{ const noted = globalThis.benchFrames; globalThis.benchFrames = null; noted }'),
  }
}
