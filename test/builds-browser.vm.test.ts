/** A build's log in a real browser: EventSource follows it over the death of the web process, without a gap or a repeat. */
import { decodeJwt } from 'jose'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchChromium } from './support/browser/chromium.ts'
import { startInstallation, type Installation } from './support/installation.ts'
import { until } from './support/until.ts'

const linesPrinted = 60
let berth: Installation
let browser: Browser
let token: string

beforeAll(async () => {
  berth = await startInstallation()
  token = await berth.token()
  browser = await launchChromium()
}, 300_000)

afterAll(async () => {
  await browser?.close()
  await berth?.stop()
}, 60_000)

test('a page that follows a build sees every line once, although the web process is killed in the middle', async () => {
  const spec = [
    ...Buffer.from(
      JSON.stringify({ commands: [`for i in $(seq 1 ${linesPrinted}); do echo line $i; sleep 0.2; done`] }),
    ),
  ]
  const made = await fetch(`${berth.url}/api/v1/build/jobs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ org_id: String(decodeJwt(token)['org_id']), spec }),
  })
  expect(made.status).toBe(201)
  const { id } = (await made.json()) as { id: string }
  const page = await browser.newPage()
  await page.goto(`${berth.url}/healthz`) // any page of this origin
  await page.evaluate(
    ({ path }) => {
      const seen: { id: string; output: string; done: boolean }[] = []
      Object.assign(globalThis, { seen })
      const source = new EventSource(path)
      source.onmessage = ({ data }) => {
        const entry = JSON.parse(String(data)) as { id: string; output: string; done: boolean }
        seen.push(entry)
        if (entry.done) source.close()
      }
    },
    { path: `/api/v1/build/jobs/${id}/logs/stream?from=0&token=${token}` },
  )
  const seen = () =>
    page.evaluate(() => (globalThis as unknown as { seen: { id: string; output: string; done: boolean }[] }).seen) // put there above
  const numbers = async () =>
    [
      ...(await seen())
        .map((entry) => entry.output)
        .join('')
        .matchAll(/^line (\d+)$/gm),
    ].map((match) => Number(match[1]))

  await until('the page shows lines', async () => (await numbers()).length >= 5, 60_000)
  expect(berth.kill('web')).toBe(true)
  await until('the page has seen the end', async () => (await seen()).at(-1)?.done === true, 90_000)
  expect(await numbers()).toEqual(Array.from({ length: linesPrinted }, (_, index) => index + 1))
  const ids = (await seen()).map((entry) => entry.id)
  expect(new Set(ids).size).toBe(ids.length)
}, 180_000)
