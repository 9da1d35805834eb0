/** What a client says first: the packet with its user, its database and the settings of its session. */
import { isOfClient } from './client-parameters.ts'
import { requestCodes } from '../protocol/messages.ts'
import { PostgresRefusal, shortened, violation } from '../refusals.ts'

/** A first packet, read. */
export type FirstPacket =
  | { asks: 'tls' | 'gss' }
  | { asks: 'cancel'; processId: number; secret: number }
  | { asks: 'session'; startup: Startup }

/** What a client wants to open. */
export type Startup = {
  user: string
  database: string
  /** Settings of the session by their names, `options` among them as it came; what Postgres makes of them it says itself. */
  settings: ReadonlyMap<string, string>
  /** Whether a setting is among them that begins the session as another role. */
  changesRole: boolean
  /** Options of newer protocols, and whether a newer one than 3.0 was asked for. */
  unknownOptions: readonly string[]
  newer: boolean
}

/** Reads the content of a first packet, without its length. @throws PostgresRefusal when it is none. */
export function readFirstPacket(content: Buffer): FirstPacket {
  if (content.length < 4) throw violation('invalid length of startup packet')
  const request = content.readInt32BE(0)
  if (request === requestCodes.tls || request === requestCodes.gss) {
    if (content.length !== 4) throw violation('invalid length of a request for encryption')
    return { asks: request === requestCodes.tls ? 'tls' : 'gss' }
  }
  if (request === requestCodes.cancel) {
    if (content.length !== 12) throw violation('invalid length of a cancel request')
    return { asks: 'cancel', processId: content.readInt32BE(4), secret: content.readInt32BE(8) }
  }
  const [major, minor] = [request >>> 16, request & 0xffff]
  if (major !== 3)
    throw new PostgresRefusal(
      'feature_not_supported',
      `unsupported frontend protocol ${major}.${minor}: the server supports 3.0`,
    )
  return { asks: 'session', startup: readStartup(content, minor) }
}

function readStartup(content: Buffer, minor: number): Startup {
  const settings = new Map<string, string>()
  const unknownOptions: string[] = []
  for (const [name, value] of pairsOf(content)) {
    if (name.startsWith('_pq_.')) unknownOptions.push(name)
    else settings.set(name, value)
  }
  const user = settings.get('user') ?? ''
  if (user === '')
    throw new PostgresRefusal(
      'invalid_authorization_specification',
      'no PostgreSQL user name specified in startup packet',
    )
  const database = settings.get('database') || user
  refuseReplication(settings.get('replication'))
  for (const name of ['user', 'database', 'replication']) settings.delete(name)
  for (const name of settings.keys()) if (isOfClient(name)) settings.delete(name)
  const names = [...settings.keys(), ...namesInOptions(settings.get('options') ?? '')].map((name) => name.toLowerCase())
  refuseLibraries(names)
  return {
    user,
    database,
    settings,
    changesRole: names.some((name) => rolesOfSession.has(name)),
    unknownOptions,
    newer: minor > 0,
  }
}

/** Settings that make a session begin as somebody else; Postgres allows them among the roles of which the user is a member. */
const rolesOfSession: ReadonlySet<string> = new Set(['role', 'session_authorization'])

/** The proxy begins every session without libraries, so one that asks for some would not get them. */
function refuseLibraries(names: readonly string[]): void {
  if (!names.includes('local_preload_libraries')) return
  throw new PostgresRefusal(
    'feature_not_supported',
    'the parameter "local_preload_libraries" cannot be set here',
    'Extensions are made with CREATE EXTENSION.',
  )
}

function* pairsOf(content: Buffer): Generator<[string, string]> {
  if (content.at(-1) !== 0 || (content.length > 5 && content.at(-2) !== 0))
    throw violation('invalid startup packet layout: expected terminator as last byte')
  const words = content.toString('utf8', 4, content.length - 1).split('\0')
  words.pop() // behind the last terminator
  if (words.length % 2 !== 0) throw violation('invalid startup packet layout: a setting has no value')
  for (let at = 0; at < words.length; at += 2) {
    const [name = '', value = ''] = words.slice(at, at + 2)
    if (name === '') throw violation('invalid startup packet layout: a setting has no name')
    yield [name, value]
  }
}

function refuseReplication(value: string | undefined): void {
  if (value === undefined || /^(?:f|fa|fal|fals|false|n|no|of|off|0)$/i.test(value)) return
  throw new PostgresRefusal(
    'feature_not_supported',
    'replication connections are not available here',
    'To copy a database, use pg_dump, or make a backup.',
  )
}

/**
 * The names of the settings in an `options` text, which has the form of a command line: `-c name=value --name=value`.
 * Other switches of the server are refused: they are meant for whoever starts it.
 */
function namesInOptions(options: string): string[] {
  const names: string[] = []
  const words = wordsOf(options)
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    let assignment: string
    if (word.startsWith('--')) assignment = word.slice(2)
    else if (word.startsWith('-c')) assignment = word.length > 2 ? word.slice(2) : (words.shift() ?? '')
    else
      throw new PostgresRefusal(
        'invalid_parameter_value',
        `the switch ${shortened(word)} in "options" is not allowed`,
        'Settings have the form -c name=value.',
      )
    const equals = assignment.indexOf('=')
    if (equals < 1)
      throw new PostgresRefusal(
        'invalid_parameter_value',
        `"options" must have settings of the form -c name=value, not ${shortened(assignment)}`,
      )
    names.push(assignment.slice(0, equals).replaceAll('-', '_'))
  }
  return names
}

/** Splits as Postgres does: at white space, unless a backslash stands in front of it. */
function wordsOf(options: string): string[] {
  const words: string[] = []
  let word = ''
  let begun = false
  for (let at = 0; at < options.length; at++) {
    const letter = options[at] ?? ''
    if (/\s/.test(letter)) {
      if (begun) words.push(word)
      ;[word, begun] = ['', false]
    } else {
      if (letter === '\\') at++
      word += letter === '\\' ? (options[at] ?? '') : letter
      begun = true
    }
  }
  if (begun) words.push(word)
  return words
}
