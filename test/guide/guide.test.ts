/** The documentation as pages: each document has one, links lead on, and what one types is found. */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkout, documentsOf } from '#src/guide/documents.ts'
import { addressOf } from '#src/guide/addresses.ts'
import { renderDocument } from '#src/guide/render.ts'
import { searchDocuments } from '#src/guide/search.ts'
import { anchorOf, sectionsOf } from '#src/guide/sections.ts'
import { startBerth, type Berth } from '../support/berth.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth()
})
afterAll(() => berth.stop())

const documents = documentsOf(checkout).filter((path) => path.endsWith('.md'))
const read = async (address: string): Promise<{ status: number; html: string; policy: string | null }> => {
  const answer = await fetch(`${berth.url}${address}`)
  return {
    status: answer.status,
    html: await answer.text(),
    policy: answer.headers.get('content-security-policy'),
  }
}

test('each document has a page of its own, and each link in it leads to a page, a heading or a file that is there', async () => {
  const pages = new Map<string, string>()
  for (const path of documents) {
    const { status, html } = await read(addressOf(path))
    expect([path, status]).toEqual([path, 200])
    pages.set(addressOf(path), html)
  }
  expect(pages.size).toBe(documents.length)
  const missing: string[] = []
  for (const [address, html] of pages)
    for (const [, link = ''] of html.matchAll(/ (?:href|src)="(\/[^"]*|#[^"]*)"/g)) {
      const [to = '', anchor] = link.split('#')
      const page = pages.get(to === '' ? address : to)
      if (page === undefined && (await fetch(`${berth.url}${to}`, { method: 'HEAD' })).status >= 400)
        missing.push(`${address}: ${link}`)
      if (page !== undefined && anchor && !page.includes(` id="${anchor}"`)) missing.push(`${address}: ${link}`)
    }
  expect(missing).toEqual([])
}, 60_000)

test('the list at the side has every page, in its part, and says which one is open', async () => {
  const { html } = await read('/guide/vms')
  const [side = ''] = html.split('</nav>')
  for (const path of documents) expect(side).toContain(`href="${addressOf(path)}"`)
  expect(side).toContain('<a href="/guide/vms" aria-current="page">VMs and sandboxes</a>')
  expect([...side.matchAll(/<b>([^<]+)<\/b>\n<ul>/g)].map(([, name]) => name)).toEqual([
    'Guide',
    'Reference',
    'Limits',
    'About',
  ])
})

test.each([
  ['connection string', 'databases'],
  ['cron', 'automation'],
  ['webhook signature', 'webhook'],
  ['custom domain', 'edge'],
  ['run code in a sandbox', 'vms'],
  ['idempotency', 'requests'],
  ['helth check', 'metrics'], // mistyped
])('who looks for "%s" finds it', async (query, part) => {
  expect((await searchDocuments(query, 5)).some(({ path }) => path.includes(part))).toBe(true)
  const { html } = await read(`/guide/search?q=${encodeURIComponent(query)}`)
  expect(html).toMatch(new RegExp(`<h2><a href="/guide/[^"]*#`))
})

test('what somebody types is shown as text, and finding nothing is said', async () => {
  const { status, html, policy } = await read(
    `/guide/search?q=${encodeURIComponent('"><script>alert(1)</script> zzqqxx')}`,
  )
  expect([status, html.includes('<script>alert(1)')]).toEqual([200, false])
  expect(policy).toContain("default-src 'none'")
  expect((await read('/guide/search?q=zzqqxxyy')).html).toContain('Nothing has these words.')
  expect((await read('/guide/search')).status).toBe(200)
  expect((await read(`/guide/search?q=${'x'.repeat(5_000)}`)).status).toBe(200)
  expect((await read('/guide/nothing')).status).toBe(404)
})

test('a document is text: its HTML is shown, and its links stay where they should', () => {
  const html = renderDocument(
    'docs/vms.md',
    '<b onclick=x>\n\n[in](reference/vms.md#vms) [up](../README.md) [run](javascript:alert(1)) [out](https://example.com)',
  )
  expect(html).toContain('&lt;b onclick=x&gt;')
  expect(html).toContain('href="/guide/reference/vms#vms"')
  expect(html).toContain('href="/guide/about/readme"')
  expect(html).toContain('href="https://example.com"')
  expect(html).not.toContain('href="javascript')
})

test('headings have the anchors that GitHub gives them, twice the same a number', () => {
  const seen = new Map<string, number>()
  expect(['A `b` c', 'What’s *new*?', 'A b c'].map((text) => anchorOf(text, seen))).toEqual([
    'a-b-c',
    'whats-new',
    'a-b-c-1',
  ])
  expect(
    sectionsOf('README.md', '# T\none\n```sh\n# no heading\n```\n## U\ntwo').map(({ heading, text }) => [
      heading,
      text,
    ]),
  ).toEqual([
    ['T', 'one\n```sh\n# no heading\n```\n'],
    ['U', 'two\n'],
  ])
})
