/** The walk of docs/edge.md, run as it is printed, on a whole `npm start` with a real VM, DNS server, ACME authority and browser. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startPebble, type Pebble } from './support/acme/pebble.ts'
import { launchChromium } from './support/browser/chromium.ts'
import { startDnsServer, type DnsServer } from './support/dns/knot.ts'
import { startInstallation, type Installation } from './support/installation.ts'
import { paste, shellBlocks } from './support/paste.ts'
import { freePort } from './support/ports.ts'

const limitMs = 400_000
const page = 'docs/edge.md'
/** As docs/edge.md calls it: the zone is served by the test's own name server. */
const shop = 'shop.example.com'
let dns: DnsServer
let pebble: Pebble
let berth: Installation
let httpsPort: number
let token: string
let folder: string
let browser: Browser | undefined
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-walk-'))
  const httpPort = await freePort()
  httpsPort = await freePort()
  dns = await startDnsServer(['example.com'])
  pebble = await startPebble({ httpPort, tlsPort: httpsPort, dnsPort: dns.port })
  berth = await startInstallation({
    BERTH_HTTP_PORT: String(httpPort),
    BERTH_HTTPS_PORT: String(httpsPort),
    BERTH_DNS_SERVERS: dns.address,
    BERTH_ACME_DIRECTORY: pebble.directory,
    BERTH_ACME_CA_FILE: pebble.caFile,
    BERTH_VM_POOL: '0',
  })
  token = await berth.token()
}, limitMs)
afterAll(async () => {
  await browser?.close()
  await berth?.stop()
  await pebble?.stop()
  await dns?.stop()
  rmSync(folder, { recursive: true, force: true })
}, limitMs)

/** What the page printed: what is after `echo` in the last block are its variables. */
let vm: string
let url: string
let preview: string
const run = (blocks: readonly string[], env: Record<string, string> = {}): Promise<string[]> =>
  paste(blocks, { url: berth.url, folder, env: { TOKEN: token, ...env } })

/** Opens a page whose certificate the browser must find right. */
async function open(address: string): Promise<Page> {
  const opened = await (await browser!.newContext()).newPage() // it was started
  await opened.goto(address)
  return opened
}
const protocolOf = (opened: Page): Promise<string> =>
  opened.evaluate(() => (performance.getEntriesByType('navigation')[0] as PerformanceNavigationTiming).nextHopProtocol) // of a page there is one

test(
  'a web server in a VM is reached under a generated name, and by who has the link of a preview',
  async () => {
    const blocks = ['Proxies', 'Previews'].flatMap((heading) => shellBlocks(page, heading))
    const printed = await run([...blocks, 'echo $VM; echo $URL; echo $PREVIEW\n'])
    const said = (part: string): string => printed[blocks.findIndex((block) => block.includes(part))] ?? ''
    ;[vm = '', url = '', preview = ''] = printed.at(-1)?.trim().split('\n') ?? []
    expect(url).toMatch(new RegExp(`^https://web-${vm.slice(-8)}\\.berth\\.localhost:${httpsPort}/$`))
    expect(said('URL=$(')).toContain('Hello')
    expect(JSON.parse(said('/proxies/vm/$VM'))).toMatchObject({
      services: [{ service_name: 'web', external_url: url }],
    })
    expect(said('curl -skL -c')).toContain('Hello')
    expect(said('x-berth-preview-token')).toContain('Hello')
  },
  limitMs,
)

test(
  'a domain is proved by its DNS, linked, and has a certificate of the ACME authority',
  async () => {
    const blocks = shellBlocks(page, 'Custom domains')
    const [claimed = ''] = await run(blocks.slice(0, 1))
    const claim = JSON.parse(claimed) as Record<'a_record_ip' | 'txt_record_name' | 'txt_record_value', string>
    await dns.set(shop, 'A', claim.a_record_ip) // the table behind the first block
    await dns.set(claim.txt_record_name, 'TXT', `"${claim.txt_record_value}"`)
    const [checked = '', activated = '', linked = '', , certificates = ''] = await run(
      [...blocks.slice(1), ...shellBlocks(page, 'Certificates')],
      { VM: vm },
    )
    expect(JSON.parse(checked)).toMatchObject({
      data: { checkDomain: { domain: { status: 'VERIFIED', records: [{ isRight: true }, { isRight: true }] } } },
    })
    const shown = { verification_status: 'active', external_url: `https://${shop}:${httpsPort}/` }
    expect(JSON.parse(activated)).toMatchObject(shown)
    expect(JSON.parse(linked)).toMatchObject(shown)
    expect(JSON.parse(certificates)).toMatchObject({
      data: { domains: { nodes: [{ name: shop, certificate: { status: 'ISSUED', reason: null } }] } },
    })
  },
  limitMs,
)

test(
  'a browser that trusts the ACME authority, and no other, opens the domain by HTTP/2',
  async () => {
    browser = await launchChromium({ authorities: [await pebble.root()], names: { [shop]: '127.0.0.1' } })
    const opened = await open(`https://${shop}:${httpsPort}/`)
    expect(await opened.textContent('body')).toContain('Hello')
    expect(await protocolOf(opened)).toBe('h2')
    await expect(open(url)).rejects.toThrow('ERR_CERT_AUTHORITY_INVALID')
    await browser.close()
  },
  limitMs,
)

test(
  'a browser that trusts the node’s authority opens the generated name, and a preview once it has the cookie of its link',
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['src/edge/ca.ts'], {
      env: { ...process.env, BERTH_DATA_DIR: berth.dataDir },
    })
    browser = await launchChromium({ authorities: [await pebble.root(), stdout], names: { [shop]: '127.0.0.1' } })
    const opened = await open(url)
    expect(await opened.textContent('body')).toContain('Hello')
    expect(await protocolOf(opened)).toBe('h2')

    const [address = '', tokenOfPreview = ''] = preview.split('?berth_token=')
    const viewed = await open(preview)
    expect(await viewed.textContent('body')).toContain('Hello')
    expect(viewed.url()).toBe(address)
    const [cookie] = await viewed.context().cookies()
    expect(cookie).toMatchObject({ name: expect.stringMatching(/^__Host-/), httpOnly: true, secure: true })
    expect(cookie?.value).not.toContain(tokenOfPreview)
    expect((await viewed.goto(address))?.status()).toBe(200)
    expect((await (await open(url)).goto(address))?.status()).toBe(401) // of another context
  },
  limitMs,
)
