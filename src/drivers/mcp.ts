/** Tool servers: the client of the Model Context Protocol over streamable HTTP, by the guarded fetch. */
import {
  Client,
  StreamableHTTPClientTransport,
  type FetchLike,
  type jsonSchemaValidator,
} from '@modelcontextprotocol/client'
import type { OutboundFetch } from './outbound-fetch.ts'

/** A server, and the token to send as `Authorization: Bearer`, if any. */
export type McpTarget = {
  url: string
  token: string | null
  fetch: OutboundFetch
  limitMs: number
  signal?: AbortSignal
}

/**
 * Skips validating results against the server's schema: results are text for a model, and a malicious schema could take
 * forever.
 */
const unchecked: jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
} // everything is valid

/**
 * Connects, does the work and disconnects. Connecting and each request may take `limitMs`.
 * @throws what the client throws: an SdkError, or what `fetch` threw.
 */
export async function withMcp<Result>(
  { url, token, fetch, limitMs, signal }: McpTarget,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: fetch as FetchLike, // the same function by another name
    redirectPolicy: 'same-origin', // a token is sent only to its own server, not along redirects
    requestInit: token === null ? {} : { headers: { authorization: `Bearer ${token}` } },
  })
  const client = new Client({ name: 'berth', version: '1' }, { jsonSchemaValidator: unchecked })
  const options = { timeout: limitMs, maxTotalTimeout: limitMs, ...(signal ? { signal } : {}) }
  try {
    await client.connect(transport, options)
    return await work(client)
  } finally {
    await client.close()
  }
}
