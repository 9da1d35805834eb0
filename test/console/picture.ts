/** `npm run picture`: makes the README's picture of the console, on a whole Berth: an agent that asks before it uses a tool. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { launchChromium } from '../support/browser/chromium.ts'
import { startInstallation, type Installation } from '../support/installation.ts'
import { until } from '../support/until.ts'
import { signIn } from './console.ts'

const picture = fileURLToPath(new URL('../../docs/pictures/console.png', import.meta.url))
const waitMs = 180_000
const toolset = { type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }
const message = `How large are the logs?
!tool bash {"command": "du -h --max-depth=1 /var/log | sort -h | tail -4"}
!say Most of it is the journal. I can keep its last 8 MB.`
const berth = await startInstallation()
try {
  const browser = await launchChromium()
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 860 } })).newPage()
  page.setDefaultTimeout(waitMs)
  const address = berth.url.replace('127.0.0.1', 'localhost')
  await until('the console is built', () => isBuilt(address), waitMs)
  await page.goto(address)
  await signIn(page, 'alice')
  await page.getByRole('heading', { name: 'Home' }).waitFor()
  await page.goto(`${address}/o/acme/sessions/${await beginSession(berth)}`)
  await page.getByText('The agent asks you before it does this.').waitFor()
  await page.evaluate(() => scrollTo(0, 0))
  mkdirSync(dirname(picture), { recursive: true })
  await page.screenshot({ path: picture })
  await browser.close()
} finally {
  await berth.stop()
}

async function isBuilt(address: string): Promise<boolean> {
  const { headers } = await fetch(address, { headers: { accept: 'text/html' } })
  return headers.get('content-security-policy')?.includes('nonce') === true
}

async function beginSession({ call, token }: Installation): Promise<string> {
  const mine = await token()
  const make = async (path: string, fields: object): Promise<string> =>
    (await call<{ id: string }>(mine, 'POST', `/agents/v1/${path}`, fields)).body.id
  const agent = await make('agents', { name: 'caretaker', model: 'berth/demo', tools: [toolset] })
  const environment_id = await make('environments', { name: 'shop' })
  const content = [{ type: 'text', text: message }]
  return make('sessions', {
    agent,
    environment_id,
    title: 'Look after the shop’s logs',
    initial_events: [{ type: 'user.message', content }],
  })
}
