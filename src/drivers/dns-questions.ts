/**
 * Questions to name servers. The names, and so the answers, are anybody's, and the library that Node has for them reads an
 * answer of 64 KiB in one go, which takes it up to 60 ms: they are asked and read in a thread.
 */
import { Worker } from 'node:worker_threads'
import { log } from '#src/platform/log.ts'

/** What is asked for. */
export type DnsRecord = 'A' | 'AAAA' | 'CNAME' | 'NS' | 'TXT'

/** A question. `servers`: those to ask, in this order; null for the host's own. `limitMs`: for each of so many `tries`. */
export type DnsQuestion = {
  record: DnsRecord
  name: string
  servers: readonly string[] | null
  limitMs: number
  tries: number
}

/** That there is no answer, or that it says no. `code` is c-ares's, such as ENOTFOUND. */
export class DnsError extends Error {
  readonly code: string
  constructor(code: string) {
    super(`The DNS says no: ${code}.`)
    this.name = 'DnsError'
    this.code = code
  }
}

/** What the thread is told: to ask, or that nobody waits for an answer any more. */
export type ToThread = { id: number; question: DnsQuestion | null }
/** What it says. */
export type FromThread = { id: number; values: string[] } | { id: number; code: string }

/** How much the thread may keep: answers of 64 KiB, of as many as are asked at once. Unit: megabytes. */
const memoryMegabytes = 128

type Asked = { resolve: (values: string[]) => void; reject: (error: DnsError) => void }

let worker: Worker | null = null
let lastId = 0
const asked = new Map<number, Asked>()

/**
 * Asks. @returns the first `valuesMax` values of the record: addresses, names, or texts that are each in one piece.
 * @throws DnsError, with ECANCELLED once the signal is aborted.
 */
export function askDns(question: DnsQuestion, signal: AbortSignal): Promise<string[]> {
  if (signal.aborted) return Promise.reject(new DnsError('ECANCELLED'))
  const id = ++lastId
  const thread = worker ?? start()
  const { promise, resolve, reject } = Promise.withResolvers<string[]>()
  const cancel = (): void => {
    thread.postMessage({ id, question: null } satisfies ToThread)
    settle(id)?.reject(new DnsError('ECANCELLED'))
  }
  signal.addEventListener('abort', cancel, { once: true })
  if (asked.size === 0) thread.ref()
  asked.set(id, { resolve, reject })
  thread.postMessage({ id, question } satisfies ToThread)
  return promise.finally(() => signal.removeEventListener('abort', cancel))
}

/** Whose answer has come. */
function settle(id: number): Asked | undefined {
  const one = asked.get(id)
  asked.delete(id)
  if (asked.size === 0) worker?.unref() // it keeps the process while somebody waits, and no longer
  return one
}

function start(): Worker {
  const started = new Worker(new URL('./dns-thread.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: memoryMegabytes },
    env: {},
    stdin: false,
  })
  started.on('message', (message: FromThread) => {
    if ('values' in message) settle(message.id)?.resolve(message.values)
    else settle(message.id)?.reject(new DnsError(message.code))
  })
  started.on('error', (error: Error) => log.warn({ reason: error.message }, 'the thread of the DNS failed'))
  started.on('exit', () => {
    worker = null
    for (const id of asked.keys()) settle(id)?.reject(new DnsError('EDESTRUCTION'))
  })
  worker = started
  return started
}
