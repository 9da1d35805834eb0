/** VMs that nobody uses, on a whole `npm start`: they sleep, requests and commands wake them, and kill -9 changes nothing. */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readRecords } from '#src/drivers/compute/records.ts'
import { startInstallation, type Installation } from '../../support/installation.ts'
import { until } from '../../support/until.ts'
import { TunnelClient } from '../tunnels/clients.ts'

const limitMs = 180_000
const idleSeconds = 10
let berth: Installation
let token: string
let vm: string
let host: string
beforeAll(async () => {
  berth = await startInstallation({ BERTH_VM_POOL: '0' })
  token = await berth.token()
  const made = await call('POST', '', { idle_seconds: idleSeconds })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  vm = made.body['vm_id'] as string
  // What init starts is there after a stop, too.
  const line = '::respawn:/usr/bin/python3 -m http.server 8080 --bind 127.0.0.1 --directory /srv'
  await exec(`echo here | sudo tee /srv/index.html && echo '${line}' | sudo tee -a /etc/inittab && sudo kill -HUP 1`)
  const proxy = await fetch(`${berth.url}/api/v1/proxies`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ vm_id: vm, service_name: 'web', vm_port: 8080 }),
  })
  host = new URL(((await proxy.json()) as { external_url: string }).external_url).hostname
  await until('the server listens', async () => (await ask()).status === 200, 60_000) // python under emulation, beside other guests
}, 400_000)
afterAll(() => berth?.stop(), 60_000)

