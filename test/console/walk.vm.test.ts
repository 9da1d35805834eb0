/** Somebody’s first five minutes in the console alone, on a whole `npm start`: a sandbox, a VM, a database, an agent that asks. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchChromium } from '../support/browser/chromium.ts'
import { startInstallation, type Installation } from '../support/installation.ts'
import { until } from '../support/until.ts'
import { signIn, takePicture } from './console.ts'
import { handsOn } from './hands.ts'

const limitMs = 240_000
/** What a program prints on a terminal at once. */
const printedBytes = 10_000_000
let berth: Installation
let browser: Browser
let page: Page
const complaints: string[] = []
beforeAll(async () => {
  berth = await startInstallation()
  browser = await launchChromium()
  page = await (await browser.newContext()).newPage()
  page.setDefaultTimeout(60_000)
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (/Content Security Policy|Trusted/.test(message.text())) complaints.push(message.text())
  })
  await until(
    'the console is built, by npm start itself',
    async () =>
      (await fetch(address(), { headers: { accept: 'text/html' } })).headers
        .get('content-security-policy')
        ?.includes('nonce') === true,
    120_000,
  )
  await page.goto(address())
}, 400_000)
afterAll(async () => {
  expect(complaints).toEqual([])
  await browser?.close()
  await berth?.stop()
}, 60_000)

const address = (): string => berth.url.replace('127.0.0.1', 'localhost')
const { go, button } = handsOn(() => ({ page, origin: address() }))
const picture = (name: string) => takePicture(page, `walk-${name}`)

test(
  'code runs in a sandbox from the first page',
  async () => {
    await picture('sign-in')
    await signIn(page, 'alice')
    await page.getByLabel('Python').fill('print(6 * 7)')
    await button('Run in a sandbox').click()
    await page.getByText('exit code 0').waitFor({ timeout: 120_000 })
    await page.getByText('42', { exact: true }).waitFor()
    await picture('sandbox')
  },
  limitMs,
)

test(
  'a VM is made, shows how it starts, runs a command, is paused and resumed, and deleted',
  async () => {
    await go('VMs')
    await button('New VM').first().click()
    await page.getByLabel('Name', { exact: true }).fill('first')
    await picture('vm-form')
    await button('Create').click()
    await page.getByRole('heading', { name: 'first' }).waitFor()
    await picture('vm-starts')
    await page.locator('.head .state', { hasText: 'running' }).waitFor({ timeout: 120_000 })
    await page.getByRole('link', { name: 'Commands' }).click()
    await page.getByLabel('Command').fill('echo here > /home/user/note && hostname')
    await button('Run').click()
    await page.getByText('exit code 0').waitFor()
    await page.getByRole('link', { name: 'Terminal' }).click()
    await button('Open a terminal').click()
    await page.getByText('Attached.').waitFor()
    await page.keyboard.type('echo $((6*7))-in-a-terminal\n')
    await page.getByText('42-in-a-terminal').first().waitFor()
    await picture('vm-terminal')
    await printMuch()
    await page.getByRole('navigation', { name: 'Parts' }).getByRole('link', { name: 'Files' }).click()
    await page.getByRole('cell', { name: 'note', exact: true }).waitFor()
    await passFiles()
    await picture('vm-files')
    await page.getByRole('navigation', { name: 'Parts' }).getByRole('link', { name: 'Usage' }).click()
    await page.getByRole('img', { name: /^Memory: .* of 1\.\d GB/ }).waitFor()
    await picture('vm-usage')
    await button('Pause').click()
    await page.locator('.head .state', { hasText: 'paused' }).waitFor()
    await page.getByText('start it to see what it uses').waitFor()
    await button('Resume').click()
    await page.locator('.head .state', { hasText: 'running' }).waitFor()
    await page.getByRole('img', { name: /^Processor: / }).waitFor()
    await button('Delete').click()
    await button('Delete the VM').click()
    await page.getByRole('heading', { name: 'VMs', level: 1 }).waitFor()
    await page.getByRole('cell', { name: 'first', exact: true }).waitFor({ state: 'detached' })
  },
  limitMs,
)

/** A program that prints for ever is ended by a key, and what another prints at once passes; the page answers all the while. */
async function printMuch(): Promise<void> {
  const screen = page.locator('.xterm-rows')
  await page.keyboard.type('yes and-on\n')
  await screen.getByText('and-on').first().waitFor()
  await page.getByRole('navigation', { name: 'Parts' }).getByRole('link', { name: 'Overview' }).focus() // the page answers
  await page.getByRole('textbox', { name: 'Terminal input' }).focus()
  await page.keyboard.press('Control+c')
  await page.keyboard.type('clear; echo $((40+2))-after-yes\n')
  await screen.getByText('42-after-yes', { exact: true }).waitFor()
  await page.keyboard.type(`head -c ${printedBytes} /dev/zero | tr '\\0' x; echo; echo $((40+2))-after-all\n`)
  await screen.getByText('42-after-all', { exact: true }).waitFor({ timeout: 120_000 })
  await picture('vm-printed')
}

