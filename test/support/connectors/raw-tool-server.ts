/** A tool server whose every answer a test writes itself. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { freePort } from '../ports.ts'

/** A request of a client; `id` undefined for a notification. */
export type RawRequest = {
  id?: number
  method?: string
  params?: Record<string, unknown>
  result?: unknown
  error?: unknown
}

/** What it received: the request, its session and the method of HTTP. */
export type Received = RawRequest & { http: string; session: string | undefined; lastEvent: string | undefined }

/** A running one. */
export type RawToolServer = { url: string; hostPort: string; received: Received[]; close: () => void }

/** The result of a method as a good server gives it. */
export const goodResults: Readonly<Record<string, Record<string, unknown>>> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: { listChanged: false } },
    serverInfo: { name: 'raw', version: '1', title: 'Raw' },
    instructions: 'None.',
  },
  'tools/list': {
    tools: [
      { name: 'first', description: 'The first.', inputSchema: { type: 'object', properties: {}, required: [] } },
    ],
  },
  'tools/call': { content: [{ type: 'text', text: '42' }], structuredContent: { a: 1 }, isError: false },
}

/** Answers with JSON. */
export function sendJson(res: ServerResponse, body: unknown, headers: Record<string, string> = {}, status = 200): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers })
  res.end(typeof body === 'string' ? body : JSON.stringify(body))
}

/** Starts one. @param answer answers what has an id, or is no POST; all else gets 202. */
export async function startRawToolServer(
  answer: (request: Received, res: ServerResponse) => void,
): Promise<RawToolServer> {
  const port = await freePort()
  const received: Received[] = []
  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const text = Buffer.concat((await req.toArray()) as Buffer[]).toString()
    const request: Received = {
      ...(JSON.parse(text || '{}') as RawRequest),
      http: req.method ?? '',
      session: req.headers['mcp-session-id'] as string | undefined, // one value
      lastEvent: req.headers['last-event-id'] as string | undefined, // one value
    }
    received.push(request)
    if (req.method === 'POST' && (request.id === undefined || request.method === undefined))
      return void res.writeHead(202).end()
    answer(request, res)
  }
  const server = createServer((req, res) => void serve(req, res).catch(() => res.destroy()))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    hostPort: `127.0.0.1:${port}`,
    received,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
