/** Readers of streamed chats: when the first token came, and how long each chunk took from the upstream's hand to ours. */
import { Agent, request } from 'node:http'
import { median, quantile } from './rounds.ts'

/** A gateway, and how to send it requests. */
export type Gateway = {
  name: string
  url: string
  headers: Readonly<Record<string, string>>
  model: (name: string) => string
  /**
   * Where it is asked, what has the conversation, what its format wants besides, and the event from which on a stream
   * repeats what it has sent; absent: chat completions.
   */
  format?: { path: string; conversation: string; more: Readonly<Record<string, unknown>>; repeatsFrom?: string }
  pids: readonly number[]
}

/** One stream: milliseconds. */
type Stream = { firstMs: number; chunks: number; relayMs: number[] }

/** What several streams saw together. */
export type Streams = {
  firstMs: number
  first99Ms: number
  relayMs: number
  relay99Ms: number
  chunksPerSecond: number
  streamsPerSecond: number
  lost: number
}

const keptCharacters = 65_536
const prompt = [
  { role: 'system', content: 'be brief '.repeat(30) },
  { role: 'user', content: 'hello '.repeat(60) },
]

/** The address that a gateway is asked at. */
export function chatUrl({ url, format }: Gateway): string {
  return `${url}${format?.path ?? '/v1/chat/completions'}`
}

/** The body that every gateway is sent: about 800 bytes. */
export function chatBody(gateway: Gateway, mock: string, stream: boolean): string {
  const { format } = gateway
  return JSON.stringify({
    model: gateway.model(mock),
    [format?.conversation ?? 'messages']: prompt,
    ...format?.more,
    ...(stream ? { stream: true } : {}),
  })
}

/** Reads that many streams, with the given concurrency. */
export async function readStreams(
  gateway: Gateway,
  { total, atOnce, chunks, waitMs }: { total: number; atOnce: number; chunks: number; waitMs: number },
): Promise<Streams> {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
  const body = chatBody(gateway, `mock-${chunks}-${waitMs}`, true)
  const streams: Stream[] = []
  let left = total
  const startedMs = performance.now()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) streams.push(await readStream(gateway, agent, body))
    }),
  )
  const seconds = (performance.now() - startedMs) / 1000
  agent.destroy()
  const first = streams.map((one) => one.firstMs)
  const relay = streams.flatMap((one) => one.relayMs)
  return {
    firstMs: median(first),
    first99Ms: quantile(first, 0.99),
    relayMs: median(relay),
    relay99Ms: quantile(relay, 0.99),
    chunksPerSecond: relay.length / seconds,
    streamsPerSecond: total / seconds,
    lost: streams.filter((one) => one.chunks !== chunks).length,
  }
}

function readStream(gateway: Gateway, agent: Agent, body: string): Promise<Stream> {
  const { headers, name, format } = gateway
  return new Promise((resolve, reject) => {
    const startedNs = process.hrtime.bigint()
    const stream: Stream = { firstMs: 0, chunks: 0, relayMs: [] }
    let carry = ''
    const asking = request(
      chatUrl(gateway),
      {
        method: 'POST',
        agent,
        headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      },
      (answer) => {
        if (answer.statusCode !== 200) {
          answer.resume()
          reject(new Error(`${name} answered ${answer.statusCode}`))
          return
        }
        let isRepeating = false
        answer.on('data', (data: Buffer) => {
          if (isRepeating) return
          const nowNs = process.hrtime.bigint()
          carry += data.toString('latin1')
          const repeatedAt = format?.repeatsFrom === undefined ? -1 : carry.indexOf(format.repeatsFrom)
          isRepeating = repeatedAt >= 0
          let taken = 0
          for (const match of (isRepeating ? carry.slice(0, repeatedAt) : carry).matchAll(/T(\d{10,}) /g)) {
            if (stream.chunks++ === 0) stream.firstMs = Number(nowNs - startedNs) / 1e6
            stream.relayMs.push(Number(nowNs - BigInt(match[1] ?? 0)) / 1e6)
            taken = match.index + match[0].length
          }
          carry = carry.slice(taken).slice(-keptCharacters)
        })
        answer.on('end', () => resolve(stream))
        answer.on('error', reject)
      },
    )
    asking.on('error', reject)
    asking.end(body)
  })
}
