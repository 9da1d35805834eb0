/** The page at /docs: what the three descriptions say, to read, with no internet. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerSurfaces, surfaces } from '#rest-compat/surfaces.ts'
import { schema } from '#schema/schema.ts'
import { launchChromium } from '../support/browser/chromium.ts'
import { startApp, type RunningApp } from './running-app.ts'

type Document = {
  paths: Record<string, Record<string, { operationId: string; summary: string }>>
  components: { schemas: Record<string, unknown> }
}

let running: RunningApp
let browser: Browser
beforeAll(async () => {
  running = await startApp({ schema, surfaces: registerSurfaces })
  browser = await launchChromium()
})
afterAll(async () => {
  await browser.close()
  await running.stop()
})

test('has every operation and every object of the three descriptions, each link leads somewhere', async () => {
  const page = await (await fetch(`${running.url}/docs`)).text()
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1])
  expect(new Set(ids).size).toBe(ids.length)
  for (const { name, openapiPath } of surfaces) {
    const { paths, components } = (await (await fetch(running.url + openapiPath)).json()) as Document
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
    expect(ids).toEqual(expect.arrayContaining(operations.map(({ operationId }) => `${name}.${operationId}`)))
    expect(ids).toEqual(expect.arrayContaining(Object.keys(components.schemas).map((one) => `${name}.objects.${one}`)))
  }
  const links = [...page.matchAll(/ href="#([^"]+)"/g)].map((match) => match[1])
  expect(links.length).toBeGreaterThan(100)
  expect(links.filter((link) => !ids.includes(link))).toEqual([])
})

test('is found from the first page, and read by unfolding a path and following its objects', async () => {
  const page = await browser.newPage()
  const outside: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(running.url)) outside.push(request.url())
  })
  await page.goto(running.url)
  await page.getByRole('link', { name: '/docs' }).click()
  const operation = page.locator('details', { has: page.locator('[id="agents.createVault"]') })
  await operation.locator('summary').click()
  for (const [link, field] of [
    ['CreateVaultInput', 'display_name'],
    ['Vault', 'archived_at'],
  ] as const) {
    await operation.getByRole('link', { name: link, exact: true }).first().click()
    const folded = page.locator('details', { has: page.locator(`[id="agents.objects.${link}"]`) })
    await folded.getByText(field).waitFor() // unfolded by the link
  }
  expect(outside).toEqual([])
})
