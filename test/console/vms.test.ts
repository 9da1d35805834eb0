/** The page of a VM in a real browser, whose guest is this host: its usage, its ports, its size, and what a viewer is told. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startHostGuest, type HostGuest } from '../support/guests/host-guest.ts'
import { makeVmRow } from '../support/makers.ts'
import { expectUsable, openConsole, signIn, type OpenConsole } from './console.ts'

const limitMs = 120_000
let console: OpenConsole
let guest: HostGuest
let token: string
beforeAll(async () => {
  console = await openConsole()
  guest = await startHostGuest(console.berth)
  token = await console.berth.token('alice')
  await signIn(console.page, 'alice')
  await console.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor()
}, limitMs)
afterAll(async () => {
  await guest?.stop()
  await console?.stop()
})

async function open(status: string, tab = 'overview'): Promise<void> {
  const vm = await makeVmRow(console.berth.services.db, token, guest.nodeId, { status })
  await console.page.goto(`${console.origin}/o/acme/vms/${vm}?tab=${tab}`)
  await console.page.getByRole('heading', { name: 'made', level: 1 }).waitFor()
}

test(
  'usage is shown live as lines and as a table, for everybody',
  async () => {
    const { page } = console
    await open('running', 'usage')
    await page.getByRole('img', { name: /^Processor: [\d.]+ %; from / }).waitFor()
    await page.getByRole('img', { name: /^Memory: [\d.]+ GB of [\d.]+ GB/ }).waitFor()
    await page.getByText('As a table').click()
    const rows = page.getByRole('region', { name: 'What it used' }).getByRole('row')
    await rows.nth(2).waitFor() // the head, and two readings
    await expectUsable(console, 'usage')
  },
  limitMs,
)

test(
  'ports are listed with a link to what previews reach',
  async () => {
    const { page } = console
    const servers = ['127.0.0.1', '127.0.0.2'].map((host) => createServer().listen(0, host))
    await Promise.all(servers.map((server) => once(server, 'listening')))
    const [near, far] = servers.map((server) => (server.address() as AddressInfo).port)
    await open('running', 'ports')
    const link = page.getByRole('link', { name: `Open port ${near}`, exact: true })
    expect(await link.getAttribute('href')).toContain('berth_token=')
    await page.getByRole('row', { name: new RegExp(`^${far} .*not at 127\\.0\\.0\\.1`) }).waitFor()
    await expectUsable(console, 'ports')
    for (const server of servers) server.close()
  },
  limitMs,
)

test(
  'a stopped VM says so in each tab, and gets another size',
  async () => {
    const { page } = console
    await open('stopped')
    await page.getByRole('button', { name: 'Change the size' }).click()
    await page.getByLabel('Memory, MB').fill('1024')
    await page.getByText('As code').click()
    await page.getByText('"memoryMb": 1024').waitFor()
    await expectUsable(console, 'size')
    await page.getByRole('button', { name: 'Change the size' }).last().click()
    await page.getByText('2 vCPU, 1 GB memory, 10 GB disk').waitFor()
    for (const [tab, words] of [
      ['Usage', 'start it to see what it uses'],
      ['Ports', 'start it to see what listens in it'],
    ] as const) {
      await page.getByRole('navigation', { name: 'Parts' }).getByRole('link', { name: tab }).click()
      await page.getByText(words).waitFor()
    }
    await open('running')
    await page.getByText('Stop it to change this.').waitFor()
  },
  limitMs,
)

test(
  'the files of a VM can be uploaded to and are usable, and a file larger than the disk is refused with its bytes',
  async () => {
    const { page } = console
    await open('running', 'files')
    const input = page.getByLabel('Upload files to this folder')
    await input.waitFor()
    await page.getByText('each of up to 10,737,418,240 bytes').waitFor()
    await expectUsable(console, 'files')
    await input.evaluate((element: HTMLInputElement) => {
      const large = new File(['x'], 'large')
      Object.defineProperty(large, 'size', { value: 11 * 1024 ** 3 })
      Object.defineProperty(element, 'files', { value: [large], configurable: true })
      element.dispatchEvent(new Event('change', { bubbles: true }))
    })
    await page.getByRole('alert').getByText('large has 11,811,160,064 bytes, more than the disk.').waitFor()
  },
  limitMs,
)

test(
  'a viewer is told who may look inside',
  async () => {
    const viewer = await console.berth.token('vera', 'acme', 'viewer')
    expect(viewer).not.toBe(token)
    const context = await console.browser.newContext()
    const page = await context.newPage()
    await page.goto(console.origin)
    await signIn(page, 'vera')
    await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor()
    const vm = await makeVmRow(console.berth.services.db, token, guest.nodeId)
    for (const tab of ['usage', 'ports']) {
      await page.goto(`${console.origin}/o/acme/vms/${vm}?tab=${tab}`)
      await page.locator('.note', { hasText: 'Your role is viewer: ask a member to do this.' }).waitFor()
    }
    await context.close()
    expect(console.complaints).toEqual([])
  },
  limitMs,
)
