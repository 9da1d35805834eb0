/** How a server refuses a login of the proxy. */
import { errorField, fromServer, message } from './protocol/messages.ts'
import { sqlStates } from './refusals.ts'

/** The server refuses: its own words are for the client. */
export class ServerRefused extends Error {
  readonly whole: Buffer
  /** Whether it has no room for another backend. */
  readonly isFull: boolean

  constructor(content: Buffer) {
    super(errorField(content, 'M') ?? 'the server refused the connection')
    this.whole = message(fromServer.error, content)
    this.isFull = errorField(content, 'C') === sqlStates.too_many_connections
  }
}

/** The login is another connection's: another one is to be tried. */
export class LoginTaken extends Error {}

/** The role or the password of the proxy is not right any more: that is nothing for the client. */
export class LoginLost extends Error {}

/** The class of SQLSTATEs of a login that is not right. */
const loginClass = '28'
/** The limit of a role, which the server tells from its own by its words only. */
const rolesLimit = /^too many connections for role /

/** What an error of the server's during a login means. */
export function loginFailure(content: Buffer): LoginLost | LoginTaken | ServerRefused {
  const said = errorField(content, 'M') ?? 'login refused'
  if (rolesLimit.test(said)) return new LoginTaken(said)
  return errorField(content, 'C')?.startsWith(loginClass) ? new LoginLost(said) : new ServerRefused(content)
}