type Body = Record<string, unknown>
async function call(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> {
  const answer = await fetch(`${berth.url}/api/v1/vms${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: (text ? JSON.parse(text) : {}) as Body }
}
async function exec(command: string): Promise<string> {
  const answer = await call('POST', `/${vm}/envd/exec`, { command })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body['stdout'] as string
}
/** Asks for the page as the ingress serves it. */
async function ask(): Promise<{ status: number; text: string }> {
  const asking = request({ host: '127.0.0.1', port: berth.httpPort, headers: { host }, agent: false })
  asking.end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  let text = ''
  for await (const piece of answer.setEncoding('utf8') as AsyncIterable<string>) text += piece
  return { status: answer.statusCode ?? 0, text }
}
const statusOf = async (): Promise<unknown> => (await call('GET', `/${vm}`)).body['status']
const toBe = (status: string) => until(`the VM is ${status}`, async () => (await statusOf()) === status, 60_000)
/** How often it began to run, and whether its time is counted now. */
async function usage(): Promise<{ sessions: number; isOpen: boolean }> {
  const answer = await fetch(`${berth.url}/api/v1/usage`, { headers: { authorization: `Bearer ${token}` } })
  const { sessions } = (await answer.json()) as { sessions: { ended_at: string | null }[] }
  return { sessions: sessions.length, isOpen: sessions.some(({ ended_at }) => ended_at === null) }
}
const here = { status: 200, text: 'here\n' }
/** Opens a tunnel to a port of the VM. */
async function tunnelTo(port: number): Promise<TunnelClient> {
  const query = `mutation { createTunnelTicket(input: { vmId: "${vm}", port: ${port} }) { ticket } }`
  const answer = await fetch(`${berth.url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  const { data } = (await answer.json()) as { data: { createTunnelTicket: { ticket: string } } }
  return new TunnelClient(berth.url).open(data.createTunnelTicket.ticket)
}

test(
  'an idle VM is paused and costs nothing, and five requests at once wake it with its memory',
  async () => {
    const since = await exec('date +%s > /dev/shm/since; cat /dev/shm/since')
    await toBe('paused')
    expect(await usage()).toEqual({ sessions: 1, isOpen: false })
    expect(await Promise.all(Array.from({ length: 5 }, ask))).toEqual(Array(5).fill(here))
    expect(await exec('cat /dev/shm/since')).toBe(since)
    expect(await usage()).toEqual({ sessions: 2, isOpen: true })
  },
  limitMs,
)

test(
  'a command that runs for longer than the idle time keeps it awake, and one wakes it',
  async () => {
    expect(await exec(`sleep ${idleSeconds * 2}; echo done`)).toBe('done\n')
    expect((await usage()).sessions, 'it never slept').toBe(2)
    await toBe('paused')
    expect(await exec('echo awake')).toBe('awake\n')
  },
  limitMs,
)

test(
  'a tunnel on which nothing passes for longer than the idle time keeps it awake, and one wakes it',
  async () => {
    // It ends each connection after a while, and says nothing.
    const server = `import socket, time
listening = socket.create_server(("127.0.0.1", 9000))
while True:
    connection, _ = listening.accept()
    time.sleep(${idleSeconds * 2.5})
    connection.close()`
    await exec(`echo '${server}' > quiet.py; setsid python3 quiet.py > /dev/null 2>&1 < /dev/null &`)
    await exec('until python3 -c "import socket; socket.create_connection((\'127.0.0.1\', 8080))"; do sleep 1; done')
    const { sessions } = await usage()
    const quiet = await tunnelTo(9000)
    expect(quiet.told[0]).toEqual({ type: 'opened' })
    await until('its end is told', () => quiet.told.length > 1, 60_000)
    expect(quiet.told[1]).toEqual({ type: 'end' })
    expect(await usage(), 'it never slept').toEqual({ sessions, isOpen: true })
    quiet.say({ type: 'end' })
    expect((await quiet.closed).code).toBe(1000)

    await toBe('paused')
    const waking = await tunnelTo(8080)
    waking.send('GET / HTTP/1.0\r\n\r\n')
    await until('the page has come', () => waking.text.endsWith('here\n'), 60_000)
    waking.socket.terminate()
  },
  limitMs,
)

test(
  'with the action stop it is stopped, and a request starts it and is answered',
  async () => {
    expect((await call('PATCH', `/${vm}`, { idle_action: 'stop' })).status).toBe(200)
    await exec('touch /dev/shm/gone')
    await toBe('stopped')
    expect(await ask()).toEqual(here)
    expect(await exec('ls /dev/shm')).toBe('')
  },
  limitMs,
)

test(
  'its worker is killed while it falls asleep, and the next request is answered all the same',
  async () => {
    expect((await call('PATCH', `/${vm}`, { idle_action: 'pause' })).status).toBe(200)
    await until('it falls asleep', async () => (await statusOf()) !== 'running', 60_000, 20)
    expect(berth.kill('worker')).toBe(true)
    let answer: Awaited<ReturnType<typeof ask>> | undefined
    const isAnswered = until('a request is answered', async () => (answer = await ask()).status === 200, 60_000)
    await isAnswered.catch(async (error: unknown) => {
      const { body } = await call('GET', `/${vm}`)
      throw new Error(JSON.stringify({ answer, body, logged: berth.logged(/"level":[45]0/) }), { cause: error })
    })
    expect(await statusOf()).toBe('running')
  },
  limitMs,
)

test(
  'its worker is killed at the end of a pause and at the beginning of a resume, and its memory is there',
  async () => {
    const memory = await exec('tee /dev/shm/memory < /proc/sys/kernel/random/uuid')
    const [qemu] = berth.qemuPids()
    expect((await call('POST', `/${vm}/pause`)).status).toBe(200)
    killWorkerWhen('its QEMU ends', () => !existsSync(`/proc/${qemu}/exe`))
    await toBe('paused')
    expect((await call('POST', `/${vm}/resume`)).status).toBe(200)
    const roots = { dataDir: berth.dataDir, runDir: '', cacheDir: '' }
    killWorkerWhen('its memory is loaded', () => readRecords(roots).records.every(({ paused }) => paused === null))
    await toBe('running')
    expect(await exec('cat /dev/shm/memory')).toBe(memory)
  },
  limitMs,
)

/** Looks without a pause, because the moment is short. */
function killWorkerWhen(what: string, isSo: () => boolean): void {
  const endMs = performance.now() + 30_000
  while (!isSo()) if (performance.now() > endMs) throw new Error(`not in 30 s: ${what}`)
  expect(berth.kill('worker')).toBe(true)
}

test(
  'one that its user pauses stays so, whoever asks',
  async () => {
    expect((await call('POST', `/${vm}/pause`)).status).toBe(200)
    await toBe('paused')
    expect((await ask()).status).toBe(503)
    expect((await call('POST', `/${vm}/envd/exec`, { command: 'true' })).status).toBe(400)
    expect(await statusOf()).toBe('paused')
  },
  limitMs,
)
