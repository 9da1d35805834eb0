/** Terminals, on this host: the real program that has the pty, behind the node's real agent. Real guests: machine.vm.test.ts. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { terminalLimits } from '#src/platform/limits/terminals.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeVmRow } from '../../support/makers.ts'
import { Client, startTerminalNode, type TerminalNode } from './clients.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let node: TerminalNode
let token: string
let vm: string
const opened: string[] = []
const clients: Client[] = []
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  node = await startTerminalNode(berth.services)
  vm = await makeVmRow(berth.services.db, token, node.id)
})
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.terminate()
  await until('nobody is attached', () => node.inUse() === 0)
})
afterAll(async () => {
  await node.stop(opened)
  await berth.stop()
})

type Terminal = { id: string; status: string; exitCode: number | null; columns: number; rows: number }
type Opened = { terminal: Terminal; ticket: string }
async function change<Answer>(name: string, input: Record<string, unknown>, fields: string): Promise<Answer> {
  const query = `mutation ($input: ${name[0]?.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { ${fields} } }`
  const { body } = await berth.ask(query, { token, variables: { input } })
  expect(body.errors).toBeUndefined()
  return body.data?.[name] as Answer
}
const shown = 'terminal { id status exitCode columns rows } ticket'
async function open(command?: string): Promise<Opened> {
  const made = await change<Opened>('openTerminal', { vmId: vm, columns: 80, rows: 24, command }, shown)
  opened.push(made.terminal.id)
  return made
}
function attach(ticket: string, more: { after?: number } = {}, acknowledges = true): Promise<Client> {
  const client = new Client(berth.url)
  client.acknowledges = acknowledges
  clients.push(client)
  return client.attach(ticket, more)
}
const ticketFor = async (id: string) => (await change<Opened>('createTerminalTicket', { id }, shown)).ticket
async function attached(command?: string): Promise<Client & { id: string }> {
  const { terminal, ticket } = await open(command)
  const client = await attach(ticket)
  expect(client.told[0]).toEqual({ type: 'attached', terminalId: terminal.id, offset: 0 })
  return Object.assign(client, { id: terminal.id })
}
async function terminal(id: string): Promise<Terminal> {
  const { body } = await berth.ask(`{ node(id: "${id}") { ... on Terminal { id status exitCode columns rows } } }`, {
    token,
  })
  return body.data?.['node'] as Terminal
}
const inHome = (name: string) => join(node.home, name)
/** What `seq 1 <last>` prints on a pty. */
const numbersUpTo = (last: number) => Array.from({ length: last }, (_, at) => `${at + 1}\r\n`).join('')

test('a shell echoes what is typed, knows its screen, is resized, and says how it exited', async () => {
  const client = await attached()
  client.type('echo one $((1 + 1)); stty size; echo $TERM; pwd\n')
  await client.sees(`one 2\r\n24 80\r\nxterm-256color\r\n${node.home}`)
  client.say({ type: 'resize', columns: 132, rows: 50 })
  client.type('stty size\n')
  await client.sees('50 132')
  client.type('exit 3\n')
  expect(await client.closed).toMatchObject({ code: 1000 })
  expect(client.told.at(-1)).toEqual({ type: 'exit', code: 3 })
  expect(await terminal(client.id)).toMatchObject({ status: 'EXITED', exitCode: 3, columns: 132, rows: 50 })
})

test('a program waits while what it printed is not acknowledged, and an interrupt gets through', async () => {
  const client = await attached(`trap : INT; yes; echo $? > ${inHome('interrupted')}; echo over`)
  client.acknowledges = false
  const most = client.end + terminalLimits.unacknowledgedBytes // of what came before, all was acknowledged
  await until('half a mebibyte came', () => client.end >= most)
  client.type('\u0003')
  await until('yes ended', () => existsSync(inHome('interrupted')))
  // Had it not waited, it would have printed many mebibytes until it was interrupted.
  expect(client.end).toBeLessThan(most + 256 * 1024)
  client.acknowledges = true
  client.acknowledge()
  await client.sees('over\r\n')
  expect(await client.closed).toMatchObject({ code: 1000 })
})

test('a client that is cut resumes where it was, without a gap and without repeating anything', async () => {
  const wanted = numbersUpTo(100_000)
  const first = await attached('read; seq 1 100000; read')
  first.type('\n')
  await first.sees('20000\r\n')
  first.socket.terminate()
  await first.closed
  const second = await attach(await ticketFor(first.id), { after: first.end })
  expect(second.told[0]).toMatchObject({ type: 'attached', offset: first.end })
  await second.sees('100000\r\n')
  expect((first.text + second.text).replace(/^\r\n/, '')).toBe(wanted)
  expect(second.told.map(({ type }) => type)).not.toContain('gap')
})

