/** What is known of the protocol between a client and its backend from the messages that pass: whether it is idle, and what it may have left behind. */
import { limits } from '#src/platform/limits.ts'
import { errorField, fromClient, fromServer, headBytes, readParameter, transaction } from '../protocol/messages.ts'
import { followMessages, type Follower } from '../protocol/message-heads.ts'
import { violation } from '../refusals.ts'
import { newDefaults, noteCycle, noteTag, tagBytesMax, type Defaults } from './defaults.ts'
import { leaves, readStatements } from './statements.ts'

/** The state of the protocol between a client and its backend. */
export type ProtocolState = {
  /** How often ReadyForQuery is still to come. */
  cycles: number
  /** Whether messages were sent that no Sync has ended. */
  unsynced: boolean
  /** Whether messages of extended queries were sent since it was idle. */
  extended: boolean
  /** The transaction's status at the last ReadyForQuery. */
  status: number
  /** One of `leaves`, for all that was said. */
  leaves: number
  /** What it has changed of the settings with which new sessions begin. */
  defaults: Defaults
  /** The message that prepared the unnamed statement; null without one. */
  unnamed: Buffer | null
  /** What described it, for when it is prepared again. */
  described: Buffer
  /** How many messages that make or drop prepared statements have no answer yet. */
  changes: number
  /** Whether an error came before some of them, so that it is not known which statement is the unnamed one. */
  unsure: boolean
  /** Whether the server skips what the client sends, up to a Sync. */
  failing: boolean
  /** Whether the server has reported why it ends the connection. */
  fatal: boolean
  /** The settings of its session that were reported to the client. */
  reported: Map<string, string>
}

/** The state before the first message. */
export function newProtocol(): ProtocolState {
  return {
    cycles: 0,
    unsynced: false,
    extended: false,
    status: transaction.none,
    leaves: leaves.nothing,
    defaults: newDefaults(),
    unnamed: null,
    described: Buffer.alloc(0),
    changes: 0,
    unsure: false,
    failing: false,
    fatal: false,
    reported: new Map(),
  }
}

/** Whether nothing is under way: the client has its answers, and is in no transaction. */
export function isIdle({ cycles, unsynced, status }: ProtocolState): boolean {
  return cycles === 0 && !unsynced && status === transaction.none
}

/** Whether the server has been asked for something; otherwise it waits for the client. */
export function isAsked({ cycles, unsynced }: ProtocolState): boolean {
  return cycles > 0 || unsynced
}

/** Encodings in which a byte of ASCII may be a part of another letter: statements in them cannot be read. */
const unreadableEncodings: ReadonlySet<string> = new Set([
  'BIG5',
  'GB18030',
  'GBK',
  'JOHAB',
  'SHIFT_JIS_2004',
  'SJIS',
  'UHC',
])

/** Takes note of a setting that the server reports. Where statements cannot be read any more, the session is nobody else's. */
export function noteSetting(protocol: ProtocolState, name: string, value: string): void {
  protocol.reported.set(name, value)
  if (name === 'standard_conforming_strings' && value !== 'on') protocol.leaves = leaves.stuck
  if (name === 'client_encoding' && unreadableEncodings.has(value)) protocol.leaves = leaves.stuck
}

/** The same for all that a backend says of its settings. @returns those of which the client has another value */
export function noteSettings(
  protocol: ProtocolState,
  settings: ReadonlyMap<string, string>,
): [name: string, value: string][] {
  const changed = [...settings].filter(([name, value]) => protocol.reported.get(name) !== value)
  for (const [name, value] of changed) noteSetting(protocol, name, value)
  return changed
}

function tableOf(types: readonly number[]): Uint8Array {
  const table = new Uint8Array(256)
  for (const type of types) table[type] = 1
  return table
}

const everyType = new Uint8Array(256).fill(1)
const inExtendedQueries = tableOf([
  fromClient.bind,
  fromClient.close,
  fromClient.describe,
  fromClient.execute,
  fromClient.flush,
  fromClient.parse,
])
const inCopies = tableOf([fromClient.copyData, fromClient.copyDone, fromClient.copyFail])

