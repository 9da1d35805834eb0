/** Terminals in a real machine, on a whole `npm start`: what programs.test.ts tries on this host, over SSH and a guest's own Python. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { terminalLimits } from '#src/platform/limits/terminals.ts'
import { startInstallation, type Installation } from '../../support/installation.ts'
import { Client } from './clients.ts'
import { until } from '../../support/until.ts'

const limitMs = 300_000
/** A guest under emulation, beside others, is slow. */
const patienceMs = 60_000
const idleSeconds = 10
let berth: Installation
let token: string
let vm: string
beforeAll(async () => {
  berth = await startInstallation({ BERTH_VM_POOL: '0' })
  token = await berth.token()
  const made = await berth.call<{ vm_id: string }>(token, 'POST', '/api/v1/vms', { idle_seconds: idleSeconds })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  vm = made.body.vm_id
}, 400_000)
afterAll(() => berth?.stop(), 60_000)

type Opened = { terminal: { id: string; status: string }; ticket: string }
const asked = (name: string, input: string) =>
  berth.call<{ data: Record<string, Opened> | null; errors?: unknown }>(token, 'POST', '/graphql', {
    query: `mutation { ${name}(input: { ${input} }) { terminal { id status exitCode } ${name === 'closeTerminal' ? '' : 'ticket'} } }`,
  })
async function change(name: string, input: string): Promise<Opened> {
  const { body } = await asked(name, input)
  expect(body.errors).toBeUndefined()
  return body.data?.[name] as Opened
}
async function attached(command?: string): Promise<Client & { id: string }> {
  const line = command === undefined ? '' : `, command: ${JSON.stringify(command)}`
  const { terminal, ticket } = await change('openTerminal', `vmId: "${vm}", columns: 80, rows: 24${line}`)
  const client = await new Client(berth.url).attach(ticket)
  expect(client.told[0]).toEqual({ type: 'attached', terminalId: terminal.id, offset: 0 })
  return Object.assign(client, { id: terminal.id })
}
const statusOf = async (): Promise<string> =>
  (await berth.call<{ status: string }>(token, 'GET', `/api/v1/vms/${vm}`)).body.status
async function exec(command: string): Promise<string> {
  const { body } = await berth.call<{ stdout: string }>(token, 'POST', `/api/v1/vms/${vm}/envd/exec`, { command })
  return body.stdout
}

test(
  'a shell echoes, knows its screen, and exits; it keeps the VM awake while a client is attached, and not longer',
  async () => {
    const client = await attached()
    client.type('echo one $((1 + 1)); stty size; id -un; tty\n')
    await client.sees(/one 2\r\n24 80\r\nuser\r\n\/dev\/pts\/\d+/, patienceMs)
    client.say({ type: 'resize', columns: 132, rows: 50 })
    client.type(`sleep ${idleSeconds * 2}; stty size\n`)
    await client.sees('50 132', patienceMs)
    expect(await statusOf()).toBe('running')
    client.socket.terminate()
    await until('the VM falls asleep', async () => (await statusOf()) === 'paused', 2 * patienceMs, 500)
    // On a busy machine it wakes for longer than a request waits.
    await asked('createTerminalTicket', `id: "${client.id}"`)
    await until('the VM is awake', async () => (await statusOf()) === 'running', patienceMs, 500)
    const { ticket } = await change('createTerminalTicket', `id: "${client.id}"`)
    const again = await new Client(berth.url).attach(ticket, { after: client.end })
    again.type('echo awake; exit 3\n')
    expect((await again.closed).code).toBe(1000)
    expect(again.text).toContain('awake\r\n')
    expect(again.told.at(-1)).toEqual({ type: 'exit', code: 3 })
  },
  limitMs,
)

test(
  'yes waits while nothing is acknowledged, and an interrupt gets through',
  async () => {
    const client = await attached('trap : INT; yes; touch /tmp/interrupted; echo over')
    client.acknowledges = false
    const most = client.end + terminalLimits.unacknowledgedBytes // of what came before, all was acknowledged
    await until('half a mebibyte came', () => client.end >= most, patienceMs)
    client.type('\u0003')
    await until('yes ended', async () => (await exec('ls /tmp')).includes('interrupted'), patienceMs, 500)
    expect(client.end).toBeLessThan(most + 256 * 1024)
    client.acknowledges = true
    client.acknowledge()
    await client.sees('over\r\n', patienceMs)
  },
  limitMs,
)

test(
  'over kill -9 of the worker, nothing printed is lost or repeated, and what is typed arrives once',
  async () => {
    const client = await attached('stty -echo; echo ready; while read line; do echo "got $line"; done')
    await client.sees('ready', patienceMs)
    const lines = Array.from({ length: 90 }, (_, at) => `line ${at}`)
    for (const line of lines.slice(0, 30)) client.type(`${line}\n`)
    await client.sees('got line 5\r\n', patienceMs)
    expect(berth.kill('worker')).toBe(true)
    for (const line of lines.slice(30, 60)) client.type(`${line}\n`)
    await client.sees('got line 59\r\n', patienceMs)
    for (const line of lines.slice(60)) client.type(`${line}\n`)
    await client.sees('got line 89\r\n', patienceMs)
    expect(client.text).toBe(`ready\r\n${lines.map((line) => `got ${line}\r\n`).join('')}`)
    expect(client.told.map(({ type }) => type)).toEqual(['attached'])
  },
  limitMs,
)

test(
  'a client that is cut resumes without a gap, one that comes late is told of it, and closing ends the program',
  async () => {
    const first = await attached('read; seq 1 50000; read; seq 1 400000; touch /tmp/printed; sleep 1000')
    first.type('\n')
    await first.sees('10000\r\n', patienceMs)
    first.socket.terminate()
    await first.closed
    const { ticket } = await change('createTerminalTicket', `id: "${first.id}"`)
    const second = await new Client(berth.url).attach(ticket, { after: first.end })
    await second.sees('50000\r\n', patienceMs)
    const whole = Array.from({ length: 50_000 }, (_, at) => `${at + 1}\r\n`).join('')
    expect((first.text + second.text).replace(/^\r\n/, '')).toBe(whole)
    second.type('\n')
    second.socket.terminate() // from now on nobody is there to acknowledge, and the program runs on
    await until('it printed on', async () => (await exec('ls /tmp')).includes('printed'), patienceMs, 500)
    const { ticket: last } = await change('createTerminalTicket', `id: "${first.id}"`)
    const third = await new Client(berth.url).attach(last, { after: second.end })
    await third.sees('400000\r\n', patienceMs)
    expect(third.told.map(({ type }) => type)).toEqual(['attached', 'gap'])
    expect(third.received.length).toBe(terminalLimits.keptBytes)
    expect((await change('closeTerminal', `id: "${first.id}"`)).terminal.status).toBe('CLOSED')
    expect((await third.closed).code).toBe(1000)
    expect(await exec('pgrep -f "[s]leep 1000" || echo none')).toBe('none\n')
  },
  limitMs,
)
