/** The caller of a web socket: authenticated by its first message, and checked again for as long as it is open. */
import type { IncomingMessage } from 'node:http'
import { CloseCode, type Context as SocketContext } from 'graphql-ws'
import type { WebSocket } from 'ws'
import { bearerOf, countRefusedCredential, type Credential } from '#schema/context.ts'
import { watchCaller } from '#schema/watch-caller.ts'
import { allowAgain, type Caller, type Grant } from '#src/platform/access.ts'
import { callerName } from '#src/platform/access/callers.ts'
import { actingInNamed, organizationHeader } from '#src/platform/access/organizations.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newId } from '#src/platform/ids.ts'
import { ownCookieOf } from '#src/identity/browser-cookies.ts'
import { beginStream } from '#src/platform/streams/open-streams.ts'
import type { GraphqlCall } from './graphql-operations.ts'
import { showError } from './graphql-errors.ts'
import type { GraphqlParts } from './graphql-http.ts'
import { closeSaying } from './web-sockets/closing.ts'

const tryAgainLater = 1013
const ended = 4401 // the caller's permission ended while the socket was open

/**
 * One socket: its caller once authenticated, its open operations, and how many are being started. `largeResults`: the
 * texts of results that are about to be sent, by their placeholders.
 */
export type Peer = {
  socket: WebSocket
  request: IncomingMessage
  address: string
  caller: Caller | null
  credential: Credential | undefined
  /** The organization that the first message named. */
  organizationId: unknown
  leave: () => void
  open: Map<string, Operation>
  beginning: number
  largeResults: Map<string, Buffer>
}

/** One operation on a socket: the permissions that it was granted, and, if one was lost, why it ended. `over` counts it as ended. */
export type Operation = {
  over: () => void
  call: GraphqlCall
  grants: readonly Grant[]
  gone: AbortController
  refusal: BerthError | null
}

/** The fields of a socket's first message. */
export type Init = Record<string, unknown>

/** A socket in graphql-ws's form. */
export type Socket = SocketContext<Init, Peer>

/**
 * Authenticates the caller. A refused credential closes the socket with 4403; without one the caller is `nobody`, whom
 * resolvers refuse.
 */
export async function connect(socket: Socket, { services, authenticator }: GraphqlParts): Promise<boolean> {
  const peer = socket.extra
  const named = headersIn(socket.connectionParams)
  peer.credential = bearerOf(named) ?? bearerOf(peer.request.headers) ?? ownCookieOf(peer.request, services.config)
  peer.organizationId = named[organizationHeader] ?? peer.request.headers[organizationHeader]
  try {
    peer.caller = await authenticator.authenticate(peer.credential)
    if (peer.caller.kind !== 'nobody') {
      const refusal = refusalOf(peer)
      if (refusal) {
        close(peer, CloseCode.Forbidden, refusal)
        return false
      }
      remain(
        peer,
        callerName(peer.caller),
        peer.credential === undefined
          ? undefined
          : watchCaller(
              authenticator,
              peer.credential,
              (now) => endRefused(peer, now),
              (refusal) => close(peer, ended, refusal),
            ),
      )
      return true
    }
    if (peer.credential === undefined) {
      remain(peer, peer.address)
      return true
    }
    await countRefusedCredential(services.limiter, peer.address)
    close(peer, CloseCode.Forbidden, peer.caller.refusal)
  } catch (error) {
    close(peer, tryAgainLater, showError(error, newId('request')).error)
  }
  return false
}

/** Counts the socket for its caller until it closes. @throws BerthError rate_limited when the caller has too many. */
function remain(
  peer: Peer,
  whose: string,
  unwatch: () => void = () => {
    /* an anonymous caller has no permission that could end */
  },
): void {
  peer.leave = unwatch
  const over = beginStream('websocket', whose)
  peer.leave = () => {
    unwatch()
    over()
  }
  if (peer.socket.readyState !== peer.socket.OPEN) peer.leave() // it closed meanwhile
}

/** Why the caller may not act for the organization that the first message named, if they may not. */
function refusalOf({ caller, organizationId }: Peer): BerthError | null {
  try {
    if (caller) actingInNamed(caller, organizationId)
    return null
  } catch (refusal) {
    if (refusal instanceof BerthError) return refusal
    throw refusal
  }
}

/** The headers in `connection_init`: `{"authorization": "Bearer …"}`, in upper or lower case, or inside `headers`. */
function headersIn(init: Readonly<Init> | undefined): Readonly<Record<string, string>> {
  const inner = init?.['headers']
  const merged = { ...init, ...(typeof inner === 'object' ? inner : {}) }
  return Object.fromEntries(
    Object.entries(merged)
      .filter((entry): entry is [string, string] => typeof entry[1] === 'string')
      .map(([name, value]) => [name.toLowerCase(), value]),
  )
}

/** Ends the operations that the caller's current rights no longer permit; the others continue. */
function endRefused({ open }: Peer, now: Caller): void {
  for (const operation of open.values()) {
    try {
      allowAgain(now, operation.grants)
    } catch (refusal) {
      if (!(refusal instanceof BerthError)) throw refusal
      operation.refusal = refusal
      operation.gone.abort()
    }
  }
}

function close({ socket }: Peer, code: number, { message }: { message: string }): void {
  closeSaying(socket, code, message)
}