/** Follows what the client says. It stops at Terminate. */
export function followRequests(protocol: ProtocolState): Follower {
  return followMessages(
    everyType,
    {
      begins(type, size) {
        const readable = size <= limits.postgresStatementBytes
        if (type === fromClient.query) {
          // Where an earlier message failed, the server skips all until Sync, this too: it is not known which answers come.
          if (protocol.unsynced) protocol.leaves = leaves.stuck
          protocol.cycles++
          nameUnnamed(protocol, null)
        } else if (type === fromClient.sync) {
          protocol.cycles++
          protocol.unsynced = false
          return false
        } else if (inExtendedQueries[type] === 1) {
          protocol.unsynced = protocol.extended = true
          if (type !== fromClient.parse && type !== fromClient.close) return false
          protocol.changes++
        } else if (type === fromClient.functionCall) {
          protocol.cycles++
          protocol.leaves = leaves.stuck
          return false
        } else if (inCopies[type] === 1) return false
        else throw violation(`invalid frontend message type ${type}`)
        if (!readable) protocol.leaves = leaves.stuck
        return readable
      },
      gathered(type, bytes, from, to) {
        if (type === fromClient.query) note(protocol, bytes, from, to)
        else if (type === fromClient.parse) noteParse(protocol, bytes, from, to)
        else if (bytes[from] === letterS && bytes[from + 1] === 0) nameUnnamed(protocol, null)
      },
    },
    fromClient.terminate,
  )
}
const letterS = 'S'.charCodeAt(0)

function noteParse(protocol: ProtocolState, bytes: Buffer, from: number, to: number): void {
  const nameEnds = bytes.indexOf(0, from)
  const textEnds = nameEnds < 0 ? -1 : bytes.indexOf(0, nameEnds + 1)
  if (textEnds < 0 || textEnds >= to) return // the server says what is wrong with it
  note(protocol, bytes, nameEnds + 1, textEnds)
  if (nameEnds !== from) return // one with a name is found by asking the server
  if (to - from > limits.postgresPlanBytes) protocol.leaves = Math.max(protocol.leaves, leaves.kept)
  const whole = Buffer.allocUnsafe(headBytes + to - from)
  whole[0] = fromClient.parse
  whole.writeInt32BE(to - from + 4, 1)
  bytes.copy(whole, headBytes, from, to)
  nameUnnamed(protocol, whole)
}

/** Takes note of what the unnamed statement is from now on. */
function nameUnnamed(protocol: ProtocolState, parse: Buffer | null): void {
  protocol.unnamed = parse
  if (!protocol.failing) protocol.unsure = false
}

function note(protocol: ProtocolState, bytes: Buffer, from: number, to: number): void {
  if (protocol.leaves === leaves.stuck && protocol.defaults.suspected) return // there is nothing more to learn
  const reading = readStatements(bytes, from, to)
  protocol.leaves = Math.max(protocol.leaves, reading.leaves)
  protocol.defaults.suspected ||= reading.changesDefaults
}

const answerTypes = tableOf([
  fromServer.commandComplete,
  fromServer.parseComplete,
  fromServer.closeComplete,
  fromServer.ready,
  fromServer.parameterStatus,
  fromServer.error,
  fromServer.copyIn,
  fromServer.copyBoth,
])
const answerBytes = 64 * 1024

/** Follows what the server answers; `ready` is called at each ReadyForQuery. */
export function followAnswers(protocol: ProtocolState, ready: () => void): Follower {
  return followMessages(answerTypes, {
    begins(type, size) {
      if (type === fromServer.commandComplete) return protocol.defaults.suspected && size <= tagBytesMax
      // Sync is not answered while rows are copied in, so it is not known any more when it is idle.
      if (type === fromServer.copyBoth || (type === fromServer.copyIn && protocol.extended))
        protocol.leaves = Math.max(protocol.leaves, leaves.kept)
      if (type === fromServer.error && protocol.extended) {
        protocol.failing = true
        protocol.unsure ||= protocol.changes > 0
      }
      if (type === fromServer.error) protocol.defaults.failed = true
      return size <= answerBytes
    },
    gathered(type, bytes, from, to) {
      if (type === fromServer.parseComplete || type === fromServer.closeComplete) protocol.changes--
      else if (type === fromServer.ready) {
        protocol.failing = false
        protocol.status = bytes[from] ?? 0
        noteCycle(protocol.defaults, protocol.status === transaction.none)
        if (protocol.cycles > 0) protocol.cycles--
        if (protocol.cycles === 0 && !protocol.unsynced) {
          protocol.extended = false
          protocol.changes = 0
        }
        ready()
      } else if (type === fromServer.commandComplete)
        noteTag(protocol.defaults, bytes.toString('latin1', from, to - 1)) // it ends with a zero
      else if (type === fromServer.parameterStatus) noteSetting(protocol, ...readParameter(bytes.subarray(from, to)))
      else if (type === fromServer.error) {
        const severity = errorField(bytes.subarray(from, to), 'V')
        protocol.fatal = severity === 'FATAL' || severity === 'PANIC'
      }
    },
  })
}
