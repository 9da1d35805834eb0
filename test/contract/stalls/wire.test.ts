/**
 * No client of Postgres' protocol holds the edge: bytes one by one, messages as small as they may be and as large, and as many
 * as can be sent, from several clients at once.
 */
import type { Socket } from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fromClient, message, queryMessage } from '#src/edge/postgres/protocol/messages.ts'
import { limits } from '#src/platform/limits.ts'
import { pour } from '../../support/stalls/pour.ts'
import { findHolds, stallMsMax, startWatched, type WatchedProcess } from '../../support/stalls/watched-process.ts'

type Ready = { postgresPort: number; host: string; user: string; token: string }

const clientsAtOnce = 4
const roundBytes = 256 * 1024
const rounds = 4

let edge: WatchedProcess<Ready>
beforeAll(async () => {
  edge = await startWatched<Ready>(new URL('./edge-child.ts', import.meta.url), [], ['--max-semi-space-size=32'])
}, 60_000)
afterAll(() => edge?.stop())

/** A client that is logged in, and its connection. */
async function logIn(): Promise<Socket> {
  const { postgresPort, host, user, token } = edge.ready
  const client = new pg.Client({
    host: '127.0.0.1',
    port: postgresPort,
    user,
    password: token,
    database: 'app',
    ssl: { servername: host, rejectUnauthorized: false },
  })
  client.on('error', () => undefined) // it is cut below
  await client.connect()
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection // the driver has no other way to it
  stream.removeAllListeners('data')
  return stream.resume().on('error', () => undefined)
}

/** The same bytes again and again from several clients. */
async function pourFromAll(bytes: Buffer, times = rounds): Promise<void> {
  const sockets = await Promise.all(Array.from({ length: clientsAtOnce }, logIn))
  await edge.measure() // logins are not what is tried
  const taken = await Promise.all(sockets.map((socket) => pour(socket, bytes, times)))
  for (const socket of sockets) socket.destroy()
  expect(Math.min(...taken)).toBeGreaterThan(0)
}
const many = (one: Buffer): Buffer => Buffer.alloc(one.length * Math.floor(roundBytes / one.length), one)
const parse = (statement: string): Buffer => message(fromClient.parse, '\0', `${statement}\0`, '\0\0')

test('no messages hold the edge', async () => {
  const text = (piece: string): string => piece.repeat(Math.floor((limits.postgresStatementBytes - 100) / piece.length))
  const works: Record<string, () => Promise<void>> = {
    'what flushes': () => pourFromAll(many(message(fromClient.flush))),
    'what syncs': () => pourFromAll(many(message(fromClient.sync))),
    'empty statements': () => pourFromAll(many(queryMessage(''))),
    'what prepares nothing': () => pourFromAll(many(parse(''))),
    'what prepares little': () => pourFromAll(many(parse('select 1'))),
    'what closes': () => pourFromAll(many(message(fromClient.close, 'S\0'))),
    'what describes': () => pourFromAll(many(message(fromClient.describe, 'S\0'))),
    'data of a copy': () => pourFromAll(many(message(fromClient.copyData, 'x'))),
    values: () => pourFromAll(many(message(fromClient.bind, '\0\0', '\0\0', '\xff\xff'))),
    'a statement of semicolons': () => pourFromAll(queryMessage(text(';')), 1),
    'a statement of comments in comments': () => pourFromAll(parse(text('/*')), 1),
    'a statement of dollars': () => pourFromAll(parse(text('$')), 1),
    'a statement of quotation marks': () => pourFromAll(parse(text("'")), 1),
    'a statement of words': () => pourFromAll(parse(text('set a ')), 1),
  }
  expect(await findHolds(edge, works)).toEqual({})
}, 180_000)

test('bytes one by one hold nobody', async () => {
  const bytes = queryMessage(`select 1 -- ${'x'.repeat(20_000)}`)
  const heldMs = await edge.heldMs(async () => {
    const sockets = await Promise.all(Array.from({ length: clientsAtOnce }, logIn))
    await edge.measure() // logins are not what is tried
    for (const byte of bytes) for (const socket of sockets) socket.write(Buffer.of(byte))
    for (const socket of sockets) socket.destroy()
  })
  expect(heldMs).toBeLessThanOrEqual(stallMsMax)
}, 60_000)
