/** Tool servers: the client of the Model Context Protocol over streamable HTTP, by the guarded fetch. */
import { Client, StreamableHTTPClientTransport, type FetchLike } from '@modelcontextprotocol/client'
import type { OutboundFetch } from './outbound-fetch.ts'

/** A server, and what is sent to it as `Authorization: Bearer`, when there is something. */
export type McpTarget = { url: string; token: string | null; fetch: OutboundFetch; limitMs: number; signal?: AbortSignal }

/**
 * Connects, works, and leaves. Connecting and each request may take `limitMs`.
 * @throws what the client throws: an SdkError, or what `fetch` threw.
 */
export async function withMcp<Result>({ url, token, fetch, limitMs, signal }: McpTarget, work: (client: Client) => Promise<Result>): Promise<Result> {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: fetch as FetchLike, // the same function by another name
    redirectPolicy: 'same-origin', // a token goes where its owner said, and nowhere else
    requestInit: token === null ? {} : { headers: { authorization: `Bearer ${token}` } },
  })
  const client = new Client({ name: 'berth', version: '1' })
  const options = { timeout: limitMs, maxTotalTimeout: limitMs, ...(signal ? { signal } : {}) }
  try {
    await client.connect(transport, options)
    return await work(client)
  } finally {
    await client.close()
  }
}
