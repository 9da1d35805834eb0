/** A real VM from outside: what it uses, what listens in it, and another size from its next start on. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { until } from '../../support/until.ts'

const limitMs = 240_000
const mebibyte = 1024 * 1024
let berth: Berth
let token: string
let vm: string
beforeAll(async () => {
  berth = await startBerth({ worker: true, pool: 0 })
  token = await berth.token()
  const { status, body } = await berth.call<{ vm_id: string }>('POST', '/api/v1/vms', { token, body: {} })
  expect(status, JSON.stringify(body)).toBe(201)
  vm = body.vm_id
}, limitMs)
afterAll(() => berth.stop())

async function exec(command: string, options: object = {}): Promise<string> {
  const { status, body } = await berth.call<{ stdout: string }>('POST', `/api/v1/vms/${vm}/envd/exec`, {
    token,
    body: { command, ...options },
  })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.stdout.trim()
}
type Metrics = {
  processorPercent: number
  memoryUsedBytes: number
  memoryTotalBytes: number
  diskUsedBytes: number
  diskTotalBytes: number
  receivedBytes: number
  sentBytes: number
  at: string
}
const fields =
  'processorPercent load memoryUsedBytes memoryTotalBytes diskUsedBytes diskTotalBytes receivedBytes sentBytes at'
async function look<Seen>(selection: string): Promise<Seen> {
  const { body } = await berth.ask(`{ vm(id: "${vm}") { ${selection} } }`, { token })
  expect(body.errors).toBeUndefined()
  return (body.data as { vm: Seen }).vm
}
const metrics = async (): Promise<Metrics> => (await look<{ metrics: Metrics }>(`metrics { ${fields} }`)).metrics
const statusOf = async () => (await berth.call<{ status: string }>('GET', `/api/v1/vms/${vm}`, { token })).body.status
async function act(name: 'stop' | 'start', status: string): Promise<void> {
  await berth.call('POST', `/api/v1/vms/${vm}/${name}`, { token })
  await until(`it is ${status}`, async () => (await statusOf()) === status, 120_000)
}

test(
  'it says what it uses: its own memory and disk, and what passed its network',
  async () => {
    const before = await metrics()
    expect(before.memoryTotalBytes).toBeGreaterThan(1700 * mebibyte)
    expect(before.memoryTotalBytes).toBeLessThanOrEqual(2048 * mebibyte)
    expect(before.memoryUsedBytes).toBeGreaterThan(0)
    expect(before.diskTotalBytes).toBeGreaterThan(9 * 1024 * mebibyte)
    await exec('head -c 50000000 /dev/zero > filled; sync filled')
    const after = await metrics()
    expect(after.diskUsedBytes - before.diskUsedBytes).toBeGreaterThan(40_000_000)
    expect(after.receivedBytes).toBeGreaterThan(before.receivedBytes)
    expect(after.sentBytes).toBeGreaterThan(before.sentBytes)
    await exec('while :; do :; done & while :; do :; done', { background: true, timeout: 120 })
    await until('both processors are busy', async () => (await metrics()).processorPercent > 60, 60_000)
    await exec('pkill -f "while :" || true')
  },
  limitMs,
)

test(
  'what listens in it is listed with its process and a preview, and nothing of Berth’s',
  async () => {
    type Port = {
      port: number
      address: string
      isReachable: boolean
      processName: string
      pid: number
      previewUrl: string
    }
    const ports = async () =>
      (await look<{ ports: Port[] }>('ports { port address isReachable processName pid previewUrl }')).ports
    expect(await ports()).toEqual([])
    await exec('python3 -m http.server 8000 --bind 127.0.0.1', { background: true })
    await exec('sudo python3 -m http.server 81 --bind 10.0.2.15', { background: true })
    await until('both listen', async () => (await ports()).length === 2, 120_000)
    const pid = Number(await exec('pgrep -u user -f "http.server 8000"'))
    expect(await ports()).toEqual([
      {
        port: 81,
        address: '10.0.2.15',
        isReachable: false,
        processName: 'python3',
        pid: expect.any(Number) as number,
        previewUrl: null,
      },
      {
        port: 8000,
        address: '127.0.0.1',
        isReachable: true,
        processName: 'python3',
        pid,
        previewUrl: expect.stringContaining('berth_token=') as string,
      },
    ])
  },
  limitMs,
)

test(
  'what its kernel printed is there',
  async () => {
    await exec('echo a message for the kernel | sudo tee /dev/kmsg')
    const { kernelLog } = await look<{ kernelLog: string }>('kernelLog')
    expect(kernelLog).toMatch(/^\d{4}-\d\d-\d\dT\S+ a message for the kernel$/m)
  },
  limitMs,
)

test(
  'who watches it gets readings until it stops; then it gets another size and starts with it, and its disk is as it was',
  async () => {
    const query = `subscription { vmMetricsChanged(vmId: "${vm}") { ... on VmMetrics { ${fields} } } }`
    const answer = await fetch(`${berth.url}/graphql?query=${encodeURIComponent(query)}`, {
      headers: { accept: 'text/event-stream', authorization: `Bearer ${token}` },
    })
    let text = ''
    let isStopping = false
    for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      if (isStopping || (text.match(/"at":/g) ?? []).length < 3) continue
      isStopping = true
      await berth.call('POST', `/api/v1/vms/${vm}/stop`, { token })
    } // it ends by itself
    expect(isStopping).toBe(true)
    await until('it is stopped', async () => (await statusOf()) === 'stopped', 60_000)
    expect(await look('metrics { at } ports { port }')).toEqual({ metrics: null, ports: null })
    const size = { vcpu_count: 1, memory_mb: 1024, disk_mb: 12_288 }
    const resized = await berth.call('PATCH', `/api/v1/vms/${vm}`, { token, body: size })
    expect([resized.status, resized.body]).toEqual([200, expect.objectContaining(size)])
    await act('start', 'running')
    expect(await exec('nproc')).toBe('1')
    const { memoryTotalBytes, diskTotalBytes } = await metrics()
    expect(memoryTotalBytes).toBeLessThanOrEqual(1024 * mebibyte)
    expect(diskTotalBytes).toBeGreaterThan(11 * 1024 * mebibyte)
    expect(await exec('stat -c %s filled')).toBe('50000000')
    await act('stop', 'stopped')
    await berth.call('PATCH', `/api/v1/vms/${vm}`, { token, body: { vcpu_count: 2 } })
    await act('start', 'running')
    expect(await exec('nproc; stat -c %s filled')).toBe('2\n50000000')
    expect((await metrics()).diskTotalBytes).toBe(diskTotalBytes)
  },
  limitMs,
)
