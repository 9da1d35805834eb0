/** One organization's GraphQL client: a normalized cache, requests by POST, streams by one socket. The cookie signs both. */
import { cacheExchange } from '@urql/exchange-graphcache'
import { Client, fetchExchange, mapExchange, subscriptionExchange, type CombinedError } from 'urql'
import { followLists } from './lists.ts'
import { possibleTypes } from '../generated/possible-types.ts'
import { openSocket, type Socket } from './socket.ts'

const organizationHeader = 'berth-organization'
const path = '/graphql'

/** A client, and the socket of its streams. */
export type Berth = { client: Client; socket: Socket }

/**
 * Opens one. Nothing is sent yet.
 * @param organizationId without it, only what belongs to the person can be asked.
 * @param onSignedOut the session has ended.
 */
export function openBerth(organizationId: string | null, onSignedOut: () => void): Berth {
  const headers: Record<string, string> = organizationId === null ? {} : { [organizationHeader]: organizationId }
  const url = new URL(path, location.href)
  const socketUrl = new URL(url)
  socketUrl.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  const socket = openSocket(socketUrl.href, headers)
  const client = new Client({
    url: url.href,
    preferGetMethod: false,
    fetchOptions: { headers, credentials: 'same-origin' },
    requestPolicy: 'cache-and-network',
    exchanges: [
      mapExchange({ onError: (error) => void (isSignedOut(error) && onSignedOut()) }),
      cacheExchange({
        ...followLists(),
        possibleTypes,
        keys: new Proxy({}, { get: (_keys, type) => (named.has(String(type)) ? () => null : keyOf) }),
      }),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query = '', variables }) => ({
          subscribe: (sink) => ({
            unsubscribe: socket.subscribe({ query, variables: variables as Record<string, unknown> }, sink as never),
          }),
        }),
      }),
    ],
  })
  return { client, socket }
}

/** Types whose id names another object, and not what they say of it here: how an agent uses a model, say. */
const named: ReadonlySet<string> = new Set(['AgentModel', 'AgentMcpService', 'AgentReference'])

/** What has no id is kept within what it belongs to. */
function keyOf(data: { id?: unknown }): string | null {
  return typeof data.id === 'string' ? data.id : null
}

/** Whether an error says that nobody is signed in. */
export function isSignedOut(error: CombinedError): boolean {
  return error.graphQLErrors.some(
    ({ extensions }) => extensions['code'] === 'UNAUTHENTICATED' || httpStatusOf(extensions) === 401,
  )
}

function httpStatusOf(extensions: Record<string, unknown>): unknown {
  const http = extensions['http']
  return typeof http === 'object' && http !== null && 'status' in http ? http.status : undefined
}
