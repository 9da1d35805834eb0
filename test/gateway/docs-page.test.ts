/** The page at /docs: what the three descriptions say, to read, with no internet. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerSurfaces, surfaces } from '#rest-compat/surfaces.ts'
import { schema } from '#schema/schema.ts'
import { launchChromium } from '../support/browser/chromium.ts'
import { problemsOf, type Schema } from '../contract/json-schema.ts'
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
  await page.goto(running.url) // the console where it is built, otherwise the list of addresses
  await page.getByRole('link', { name: /^(?:\/docs|REST)$/ }).click()
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

test.each([
  [1400, 900],
  [1024, 768],
  [390, 844],
])('at %i by %i nothing stands over the edge or over what is beside it, folded or not', async (width, height) => {
  const page = await browser.newPage({ viewport: { width, height } })
  await page.goto(`${running.url}/docs`)
  const wide = async (): Promise<unknown> =>
    page.evaluate(`(() => {
      const edge = document.documentElement.clientWidth
      const over = [...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > edge + 1)
      const crossed = [...document.querySelectorAll('summary')].filter((one) => {
        const parts = [...one.children].map((part) => part.getBoundingClientRect())
        return parts.some((a, at) => parts.slice(at + 1).some((b) => a.right > b.left + 1 && a.left < b.right - 1 && a.bottom > b.top + 1 && a.top < b.bottom - 1))
      })
      return [document.documentElement.scrollWidth > edge, over.length, crossed.map((one) => one.textContent)]
    })()`)
  expect(await wide()).toEqual([false, 0, []])
  await page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`)
  expect(await wide()).toEqual([false, 0, []])
  await page.close()
})

test('its search finds a path by words of what it does, and a link to an object ends it', async () => {
  const page = await browser.newPage()
  const problems: string[] = []
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
  await page.goto(`${running.url}/docs`)
  const all = await page.locator('details:visible').count()
  await page.keyboard.press('/')
  await page.keyboard.type('Create VAULT')
  await page.locator('details:visible', { hasText: '/agents/v1/vaults' }).first().waitFor()
  const found = await page.locator('details:visible').count()
  expect([found > 0, found < all / 10]).toEqual([true, true])
  await page.getByRole('searchbox').fill('nothing has these words')
  await page.getByText('Nothing has all of these words.').waitFor()
  await page.getByRole('searchbox').fill('createvault ')
  await page
    .locator('details:visible', { has: page.locator('[id="agents.createVault"]') })
    .locator('summary')
    .click()
  await page.getByRole('link', { name: 'CreateVaultInput', exact: true }).first().click()
  await page
    .locator('details', { has: page.locator('[id="agents.objects.CreateVaultInput"]') })
    .getByText('display_name')
    .waitFor()
  expect([await page.locator('details:visible').count(), problems]).toEqual([all, []])
  await page.close()
})

test('has an example of a body for each operation that takes JSON, which fits its schema', async () => {
  type Body = { schema: Schema; example?: unknown }
  type Operation = { operationId: string; requestBody?: { content: Record<string, Body> } }
  const page = await (await fetch(`${running.url}/docs`)).text()
  let examples = 0
  for (const { openapiPath } of surfaces) {
    const document = (await (await fetch(running.url + openapiPath)).json()) as Schema & {
      paths: Record<string, Record<string, Operation>>
    }
    for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods))) {
      const body = operation.requestBody?.content['application/json']
      if (!body) continue
      expect([operation.operationId, body.example]).toEqual([operation.operationId, expect.anything()])
      const problems = problemsOf(body.example, body.schema, document, { closed: true })
      expect([operation.operationId, problems]).toEqual([operation.operationId, []])
      examples++
    }
  }
  expect(examples).toBeGreaterThan(60)
  expect([...page.matchAll(/<pre>/g)]).toHaveLength(examples)
})
