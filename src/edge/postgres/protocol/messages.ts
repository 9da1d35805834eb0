/** The messages of Postgres' protocol 3.0 that the proxy writes itself, and the types of those that it looks at. */
import { PostgresRefusal } from '../refusals.ts'

/** Bytes in front of a message's content: its type, and a length that counts itself. */
export const headBytes = 5

/** Types of messages, as the byte that begins them. The same letter may mean another thing in each direction. */
export const fromClient = {
  bind: code('B'),
  close: code('C'),
  copyData: code('d'),
  copyDone: code('c'),
  copyFail: code('f'),
  describe: code('D'),
  execute: code('E'),
  flush: code('H'),
  functionCall: code('F'),
  login: code('p'),
  parse: code('P'),
  query: code('Q'),
  sync: code('S'),
  terminate: code('X'),
} as const
/** The same of what a server sends. */
export const fromServer = {
  authentication: code('R'),
  backendKey: code('K'),
  closeComplete: code('3'),
  copyIn: code('G'),
  copyBoth: code('W'),
  dataRow: code('D'),
  error: code('E'),
  negotiateVersion: code('v'),
  noData: code('n'),
  notice: code('N'),
  notification: code('A'),
  parameterDescription: code('t'),
  parameterStatus: code('S'),
  parseComplete: code('1'),
  commandComplete: code('C'),
  ready: code('Z'),
  rowDescription: code('T'),
} as const

/** Whether a server connection is idle, in a transaction, or in one that failed. */
export const transaction = { none: code('I'), open: code('T'), failed: code('E') } as const

function code(letter: string): number {
  return letter.charCodeAt(0)
}

/** A message of this type around its content. */
export function message(type: number, ...content: readonly (Buffer | string)[]): Buffer {
  const body = Buffer.concat(content.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  const head = Buffer.allocUnsafe(headBytes)
  head[0] = type
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** An integer as the protocol writes it. */
export function int32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeInt32BE(value | 0)
  return bytes
}

/** The same in two bytes. */
function int16(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2)
  bytes.writeInt16BE(value)
  return bytes
}

/** How grave an error is: `FATAL` ends the connection, and a `WARNING` is none. */
export type Severity = 'WARNING' | 'ERROR' | 'FATAL'

/** An ErrorResponse that says why; for a warning, a NoticeResponse. */
export function errorMessage(refusal: PostgresRefusal, severity: Severity = 'FATAL'): Buffer {
  const fields = [`S${severity}`, `V${severity}`, `C${refusal.sqlState}`, `M${refusal.message}`]
  if (refusal.hint) fields.push(`H${refusal.hint}`)
  return message(severity === 'WARNING' ? fromServer.notice : fromServer.error, `${fields.join('\0')}\0\0`)
}

/** A field of an ErrorResponse's content, by its letter; null where it is not there. */
export function errorField(content: Buffer, letter: string): string | null {
  const field = content
    .toString('utf8')
    .split('\0')
    .find((one) => one.startsWith(letter))
  return field === undefined ? null : field.slice(1)
}

/** Steps of a login, as AuthenticationRequest messages number them. */
export const authentication = { ok: 0, password: 3, sasl: 10, saslContinue: 11, saslFinal: 12 } as const

/** An AuthenticationRequest. */
export function authenticationMessage(step: number, content: string | Buffer = ''): Buffer {
  return message(fromServer.authentication, int32(step), content)
}

/** Tells a client a setting of its session. */
export function parameterStatus(name: string, value: string): Buffer {
  return message(fromServer.parameterStatus, `${name}\0${value}\0`)
}

/** Reads the name and the value of a ParameterStatus. */
export function readParameter(content: Buffer): [name: string, value: string] {
  const [name = '', value = ''] = content.toString('utf8').split('\0')
  return [name, value]
}

/** Tells a client how it may cancel. */
export function backendKey(processId: number, secret: number): Buffer {
  return message(fromServer.backendKey, int32(processId), int32(secret))
}

