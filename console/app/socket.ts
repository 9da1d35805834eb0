/** The socket of a page's streams: one for all tabs of a browser, in a worker that they share; a tab's own where there is none. */
import { createClient } from 'graphql-ws'
import workerUrl from './socket-worker.ts?sharedworker&url'
import { socketOptions, type FromTab, type Operation, type Sink, type ToTab } from './socket-messages.ts'

/** What streams go by. */
export type Socket = {
  /** @returns a function that ends it. */
  subscribe(operation: Operation, sink: Sink): () => void
  /** Cuts the connection: what is open ends with an error. */
  terminate(): void
  /** Ends everything that this page has open. */
  dispose(): void
}

/** Opens one; nothing is connected before the first stream. */
export function openSocket(url: string, headers: Record<string, string>): Socket {
  return 'SharedWorker' in window && 'locks' in navigator ? shareSocket(url, headers) : ownSocket(url, headers)
}

function ownSocket(url: string, headers: Record<string, string>): Socket {
  const client = createClient(socketOptions(url, headers))
  return {
    subscribe: (operation, sink) => client.subscribe(operation, sink as never),
    terminate: () => client.terminate(),
    dispose: () => void client.dispose(),
  }
}

function shareSocket(url: string, headers: Record<string, string>): Socket {
  const { port } = new SharedWorker(trusted(workerUrl), { type: 'module', name: 'berth-streams' })
  const sinks = new Map<string, Sink>()
  const tab = crypto.randomUUID()
  const send = (message: FromTab): void => port.postMessage(message)
  // The worker waits for this lock: when the tab has gone, however it went, it gets it, and ends what the tab has open.
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  void navigator.locks.request(tab, () => held)
  port.onmessage = ({ data }: MessageEvent<ToTab>) => {
    if (data.type === 'next') {
      for (const [id, value] of data.values) sinks.get(id)?.next(value as never)
      return
    }
    const sink = sinks.get(data.id)
    sinks.delete(data.id)
    if (data.type === 'error') sink?.error(data.error)
    else sink?.complete()
  }
  send({ type: 'open', tab, url, headers })
  let count = 0
  return {
    subscribe(operation, sink) {
      const id = String(count++)
      sinks.set(id, sink)
      send({ type: 'subscribe', id, operation })
      return () => {
        if (sinks.delete(id)) send({ type: 'end', id })
      }
    },
    terminate: () => send({ type: 'terminate' }),
    dispose: release, // as when the tab goes
  }
}

type Policies = {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string }
}

/** The page's policy takes a script's address only from a policy of ours, which knows this one. */
function trusted(url: string): string {
  const policies = (window as { trustedTypes?: Policies }).trustedTypes
  return policies ? policies.createPolicy('berth', { createScriptURL: () => url }).createScriptURL(url) : url
}
