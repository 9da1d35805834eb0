/** The JSON messages of the protocol berth.terminal.v1 (docs/terminals.md). What clients send is read strictly. */
import { BerthError } from '#src/platform/errors.ts'
import { parseExactly } from '#src/platform/json/numbers.ts'
import { readSize } from '#src/resources/infra/terminals.ts'
import type { TerminalSize } from '#src/drivers/node/terminal-frames.ts'

/** What a client says besides what is typed. */
export type ClientMessage =
  | ({ type: 'attach'; ticket: string; after: number | null } & TerminalSize)
  | ({ type: 'resize' } & TerminalSize)
  | { type: 'ack'; offset: number }

/** What a client is told besides what is printed. Offsets count bytes since the terminal was opened. */
export type ServerMessage =
  | { type: 'attached'; terminalId: string; offset: number }
  | { type: 'gap'; offset: number }
  | { type: 'exit'; code: number }
  | { type: 'replaced' }
  | { type: 'error'; code: string; message: string }

const keys: Readonly<Record<ClientMessage['type'], readonly string[]>> = {
  attach: ['type', 'ticket', 'after', 'columns', 'rows'],
  resize: ['type', 'columns', 'rows'],
  ack: ['type', 'offset'],
}
const textBytesMax = 1024

/** Reads one. @throws BerthError invalid_request. */
export function readMessage(data: Buffer): ClientMessage {
  const given = readObject(data)
  const type = given['type']
  if (type !== 'attach' && type !== 'resize' && type !== 'ack')
    throw refused('type must be attach, resize or ack; what is typed goes in binary messages.')
  const unknown = Object.keys(given).find((key) => !keys[type].includes(key))
  if (unknown !== undefined) throw refused(`A message ${type} has ${keys[type].slice(1).join(', ')}, and nothing else.`)
  if (type === 'ack') return { type, offset: readOffset(given['offset'], 'offset') }
  const { columns, rows } = readSize(given as TerminalSize) // it checks anything
  if (type === 'resize') return { type, columns, rows }
  const { ticket, after = null } = given
  if (typeof ticket !== 'string')
    throw refused('ticket must be the text that openTerminal or createTerminalTicket gave.')
  return { type, ticket, after: after === null ? null : readOffset(after, 'after'), columns, rows }
}

function readObject(data: Buffer): Record<string, unknown> {
  if (data.length > textBytesMax) throw refused(`A message of JSON may have at most ${textBytesMax} bytes.`)
  try {
    const value: unknown = parseExactly(data.toString('utf8'))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown> // an object of JSON
  } catch {
    // said below
  }
  throw refused('A text message must be an object of JSON; what is typed goes in binary messages.')
}

function readOffset(value: unknown, name: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw refused(`${name} must be a number of bytes: 0 or more.`)
}

function refused(sentence: string): BerthError {
  return new BerthError('invalid_request', sentence)
}
