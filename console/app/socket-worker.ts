/** Holds the streams of all tabs: one socket for each organization that they show. It ends with the last tab. */
import { createClient, type Client } from 'graphql-ws'
import { socketOptions, type FromTab, type ToTab } from './socket-messages.ts'

type Port = { postMessage(message: ToTab): void; onmessage: ((event: { data: FromTab }) => void) | null }

/** What comes within so long goes to a tab as one message. */
const togetherMs = 8

const clients = new Map<string, Client>()

function clientOf(url: string, headers: Record<string, string>): Client {
  const key = JSON.stringify([url, headers])
  const known = clients.get(key)
  if (known) return known
  const made = createClient(socketOptions(url, headers))
  clients.set(key, made)
  return made
}

/** Passes values on: the first at once, what follows within a moment together. */
function gather(port: Port): { next: (id: string, value: unknown) => void; flush: () => void } {
  let waiting: [string, unknown][] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (waiting.length === 0) return
    port.postMessage({ type: 'next', values: waiting })
    waiting = []
    timer = setTimeout(flush, togetherMs)
  }
  return {
    next(id, value) {
      waiting.push([id, value])
      if (timer === undefined) flush()
    },
    flush,
  }
}

function serve(port: Port): void {
  const values = gather(port)
  let client: Client | undefined
  const open = new Map<string, () => void>()
  const leave = (): void => {
    for (const end of open.values()) end()
    open.clear()
  }
  port.onmessage = ({ data }) => {
    if (data.type === 'open') {
      client = clientOf(data.url, data.headers)
      void navigator.locks.request(data.tab, leave)
    } else if (data.type === 'subscribe')
      open.set(
        data.id,
        begin(port, values, client, data, () => open.delete(data.id)),
      )
    else if (data.type === 'terminate') client?.terminate()
    else {
      open.get(data.id)?.()
      open.delete(data.id)
    }
  }
}

function begin(
  port: Port,
  values: ReturnType<typeof gather>,
  client: Client | undefined,
  { id, operation }: Extract<FromTab, { type: 'subscribe' }>,
  forget: () => void,
): () => void {
  if (!client) return () => undefined
  return client.subscribe(operation, {
    next: (value) => values.next(id, value),
    error: (error) => {
      forget()
      values.flush()
      port.postMessage({ type: 'error', id, error: plainError(error) })
    },
    complete: () => {
      forget()
      values.flush()
      port.postMessage({ type: 'complete', id })
    },
  })
}

/** What can be sent to a tab: a list of GraphQL’s errors as it is, everything else as a message. */
function plainError(error: unknown): unknown {
  if (Array.isArray(error)) return JSON.parse(JSON.stringify(error)) as unknown
  if (error instanceof Error) return new Error(error.message)
  const { code, reason } = error as { code?: number; reason?: string }
  return new Error(`The connection ended${code ? ` (${code})` : ''}. ${reason ?? ''}`.trim())
}

const scope = globalThis as unknown as { onconnect: (event: { ports: readonly Port[] }) => void }
scope.onconnect = ({ ports: [port] }) => port && serve(port)
