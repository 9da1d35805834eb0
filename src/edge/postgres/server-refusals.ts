/** How a server refuses a login of the proxy. */
import { errorField, fromServer, message } from './protocol/messages.ts'
import { sqlStates } from './refusals.ts'

const absentDatabase = '3D000'

/** The server refuses: its own words are for the client. */
export class ServerRefused extends Error {
  readonly whole: Buffer
  /** Whether it has no room for another backend. */
  readonly isFull: boolean

  constructor(content: Buffer) {
    super(errorField(content, 'M') ?? 'the server refused the connection')
    this.whole = message(fromServer.error, withHint(content))
    this.isFull = errorField(content, 'C') === sqlStates.too_many_connections
  }
}

/** For those whose address names no database, so that their client asks for one with the name of the user. */
const namesDatabases =
  'The address ends in the name of a database: /app, or that of one that you have made by CREATE DATABASE.'

function withHint(content: Buffer): Buffer {
  if (errorField(content, 'C') !== absentDatabase || errorField(content, 'H') !== null) return content
  return Buffer.concat([content.subarray(0, -1), Buffer.from(`H${namesDatabases}\0\0`)]) // it ends in an empty field
}

/** The login is another connection's: another one is to be tried. */
export class LoginTaken extends Error {}

/** The server does not let the proxy in any more as it was set up: that is nothing for the client. */
export class LoginLost extends Error {}

/** A login that is not right; a database that takes nobody, or has another name: so the owner may have made it. */
const lostStates = /^(?:28...|55000|3D000)$/
/** A database that the role may not use; the same state is that of settings which it may not set. */
const mayNotUse = /^permission denied for database /
/** The limits of a role and of a database, which the server tells from its own by its words only. */
const limitOf = { role: /^too many connections for role /, database: /^too many connections for database / }

/** What an error of the server's during a login means. */
export function loginFailure(content: Buffer): LoginLost | LoginTaken | ServerRefused {
  const message = errorField(content, 'M') ?? 'login refused'
  if (limitOf.role.test(message)) return new LoginTaken(message)
  const isLost =
    limitOf.database.test(message) || mayNotUse.test(message) || lostStates.test(errorField(content, 'C') ?? '')
  return isLost ? new LoginLost(message) : new ServerRefused(content)
}
