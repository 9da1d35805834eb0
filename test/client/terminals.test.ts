/** The client's terminals, on this host behind the node's real agent: over networks that are cut, and left. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { Berth as Client, type Screen } from '#src/client/berth.ts'
import { encodeId } from '#src/platform/ids.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import { openWay, type Way } from '../console/cuttable.ts'
import { startTerminalNode, type TerminalNode } from '../infra/terminals/clients.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeVmRow } from '../support/makers.ts'
import { until } from '../support/until.ts'

let berth: Berth
let node: TerminalNode
let token: string
let vmId: string
let way: Way
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  node = await startTerminalNode(berth.services)
  vmId = await makeVmRow(berth.services.db, token, node.id)
})
afterAll(async () => {
  const opened = await findAll<{ id: string }>(berth.services.db, sql`select id from terminals`)
  await node.stop(opened.map(({ id }) => encodeId('terminal', id)))
  await berth.stop()
})
beforeEach(async () => {
  way = await openWay(berth.port)
})
afterEach(() => way.close())

/** A client behind the way, and how often it asked for a ticket; `hold` makes it wait before it asks again. */
function clientOf(hold: () => Promise<void> = async () => undefined): { client: Client; asked: () => number } {
  let asked = 0
  const send: typeof fetch = async (input, init) => {
    if (typeof init?.body === 'string' && init.body.includes('createTerminalTicket')) {
      asked++
      await hold()
    }
    return fetch(input, init)
  }
  return {
    client: new Client({ url: `http://127.0.0.1:${way.port}`, token, fetch: send }),
    asked: () => asked,
  }
}

/** A screen that keeps what is drawn. */
function screenOf(): Screen & { drawn: () => string } {
  let drawn = ''
  return {
    columns: 80,
    rows: 24,
    write: (bytes) => void (drawn += Buffer.from(bytes).toString()),
    reset: () => void (drawn = 'reset'),
    drawn: () => drawn,
  }
}

/** Starts a program that answers each line. */
async function startIn(client: Client) {
  const screen = screenOf()
  const command = 'stty -echo; echo ready; while read line; do echo "got $line"; done'
  const terminal = await client.vms.terminals.start({ vmId, columns: 80, rows: 24, command }, screen)
  await until('it is ready', () => screen.drawn().includes('ready'))
  return { screen, terminal }
}

test('a terminal goes on after the network was away, with what was typed meanwhile, once', async () => {
  const { client, asked } = clientOf()
  const { screen, terminal } = await startIn(client)
  terminal.type(Buffer.from('before\n'))
  await until('it answers', () => screen.drawn().includes('got before'))
  way.cut()
  await until('two tickets could not be had', () => asked() >= 3)
  terminal.type(Buffer.from('meanwhile\n'))
  way.mend()
  terminal.type(Buffer.from('after\n'))
  await until('it answers again', () => screen.drawn().includes('got after'))
  expect(screen.drawn()).toBe('ready\r\ngot before\r\ngot meanwhile\r\ngot after\r\n')
  terminal.type(Buffer.from('\u0004'))
  expect(await terminal.ended).toBe(0)
})

test('a terminal that is left stays left: while it is attached to, and while the network is away', async () => {
  const { client, asked } = clientOf()
  const attached = await startIn(client)
  attached.terminal.leave()
  expect(await attached.terminal.ended).toBe(0)
  const away = await startIn(client)
  const before = way.sockets()
  way.cut()
  await until('a ticket was asked for', () => asked() > 0)
  away.terminal.leave()
  way.mend()
  expect(await away.terminal.ended).toBe(0)
  expect(way.sockets()).toBe(before)
})

test('a terminal that is left while its next ticket is on the way is not attached to again', async () => {
  const gate = Promise.withResolvers<void>()
  const { client, asked } = clientOf(() => gate.promise)
  const { terminal } = await startIn(client)
  const before = way.sockets()
  way.cut()
  way.mend()
  await until('a ticket was asked for', () => asked() === 1)
  terminal.leave()
  gate.resolve()
  expect(await terminal.ended).toBe(0)
  expect(way.sockets()).toBe(before)
})
