/** The walk of docs/edge.md, run as it is printed, on a whole `npm start` with a real VM, DNS server, ACME authority and browser. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { knownAcceleration } from '#src/drivers/compute/qemu/acceleration.ts'
import { readConfig } from '#src/platform/config.ts'
import { startPebble, type Pebble } from './support/acme/pebble.ts'
import { launchChromium } from './support/browser/chromium.ts'
import { startDnsServer, type DnsServer } from './support/dns/knot.ts'
import { edgeClient, type EdgeClient } from './support/edge/client.ts'
import { startInstallation, type Installation } from './support/installation.ts'
import { paste, shellBlocks } from './support/paste.ts'
import { freePort } from './support/ports.ts'
import { until } from './support/until.ts'

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

/** Calls a REST path; its answer must be a success. */
async function call<Body>(method: string, path: string, body?: BodyInit | object): Promise<Body> {
  const isText = body === undefined || typeof body === 'string'
  const answer = await fetch(`${berth.url}/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(isText ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const said = await answer.text()
  expect(answer.status, said).toBeLessThan(300)
  return (said ? JSON.parse(said) : null) as Body // the test says what it expects
}

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
/** What `npm run -s ca` prints. */
async function ownAuthority(): Promise<string> {
  const env = { ...process.env, BERTH_DATA_DIR: berth.dataDir }
  return (await promisify(execFile)(process.execPath, ['src/edge/ca.ts'], { env })).stdout
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
    browser = await launchChromium({
      authorities: [await pebble.root(), await ownAuthority()],
      names: { [shop]: '127.0.0.1' },
    })
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

/** Where another server listens in the VM, on its loopback address only: test/support/edge/site.ts. */
const sitePort = 8081
let client: EdgeClient
test(
  'a domain that is linked elsewhere leads there at once, and its page has a web socket',
  async () => {
    const program = readFileSync(new URL('support/edge/site.ts', import.meta.url), 'utf8')
    await call('PUT', `api/v1/vms/${vm}/files?path=/home/user/site.mjs`, stripTypeScriptTypes(program))
    await call('POST', `api/v1/vms/${vm}/envd/exec`, { command: `exec node site.mjs ${sitePort}`, background: true })
    client = edgeClient(shop, httpsPort, await pebble.root())
    await call('POST', 'api/v1/proxies', { service_name: 'site', vm_id: vm, vm_port: sitePort })
    const site = edgeClient(`site-${vm.slice(-8)}.berth.localhost`, httpsPort, await ownAuthority())
    await until('the site listens', async () => (await site.ask('/')).status === 200, 60_000)
    site.close()

    await call('DELETE', `api/v1/domains/${shop}/link`)
    await until('the domain leads nowhere', async () => (await client.ask('/')).status === 404)
    const seen = whenServed()
    await call('POST', `api/v1/domains/${shop}/link`, { vm_id: vm, vm_port: sitePort })
    await seen

    const opened = await open(`https://${shop}:${httpsPort}/`)
    await opened.waitForFunction(() => document.getElementById('said')?.textContent === 'said back: from the page')
    expect(await protocolOf(opened)).toBe('h2')
    const told = JSON.parse((await client.ask('/told', { 'x-forwarded-for': '192.0.2.1' })).text) as object
    expect(told).toMatchObject({ host: `${shop}:${httpsPort}`, 'x-forwarded-for': '127.0.0.1' })
  },
  limitMs,
)

/** Asks again and again until the site answers. */
async function whenServed(): Promise<void> {
  while ((await client.ask('/')).status !== 200) continue
}

test(
  'events come one by one',
  async () => {
    const times: number[] = []
    let events = ''
    for await (const piece of await client.open('/events')) {
      events += String(piece)
      times.push(performance.now())
    }
    expect(events).toBe('data: event 1\n\ndata: event 2\n\ndata: event 3\n\n')
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(300) // the site waits 400 ms in between
  },
  limitMs,
)

const mib = 1024 * 1024
/** A gigabyte each way where that takes seconds; under emulation it takes minutes. */
const [downMib, upMib] = knownAcceleration(readConfig().cacheDir) === 'kvm' ? [1024, 1024] : [32, 4]
/** What is on its way when nobody reads: in the sockets, in both tunnels, and in the VM. */
const onTheWayMibMax = 32
test(
  'bodies of any size pass, and who reads slowly slows the sender',
  async () => {
    let received = 0
    for await (const piece of await client.open(`/down?bytes=${downMib * mib}`)) received += (piece as Buffer).length
    expect(received).toBe(downMib * mib)
    expect(await client.send('/up', upMib * mib)).toEqual({ status: 200, text: String(upMib * mib) })

    const unread = await client.open(`/down?bytes=${1024 * mib}`)
    await comesToRest('what the site sends', async () => Number((await client.ask('/sent')).text), downMib * mib)
    unread.destroy()
    const unsent = client.begin('/never', 1024 * mib)
    await comesToRest('what the client sends', () => unsent.bytesSent(), 0)
    unsent.destroy()
    expect((await client.ask('/')).status).toBe(200)
  },
  limitMs,
)

/** Waits until a number of bytes grows no more; it must have grown, and not by more than what may be on its way. */
async function comesToRest(what: string, read: () => Promise<number> | number, from: number): Promise<void> {
  let last = from
  await until(
    `${what} comes to rest`,
    async () => {
      const now = await read()
      const rests = now === last && now > from
      last = now
      return rests
    },
    60_000,
    1_000,
  )
  process.stdout.write(`${what} came to rest after ${((last - from) / mib).toFixed(1)} MiB\n`)
  expect(last - from).toBeLessThan(onTheWayMibMax * mib)
}

test(
  'requests are served while Postgres is killed, and routes that are made when it is back come too',
  async () => {
    expect(berth.kill('postgres')).toBe(true)
    let servedWhileAway = 0
    await until(
      'Postgres was away, and is back',
      async () => {
        const isReady = (await fetch(`${berth.url}/readyz`).catch(() => null))?.status === 200
        expect((await client.ask('/')).status).toBe(200)
        if (!isReady) servedWhileAway++
        return isReady && servedWhileAway > 0
      },
      60_000,
    )
    await call('POST', 'api/v1/proxies', { service_name: 'later', vm_id: vm, vm_port: sitePort })
    const later = edgeClient(`later-${vm.slice(-8)}.berth.localhost`, httpsPort, await ownAuthority())
    await until('the new route is there', async () => (await later.ask('/')).status === 200)
    later.close()
  },
  limitMs,
)

test(
  'a VM that is paused is woken by its preview only; one that is deleted is not there',
  async () => {
    const asked = await call('POST', 'graphql', { query: `mutation { pauseVm(input: { id: "${vm}" }) { vm { id } } }` })
    expect(asked).not.toHaveProperty('errors')
    await until(
      'the VM is paused',
      async () => (await call<{ status: string }>('GET', `api/v1/vms/${vm}`)).status === 'paused',
      60_000,
    )
    expect((await client.ask('/')).status).toBe(503)
    expect(await (await open(preview)).textContent('body')).toContain('Hello')
    expect((await client.ask('/')).status).toBe(200)

    await call('DELETE', `api/v1/vms/${vm}`)
    await until('the domain leads nowhere', async () => (await client.ask('/')).status === 404)
    for (const gone of [url, preview]) {
      const shown = await (await browser!.newContext()).newPage() // it was started
      expect((await shown.goto(gone))?.status(), gone).toBe(404)
      expect(await shown.textContent('h1')).toBeTruthy()
    }
    client.close()
  },
  limitMs,
)