/** Lets a client in: the settings of its session, how it may cancel, and that it may begin. Written at once, because it is for every client. */
export function welcome(settings: Iterable<readonly [string, string]>, key: Buffer): Buffer {
  const texts = Array.from(settings, ([name, value]) => `${name}\0${value}\0`)
  const size = texts.reduce((sum, text) => sum + headBytes + Buffer.byteLength(text), 0)
  const parameters = Buffer.allocUnsafe(size)
  let at = 0
  for (const text of texts) {
    const length = parameters.write(text, at + headBytes)
    parameters[at] = fromServer.parameterStatus
    parameters.writeInt32BE(length + 4, at + 1)
    at += headBytes + length
  }
  return Buffer.concat([letIn, parameters, key, begin])
}
const letIn = authenticationMessage(authentication.ok)
const begin = message(fromServer.ready, 'I')

/** Tells a client of a newer protocol that 3.0 is spoken, and which of its options are not known. */
export function negotiateVersion(unknownOptions: readonly string[]): Buffer {
  return message(
    fromServer.negotiateVersion,
    int32(protocolVersion),
    int32(unknownOptions.length),
    unknownOptions.map((name) => `${name}\0`).join(''),
  )
}

/** 3.0. */
export const protocolVersion = 3 << 16

/** The packet that opens a connection to a server. */
export function startupPacket(parameters: Iterable<readonly [string, string]>): Buffer {
  const text = [...parameters].map(([name, value]) => `${name}\0${value}\0`).join('')
  const body = Buffer.concat([int32(protocolVersion), Buffer.from(`${text}\0`)])
  return Buffer.concat([int32(body.length + 4), body])
}

/** The packet that asks a server to cancel what this one of its processes does. */
export function cancelPacket(processId: number, secret: number): Buffer {
  return Buffer.concat([int32(16), int32(requestCodes.cancel), int32(processId), int32(secret)])
}

/** What stands where a startup packet has its version, in requests that are none. */
export const requestCodes = { cancel: 80_877_102, tls: 80_877_103, gss: 80_877_104 } as const

/** A simple query. */
export function queryMessage(text: string): Buffer {
  return message(fromClient.query, `${text}\0`)
}

/** The end of a client's messages that belong together. */
export const syncMessage: Buffer = message(fromClient.sync)
/** The end of a connection. */
export const terminateMessage: Buffer = message(fromClient.terminate)
/** Asks what the unnamed prepared statement takes and answers. */
export const describeUnnamed: Buffer = message(fromClient.describe, 'S\0')

/** The messages that run a statement by the extended protocol under a name of its own, and forget it again. The unnamed statement stays as it is. */
export function runNamed(name: string, text: string): Buffer {
  return Buffer.concat([
    message(fromClient.parse, `${name}\0${text}\0\0\0`),
    message(fromClient.bind, `\0${name}\0\0\0\0\0\0\0`),
    message(fromClient.execute, `\0`, int32(0)),
    closeNamed(name),
  ])
}

/** The messages that run a statement once with these values, as the unnamed statement, and end with Sync. */
export function runWith(text: string, values: readonly string[]): Buffer {
  const given = values.map((value) => Buffer.from(value))
  return Buffer.concat([
    message(fromClient.parse, `\0${text}\0\0\0`),
    message(
      fromClient.bind,
      '\0\0',
      int16(0),
      int16(given.length),
      ...given.flatMap((one) => [int32(one.length), one]),
      int16(0),
    ),
    message(fromClient.execute, '\0', int32(0)),
    syncMessage,
  ])
}

/** The message that forgets a prepared statement, whether it is there or not. */
export function closeNamed(name: string): Buffer {
  return message(fromClient.close, `S${name}\0`)
}

/** Whether a message may come at any time, and answers nothing. */
export function isAside(type: number): boolean {
  return type === fromServer.notification || type === fromServer.notice || type === fromServer.parameterStatus
}
