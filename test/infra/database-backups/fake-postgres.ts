/** The server's side of Postgres' wire protocol, as far as one client with one simple query after the other needs it. */
import { duplexPair, type Duplex } from 'node:stream'

const intBytes = 4
const textFormat = 0
const textType = 25

/**
 * A connection to a server that lets everybody in.
 * @param answer the lines that a query prints; an error becomes that of the query, with its `code` as the SQLSTATE.
 */
export function connectTo(answer: (sql: string) => Promise<string>): Duplex {
  const [client, server] = duplexPair()
  let held: Buffer = Buffer.alloc(0)
  let isWelcome = false
  let turn: Promise<void> = Promise.resolve()
  server.on('data', (piece: Buffer) => {
    held = Buffer.concat([held, piece])
    for (;;) {
      const at = isWelcome ? 1 : 0 // the first message has no type
      if (held.length < at + intBytes || held.length < at + held.readInt32BE(at)) return
      const end = at + held.readInt32BE(at)
      const [type, body] = [String.fromCharCode(held[0] ?? 0), held.subarray(at + intBytes, end)]
      held = held.subarray(end)
      if (!isWelcome) server.write(Buffer.concat([message('R', int(0)), ready]))
      else if (type === 'X') server.end()
      else if (type === 'Q') turn = turn.then(() => reply(body.subarray(0, -1).toString()))
      isWelcome = true
    }
  })
  const reply = async (sql: string): Promise<void> => {
    const said = await answer(sql).then(rowsOf, failure)
    if (!server.destroyed) server.write(Buffer.concat([said, ready]))
  }
  return client
}

/** Each line is a row of one column. */
function rowsOf(printed: string): Buffer {
  const lines = printed.split('\n').slice(0, -1)
  const column = [Buffer.from('said\0'), int(0), short(0), int(textType), short(-1), int(-1), short(textFormat)]
  return Buffer.concat([
    message('T', Buffer.concat([short(1), ...column])),
    ...lines.map((line) => message('D', Buffer.concat([short(1), int(Buffer.byteLength(line)), Buffer.from(line)]))),
    message('C', Buffer.from('SELECT\0')),
  ])
}

function failure({ message: sentence, code = 'XX000' }: Error & { code?: string }): Buffer {
  return message('E', Buffer.from(`SERROR\0VERROR\0C${code}\0M${sentence}\0\0`))
}

const ready = message('Z', Buffer.from('I'))

function message(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type), int(intBytes + body.length), body])
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(intBytes)
  bytes.writeInt32BE(value)
  return bytes
}

function short(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}
