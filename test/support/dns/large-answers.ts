/** A name server whose answers are the largest that the protocol has: over UDP cut off, and over TCP in full. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'

const bytesMax = 65_535
const headerBytes = 12
const types = { A: 1, NS: 2, CNAME: 5, TXT: 16, AAAA: 28 } as const
/** A pointer to the name that was asked, which is behind the header. */
const askedName = pointer(headerBytes)

function pointer(to: number): Buffer {
  return Buffer.from([0xc0 | (to >> 8), to & 0xff])
}

function record(type: number, data: Buffer, name = askedName): Buffer {
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(type, 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt16BE(data.length, 8)
  return Buffer.concat([name, fixed, data])
}

/** As many of these records as there is room for behind those; `at` is where each begins. */
function many(room: number, first: readonly Buffer[], make: (index: number, at: number) => Buffer): Buffer[] {
  const all = [...first]
  let at = bytesMax - room + first.reduce((sum, one) => sum + one.length, 0)
  for (let index = 0; all.length < bytesMax; index++) {
    const one = make(index, at)
    if (at + one.length > bytesMax) return all
    all.push(one)
    at += one.length
  }
  return all
}

const longName = Buffer.concat([...Array.from({ length: 126 }, () => Buffer.from([1, 0x61])), Buffer.from([0])])
const rest = (room: number) => Buffer.alloc(room - 64)

/** What is answered to a question of this type, or the other one; `room` is what is left for records. */
type Answer = { type: keyof typeof types; other?: keyof typeof types; records: (room: number) => Buffer[] }
/** By the first label of the name. */
const answers: Readonly<Record<string, Answer>> = {
  'texts-many': { type: 'TXT', records: (room) => many(room, [], () => record(types.TXT, Buffer.from([1, 0x61]))) },
  'texts-of-nothing': { type: 'TXT', records: (room) => [record(types.TXT, rest(room))] },
  'texts-of-letters': {
    type: 'TXT',
    records: (room) => [record(types.TXT, rest(room).fill(Buffer.from([1, 0x61]).toString('latin1'), 'latin1'))],
  },
  'texts-that-end-early': { type: 'TXT', records: (room) => [record(types.TXT, rest(room).fill(0xff))] },
  'texts-of-others': {
    type: 'TXT',
    records: (room) => many(room, [], () => record(types.TXT, Buffer.from([1, 0x61]), Buffer.from([1, 0x62, 0]))),
  },
  'addresses-many': {
    type: 'A',
    records: (room) =>
      many(room, [record(types.A, Buffer.from([8, 8, 8, 8]))], (index) =>
        record(types.A, Buffer.from([8, 8, index >> 8, index & 0xff])),
      ),
  },
  'addresses-long': {
    type: 'AAAA',
    records: (room) =>
      many(room, [], (index) =>
        record(types.AAAA, Buffer.from([0x26, 0, ...Array(12).fill(1), index >> 8, index & 0xff])),
      ),
  },
  'aliases-many': { type: 'CNAME', records: (room) => many(room, [], () => record(types.CNAME, longName)) },
  'aliases-in-a-circle': { type: 'CNAME', records: (room) => [record(types.CNAME, pointer(bytesMax - room + 12))] },
  'aliases-of-pointers': {
    type: 'CNAME',
    records: (room) =>
      many(room, [record(types.CNAME, Buffer.from([1, 0x61, 0]))], (_, at) =>
        record(types.CNAME, Buffer.concat([Buffer.from([1, 0x61]), pointer(Math.min(0x3fff, Math.max(12, at - 4)))])),
      ),
  },
  'addresses-of-aliases': {
    type: 'A',
    other: 'AAAA',
    records: (room) =>
      many(room, [record(types.CNAME, longName)], () => record(types.CNAME, pointer(bytesMax - room + 12))),
  },
  'servers-many': {
    type: 'NS',
    records: (room) => many(room, [record(types.NS, longName)], () => record(types.NS, pointer(bytesMax - room + 12))),
  },
}

/** The labels that it knows: the first of a name. */
export const largeDnsNames: readonly string[] = Object.keys(answers)

function answerTo(query: Buffer, isCut: boolean): Buffer {
  let at = headerBytes
  while (at < query.length && query[at] !== 0) at += 1 + (query[at] ?? 0)
  const question = query.subarray(headerBytes, at + 5)
  const label = question.toString('latin1', 1, 1 + (question[0] ?? 0)).toLowerCase()
  const known = answers[label]
  const type = question.readUInt16BE(question.length - 4)
  const isAsked = known && (type === types[known.type] || (known.other && type === types[known.other]))
  const header = Buffer.from(query.subarray(0, headerBytes))
  header.writeUInt16BE(isAsked && isCut ? 0x8780 : 0x8580, 2)
  const records = isAsked && !isCut ? known.records(bytesMax - headerBytes - question.length) : []
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  header.writeUInt32BE(0, 8)
  return Buffer.concat([header, question, ...records])
}

/** Starts one. `asked`: the questions that it answered in full. */
export async function startLargeDns(): Promise<{ address: string; asked: () => number; stop: () => void }> {
  let asked = 0
  const overTcp = createServer((socket) => {
    let read = Buffer.alloc(0)
    socket.on('error', () => undefined) // who asked had enough
    socket.on('data', (piece: Buffer) => {
      read = Buffer.concat([read, piece])
      while (read.length >= 2 && read.length >= 2 + read.readUInt16BE(0)) {
        const length = read.readUInt16BE(0)
        const answer = answerTo(read.subarray(2, 2 + length), false)
        read = read.subarray(2 + length)
        const head = Buffer.alloc(2)
        head.writeUInt16BE(answer.length, 0)
        asked++
        socket.write(Buffer.concat([head, answer]))
      }
    })
  }).listen(0, '127.0.0.1')
  await once(overTcp, 'listening')
  const { port } = overTcp.address() as AddressInfo // it listens on a port
  const overUdp = createSocket('udp4', (query, { port: from, address }) =>
    overUdp.send(answerTo(query, true), from, address),
  )
  overUdp.bind(port, '127.0.0.1')
  await once(overUdp, 'listening')
  return {
    address: `127.0.0.1:${port}`,
    asked: () => asked,
    stop() {
      overTcp.close()
      overUdp.close()
    },
  }
}
