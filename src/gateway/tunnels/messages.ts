/** The JSON messages of the protocol berth.tunnel.v1 (docs/reference/tunnels.md). What clients send is read strictly. */
import { BerthError } from '#src/platform/errors.ts'
import { parseExactly } from '#src/platform/json/numbers.ts'

/** What a client says besides its bytes. */
export type TunnelMessage = { type: 'open'; ticket: string } | { type: 'ack'; offset: number } | { type: 'end' }

/** What a client is told besides the bytes of the VM. Offsets count the bytes of one direction. */
export type TunnelAnswer =
  | { type: 'opened' }
  | { type: 'ack'; offset: number }
  | { type: 'end' }
  | { type: 'error'; code: string; message: string }

const keys: Readonly<Record<TunnelMessage['type'], readonly string[]>> = {
  open: ['type', 'ticket'],
  ack: ['type', 'offset'],
  end: ['type'],
}
const textBytesMax = 1024

/** Reads one. @throws BerthError invalid_request. */
export function readMessage(data: Buffer): TunnelMessage {
  const given = readObject(data)
  const { type, ticket, offset } = given
  if (type !== 'open' && type !== 'ack' && type !== 'end')
    throw refused('type must be open, ack or end; bytes for the VM go in binary messages.')
  if (Object.keys(given).some((key) => !keys[type].includes(key)))
    throw refused(
      `A message ${type} has ${keys[type].slice(1).join(', ') || 'no more than its type'}, and nothing else.`,
    )
  if (type === 'end') return { type }
  if (type === 'ack') {
    if (typeof offset !== 'number' || !Number.isSafeInteger(offset) || offset < 0)
      throw refused('offset must be a number of bytes: 0 or more.')
    return { type, offset }
  }
  if (typeof ticket !== 'string') throw refused('ticket must be the text that createTunnelTicket or openVmSsh gave.')
  return { type, ticket }
}

function readObject(data: Buffer): Record<string, unknown> {
  if (data.length > textBytesMax) throw refused(`A message of JSON may have at most ${textBytesMax} bytes.`)
  try {
    const value: unknown = parseExactly(data.toString('utf8'))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown> // an object of JSON
  } catch {
    // said below
  }
  throw refused('A text message must be an object of JSON; bytes for the VM go in binary messages.')
}

function refused(sentence: string): BerthError {
  return new BerthError('invalid_request', sentence)
}