test('what is printed while nobody is attached goes on, its last mebibyte is kept, and a gap is said', async () => {
  const { terminal, ticket } = await open(`seq 1 400000; touch ${inHome('printed')}; read`)
  await until('it printed on without a client', () => existsSync(inHome('printed')))
  const client = await attach(ticket, { after: 100 })
  await client.sees('400000\r\n')
  const whole = numbersUpTo(400_000)
  const from = whole.length - terminalLimits.keptBytes
  expect(client.told).toEqual([
    { type: 'attached', terminalId: terminal.id, offset: from },
    { type: 'gap', offset: from },
  ])
  expect(client.text).toBe(whole.slice(from))
})

test('all that is kept comes to a client that acknowledges nothing yet', async () => {
  const { ticket } = await open(`seq 1 50000; touch ${inHome('all')}; read`)
  await until('it printed', () => existsSync(inHome('all')))
  const client = await attach(ticket, {}, false)
  await client.sees('50000\r\n')
  expect(client.text).toBe(numbersUpTo(50_000))
})

test('another client takes the place of the one that is attached, which is told so', async () => {
  const first = await attached('cat')
  const second = await attach(await ticketFor(first.id))
  expect(await first.closed).toMatchObject({ code: 4409 })
  expect(first.told.at(-1)).toEqual({ type: 'replaced' })
  second.type('still here\n')
  await second.sees('still here\r\nstill here')
})

test('over a worker that is killed, nothing printed is lost or repeated, and what is typed arrives once', async () => {
  const client = await attached('stty -echo; echo ready; while read line; do echo "got $line"; done')
  await client.sees('ready')
  const lines = Array.from({ length: 300 }, (_, at) => `line ${at}`)
  for (const line of lines.slice(0, 100)) client.type(`${line}\n`)
  await node.restart(async () => {
    for (const line of lines.slice(100, 200)) client.type(`${line}\n`)
  })
  for (const line of lines.slice(200)) client.type(`${line}\n`)
  await client.sees('got line 299\r\n')
  expect(client.text).toBe(`ready\r\n${lines.map((line) => `got ${line}\r\n`).join('')}`)
  expect(client.told.map(({ type }) => type)).toEqual(['attached'])
})

test('its VM is in use while a client is attached, and not longer', async () => {
  const client = await attached('cat')
  expect(node.inUse()).toBe(1)
  client.socket.terminate()
  await until('the use has ended', () => node.inUse() === 0)
})

test('a terminal that exits without a client keeps its end for the next one', async () => {
  const { terminal: made, ticket } = await open(`echo bye; touch ${inHome('gone')}; exit 7`)
  await until('it is over', () => existsSync(inHome('gone')))
  expect((await terminal(made.id)).status).toBe('RUNNING')
  const client = await attach(ticket)
  expect(await client.closed).toMatchObject({ code: 1000 })
  expect(client.text).toBe('bye\r\n')
  expect(client.told.at(-1)).toEqual({ type: 'exit', code: 7 })
})

test('closing ends the program and tells its client; a shell that ignores SIGHUP is killed', async () => {
  const client = await attached('trap "" HUP; echo deaf; while :; do sleep 1; done')
  await client.sees('deaf')
  const { terminal: closed } = await change<Opened>('closeTerminal', { id: client.id }, 'terminal { status exitCode }')
  expect(closed).toMatchObject({ status: 'CLOSED', exitCode: null })
  expect((await client.closed).code).toBe(1000)
  expect(client.told.at(-1)).toEqual({ type: 'exit', code: 137 })
  const again = await change<Opened>('closeTerminal', { id: client.id }, 'terminal { status }')
  expect(again.terminal.status).toBe('CLOSED')
})

test('a program that reads nothing gets what is typed once it reads, and more than a mebibyte cuts the client', async () => {
  const client = await attached(
    `stty raw -echo; until [ -e ${inHome('read-now')} ]; do sleep 0.1; done; head -c 300000 | wc -c`,
  )
  client.type('x'.repeat(60_000))
  for (let at = 0; at < 4; at++) client.type('y'.repeat(60_000))
  const other = await attached(`touch ${inHome('read-now')}; sleep 100`)
  await client.sees('300000')
  for (let at = 0; at < 20; at++) other.type('z'.repeat(60_000))
  expect(await other.closed).toMatchObject({ code: 4429 })
  expect(other.told.at(-1)).toMatchObject({ type: 'error', code: 'rate_limited' })
})

test('the list of a VM shows its terminals, newest first, and narrows them', async () => {
  const { terminal: made } = await open('cat')
  const ask = async (filter: string) => {
    const { body } = await berth.ask(`{ vm(id: "${vm}") { terminals${filter} { edges { node { id status } } } } }`, {
      token,
    })
    const { vm: found } = body.data as { vm: { terminals: { edges: { node: Terminal }[] } } }
    return found.terminals.edges.map(({ node: one }) => one)
  }
  expect((await ask('(first: 1)'))[0]).toEqual({ id: made.id, status: 'RUNNING' })
  const ended = await ask('(filter: { statuses: [EXITED, CLOSED] })')
  expect(ended.length).toBeGreaterThan(0)
  expect(ended.map(({ status }) => status)).not.toContain('RUNNING')
})
