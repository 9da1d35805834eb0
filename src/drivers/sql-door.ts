/** The way of `POST /sql` from the web process to the edge process, which runs the statements: HTTP on a socket of this host. */
import { join } from 'node:path'
import { Agent, request, type Dispatcher } from 'undici'
import { BerthError } from '#src/platform/errors.ts'

/** Where the edge process listens. */
export function sqlDoorPlace(runDir: string): string {
  return join(runDir, 'edge.sock')
}

/**
 * What the web process adds: the host name that the caller asked for, its address, and that the web process itself has let
 * the caller in as the owner. Only processes of Berth reach the socket, and none of these is passed on from a client.
 */
export const sqlDoorHeaders = { host: 'x-berth-host', address: 'x-berth-address', isOwner: 'x-berth-is-owner' } as const

/** Headers of a caller that the edge process reads. */
const passedOn = [
  'authorization',
  'neon-connection-string',
  'neon-array-mode',
  'neon-raw-text-output',
  'neon-batch-isolation-level',
  'neon-batch-read-only',
  'neon-batch-deferrable',
] as const

const connectionsMax = 1024 // each database has a small part of them: limits.sqlRequestsPerDatabase
const silenceMs = 90_000 // statements are cancelled before

/** A caller's request, and where it comes from. */
export type SqlDoorRequest = {
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
  host: string
  address: string
  /** Whether the caller may do what the owner of the database may, without a token of it. */
  isOwner?: boolean
  signal: AbortSignal
}

/** Passes a request on. @throws BerthError service_unavailable when the edge process does not answer */
export type SqlDoorClient = (asked: SqlDoorRequest) => Promise<Dispatcher.ResponseData>

const clients = new Map<string, SqlDoorClient>()

/** This process's client of the edge process whose socket is in this folder. */
export function sqlDoorClient(runDir: string): SqlDoorClient {
  const known = clients.get(runDir) ?? makeClient(runDir)
  clients.set(runDir, known)
  return known
}

function makeClient(runDir: string): SqlDoorClient {
  const agent = new Agent({ connect: { socketPath: sqlDoorPlace(runDir) }, connections: connectionsMax })
  return async ({ headers, body, host, address, isOwner = false, signal }) => {
    const passed = Object.fromEntries(
      passedOn.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : [])),
    )
    try {
      return await request('http://edge/sql', {
        method: 'POST',
        dispatcher: agent,
        headers: {
          ...passed,
          [sqlDoorHeaders.host]: host,
          [sqlDoorHeaders.address]: address,
          ...(isOwner ? { [sqlDoorHeaders.isOwner]: '1' } : {}),
        },
        body,
        headersTimeout: silenceMs,
        bodyTimeout: silenceMs,
        signal,
      })
    } catch (error) {
      if (signal.aborted) throw error
      throw new BerthError(
        'service_unavailable',
        'The process that lets clients in to databases does not answer. Try again in a few seconds.',
        { retryAfterSeconds: 2 },
      )
    }
  }
}
