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

/** The role or the password of the proxy is not right any more: that is nothing for the client. */
export class LoginLost extends Error {}

/** The class of SQLSTATEs of a login that is not right. */
const loginClass = '28'

/** What an error of the server's during a login means. */
export function loginFailure(content: Buffer): LoginLost | ServerRefused {
  const isLost = errorField(content, 'C')?.startsWith(loginClass)
  return isLost ? new LoginLost(errorField(content, 'M') ?? 'login refused') : new ServerRefused(content)
}
