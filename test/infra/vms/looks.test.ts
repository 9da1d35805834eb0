/** Looking into VMs: what they use and what listens in them, by the node's real agent whose guest is this host. Real ones: looks.vm.test.ts. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { totalmem } from 'node:os'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { portsIn } from '#src/drivers/compute/guest/ports.ts'
import { usageIn } from '#src/drivers/compute/guest/usage.ts'
import { decodeId } from '#src/platform/ids.ts'
import { vmLookLimits } from '#src/platform/limits/vm-looks.ts'
import { change, sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { startHostGuest, type HostGuest } from '../../support/guests/host-guest.ts'
import { idsOf, makeKey, makeVmRow, makeVmToken } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

const usageText = `cpu  100 0 100 800 0 0 0 0 0 0
cpu  150 0 150 900 0 0 0 0 0 0
0.50 0.40 0.30 1/99 1234
MemTotal:        2000 kB
MemFree:          100 kB
MemAvailable:     500 kB
Inter-|   Receive                                                |  Transmit
    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0
  eth0: 1000 9 0 0 0 0 0 0 2000 9 0 0 0 0 0 0
disk 4096 100 40`
const seen = {
  processorPercent: 50,
  load: 0.5,
  memoryUsedBytes: 1500 * 1024,
  memoryTotalBytes: 2000 * 1024,
  diskUsedBytes: 60 * 4096,
  diskTotalBytes: 100 * 4096,
  receivedBytes: 1000,
  sentBytes: 2000,
}

let berth: Berth
let token: string
let guest: HostGuest
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  guest = await startHostGuest(berth)
})
beforeEach(() => void Object.assign(guest, { printed: undefined, runs: 0 }))
afterAll(async () => {
  await guest.stop()
  await berth.stop()
})

type Seen = {
  metrics: (typeof seen & { at: string }) | null
  ports:
    | { port: number; address: string; isReachable: boolean; processName: string; pid: number; previewUrl: string }[]
    | null
}
const metricFields = `metrics { ${Object.keys(seen).join(' ')} at }`
const portFields = 'ports { port address isReachable processName pid previewUrl }'
async function look(vm: string, as = token, fields = `${metricFields} ${portFields}`): Promise<Seen> {
  const { body } = await berth.ask(`{ vm(id: "${vm}") { ${fields} } }`, { token: as })
  expect(body.errors).toBeUndefined()
  return (body.data as { vm: Seen }).vm
}
const makeVm = (status = 'running'): Promise<string> => makeVmRow(berth.services.db, token, guest.nodeId, { status })

test('a running VM says what it uses and what listens in it, by its own system; to look is no use of it', async () => {
  const servers = ['127.0.0.1', '127.0.0.2'].map((host) => createServer().listen(0, host))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const [near, far] = servers.map((server) => (server.address() as AddressInfo).port)
  const { metrics, ports } = await look(await makeVm())
  expect(metrics?.memoryTotalBytes).toBe(totalmem())
  expect(metrics?.memoryUsedBytes).toBeLessThan(totalmem())
  expect(metrics?.diskUsedBytes).toBeGreaterThan(0)
  expect(metrics?.diskUsedBytes).toBeLessThanOrEqual(metrics?.diskTotalBytes ?? 0)
  expect(metrics?.processorPercent).toBeGreaterThanOrEqual(0)
  expect(metrics?.processorPercent).toBeLessThanOrEqual(100)
  const { pid } = process
  expect(ports?.find(({ port }) => port === near)).toMatchObject({ address: '127.0.0.1', isReachable: true, pid })
  expect(ports?.find(({ port }) => port === near)?.previewUrl).toMatch(/^https?:\/\/[^/]+\/\?berth_token=/)
  expect(ports?.find(({ port }) => port === far)).toMatchObject({
    address: '127.0.0.2',
    isReachable: false,
    previewUrl: null,
  })
  expect(ports?.map(({ port }) => port)).toEqual(ports?.map(({ port }) => port).toSorted((a, b) => a - b))
  expect(guest.uses).toBe(0)
  for (const server of servers) server.close()
})

test('members, keys that may run commands and the token inside a VM look; viewers see null, strangers no VM', async () => {
  guest.printed = usageText
  const vm = await makeVm()
  const { organizationId } = idsOf(token)
  const { key } = await makeKey(berth, token, { scopes: ['compute:use'] })
  expect((await look(vm, key)).metrics).toMatchObject(seen)
  expect((await look(vm, await makeVmToken(berth, token))).metrics).toMatchObject(seen)
  const viewer = await berth.token('vera', 'acme', 'viewer')
  expect(idsOf(viewer).organizationId).toBe(organizationId)
  guest.runs = 0
  expect(await look(vm, viewer)).toEqual({ metrics: null, ports: null })
  expect(guest.runs).toBe(0)
  const { body } = await berth.ask(`{ vm(id: "${vm}") { ${metricFields} } }`, {
    token: await berth.token('eve', 'evil'),
  })
  expect(body.errors?.[0]?.extensions.code).toBe('NOT_FOUND')
})

test.each(['stopped', 'paused', 'creating', 'error'])(
  'a VM that is %s shows null, and is not asked',
  async (status) => {
    const vm = await makeVm(status)
    expect(await look(vm)).toEqual({ metrics: null, ports: null })
    expect(guest.runs).toBe(0)
  },
)

test('a guest that says something else shows null', async () => {
  guest.printed = 'cpu  1 2 3\nMemTotal: many kB'
  expect(await look(await makeVm())).toEqual({ metrics: null, ports: [] })
})

test('what the kernel of a VM printed last is shown in whole lines, to whoever may look inside', async () => {
  const line = '2026-11-29T02:00:00,000001+00:00 Out of memory: Killed process 7 (tail)'
  guest.printed = `${line}\n`.repeat(2_000)
  const vm = await makeVm()
  const logOf = async (as: string) =>
    ((await look(vm, as, 'kernelLog')) as unknown as { kernelLog: string | null }).kernelLog
  const lines = (await logOf(token))?.trimEnd().split('\n') ?? []
  expect(new Set(lines)).toEqual(new Set([line]))
  expect(lines).toHaveLength(Math.floor(vmLookLimits.kernelLogLength / (line.length + 1)))
  expect(await logOf(await berth.token('vera', 'acme', 'viewer'))).toBeNull()
  const { body } = await berth.ask(`{ vm(id: "${vm}") { kernelLog } }`, { token: await berth.token('eve', 'evil') })
  expect(body.errors?.[0]?.extensions.code).toBe('NOT_FOUND')
})

test('an operation looks so many times and no more', async () => {
  guest.printed = usageText
  const { perOperation } = vmLookLimits
  for (let count = 0; count <= perOperation; count++) await makeVm()
  const { body } = await berth.ask('{ vms(first: 100) { nodes { metrics { load } } } }', { token })
  expect(guest.runs).toBe(perOperation)
  expect(body.errors?.[0]?.message).toContain(`looks into VMs ${perOperation} times at most`)
})

/** The readings of a subscription as they come; ends with it. */
async function* follow(vm: string, as = token): AsyncGenerator<{ at: string } | { code: string }> {
  const query = `subscription { vmMetricsChanged(vmId: "${vm}") { ... on VmMetrics { vmId ${Object.keys(seen).join(' ')} at } } }`
  const answer = await fetch(`${berth.url}/graphql?query=${encodeURIComponent(query)}`, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${as}` },
  })
  let text = ''
  for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (text + chunk).split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = /^data: (.+)$/m.exec(block)?.[1]
      if (!data) continue
      const told = JSON.parse(data) as {
        data?: { vmMetricsChanged: { at: string } } | null
        errors?: { extensions: { code: string } }[]
      }
      const code = told.errors?.[0]?.extensions.code
      if (code !== undefined) yield { code }
      else if (told.data) yield told.data.vmMetricsChanged
    }
  }
}

test('all who watch a VM get the same readings, each read once, until it stops; then the next begins anew', async () => {
  guest.printed = usageText
  const vm = await makeVm()
  const told = Array.from({ length: 6 }, (): string[] => [])
  const watching = told.map(async (readings) => {
    for await (const reading of follow(vm)) {
      expect(reading).toMatchObject({ vmId: vm, load: 0.5, receivedBytes: 1000 })
      readings.push(JSON.stringify(reading))
    }
  })
  // Some may begin some readings later than others.
  const common = (): string[] =>
    (told[0] ?? []).filter((reading) => told.every((readings) => readings.includes(reading)))
  await until('all have got two of the same', () => common().length >= 2)
  await change(berth.services.db, sql`update vms set status = 'stopped' where id = ${decodeId('vm', vm) ?? ''}`)
  await Promise.all(watching)
  expect(guest.runs - new Set(told.flat()).size).toBeOneOf([0, 1]) // one may be under way when it stops
  expect((await follow(vm).next()).value).toEqual({ code: 'INVALID_REQUEST' })
})

test('who may not look inside is refused, and learns nothing of another organization’s VM', async () => {
  const vm = await makeVm()
  const code = async (as: string): Promise<unknown> => (await follow(vm, as).next()).value
  expect(await code(await berth.token('vera', 'acme', 'viewer'))).toEqual({ code: 'NOT_PERMITTED_FOR_ROLE' })
  expect(await code(await berth.token('eve', 'evil'))).toEqual({ code: 'NOT_FOUND' })
})

test('the processors’ share is since the reading before, and never below 0 or above 100, whatever a guest says', () => {
  expect(usageIn(usageText, null)).toMatchObject(seen)
  expect(usageIn(usageText, { busy: 0, all: 1_000 })?.processorPercent).toBe(100)
  expect(usageIn(usageText, { busy: 250, all: 1_100 })?.processorPercent).toBe(50)
  expect(usageIn(usageText, { busy: 9_000, all: 1_100 })?.processorPercent).toBe(0)
  expect(usageIn(usageText, { busy: 1, all: 99_999 })?.processorPercent).toBe(50) // it has booted since: those of this reading
  const absurd = usageText.replaceAll('150', '9'.repeat(40)).replace('eth0: 1000', `eth0: ${'9'.repeat(20)}`)
  expect(usageIn(absurd, null)).toMatchObject({ receivedBytes: 0, sentBytes: 2000 })
  expect(usageIn(usageText.replace('MemTotal', 'MemSome'), null)).toBeUndefined()
})

test('ports are shown once for each address, with the first of their processes, without those of Berth', () => {
  const line = (address: string, port: number, inode: number): string =>
    `   0: ${address}:${port.toString(16).toUpperCase().padStart(4, '0')} ${'0'.repeat(address.length)}:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0 100 0`
  const any = '0'.repeat(32)
  const lines = [
    line('00000000', 22, 1),
    line('0100007F', 3128, 2),
    line('00000000000000000000000001000000', 3128, 8),
    line(any, 8080, 3),
    line('0100007F', 80, 4),
    line('0100007F', 80, 5),
    line('0000000000000000FFFF00000100007F', 443, 6),
    line('00000000000000000000000001000000', 90, 7),
    'owner socket:[3] 40 python3',
    'owner socket:[3] 7 my server \u001b[31m',
    'owner socket:[4] 9 nginx',
    'owner nonsense',
  ]
  expect(portsIn(lines.join('\n'))).toEqual([
    { port: 80, address: '127.0.0.1', process: { pid: 9, name: 'nginx' } },
    { port: 90, address: '::1', process: null },
    { port: 443, address: '127.0.0.1', process: null },
    { port: 8080, address: '::', process: { pid: 7, name: 'my server \u001b[31m' } },
  ])
})