/** Uploads files to the folder that is shown, one of them in two parts, and downloads that one again, unchanged. */
async function passFiles(): Promise<void> {
  const large = randomBytes(33 * 1024 * 1024)
  const small = { name: 'note', mimeType: 'text/plain', buffer: Buffer.from('another\n') }
  const choose = page.getByLabel('Upload files to this folder')
  await choose.setInputFiles([{ name: 'large.bin', mimeType: 'application/octet-stream', buffer: large }, small])
  await page.getByRole('dialog', { name: 'Replace note?' }).getByRole('button', { name: 'Replace' }).click()
  const uploads = page.getByRole('region', { name: 'Uploads' })
  await uploads.getByText('uploaded').nth(1).waitFor({ timeout: 180_000 })
  const saving = page.waitForEvent('download')
  await button('Download large.bin').click()
  const saved = await (await saving).path()
  expect(readFileSync(saved).equals(large)).toBe(true)
  await page.getByRole('link', { name: 'Commands' }).click()
  await page.getByLabel('Command').fill('cat /home/user/note; stat -c %s /home/user/large.bin')
  await button('Run').click()
  await page.getByText(`another\n${large.length}`).waitFor()
}

test(
  'a database is made, its address shown once, and SQL is run in it, also what it refuses',
  async () => {
    await go('Databases')
    await button('New database').first().click()
    await page.getByLabel('Name', { exact: true }).fill('shop')
    await button('Create').click()
    await page.getByText(/postgresql:\/\//).waitFor({ timeout: 120_000 })
    await picture('database-address')
    await button('I have it').click()
    await page.getByRole('link', { name: 'shop' }).click()
    await page.locator('.head .state', { hasText: 'active' }).waitFor({ timeout: 120_000 })
    await page.getByLabel('SQL').fill("select 6 * 7 as answer, '<b>' as text, null as nothing")
    await button('Run').click()
    await page.getByRole('cell', { name: '42', exact: true }).waitFor({ timeout: 60_000 })
    await page.getByRole('cell', { name: '<b>', exact: true }).waitFor()
    await picture('database-sql')
    await page.getByLabel('SQL').fill('create table notes (id int)')
    await button('Run').click()
    await page.getByRole('alert').getByText('read-only transaction').waitFor()
    await page.getByLabel('Change nothing').uncheck()
    await button('Run').click()
    await page.getByText('CREATE').waitFor()
    await page.getByRole('link', { name: 'Tables' }).click()
    await page.getByText('public.notes').click()
    await page.getByRole('cell', { name: 'integer' }).waitFor()
  },
  limitMs,
)

test(
  'an agent works in a session, asks before it uses a tool, and goes on when it is allowed',
  async () => {
    const token = await berth.token()
    const { body } = await berth.call<{ id: string }>(token, 'POST', '/agents/v1/agents', {
      name: 'careful',
      model: 'berth/demo',
      tools: [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }],
    })
    await go('Environments')
    await button('New environment').first().click()
    await page.getByLabel('Name', { exact: true }).fill('room')
    await button('Create').click()
    await page.getByRole('heading', { name: 'room', level: 1 }).waitFor()
    await page.goto(`${address()}/o/acme/agents/${body.id}`)
    await button('New session').click()
    await page
      .getByLabel('What shall it do?')
      .fill('Look.\n!tool bash {"command": "echo from the room"}\n!say Done looking.')
    await page.getByLabel('Environment', { exact: true }).fill('room')
    await page.getByRole('option', { name: 'room', exact: true }).click()
    await button('Begin').click()
    await page.getByText('The agent asks you before it does this.').waitFor({ timeout: 60_000 })
    await picture('session-asks')
    await go('Home')
    await page.getByRole('heading', { name: 'Waits for you' }).waitFor()
    await picture('home-waits')
    await page.locator('section', { hasText: 'Waits for you' }).getByRole('link').first().click()
    await button('Allow').click()
    await page.getByText('from the room', { exact: true }).waitFor({ timeout: 120_000 })
    await page.getByText('Done looking.', { exact: true }).waitFor({ timeout: 60_000 })
    await page.getByLabel('Your message').fill('!say And again.')
    await button('Send').click()
    await page.getByText('And again.', { exact: true }).waitFor()
    await picture('session-done')
  },
  limitMs,
)
