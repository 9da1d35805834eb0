/** A real tool server of the Model Context Protocol over streamable HTTP, which requires a bearer token. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { createMcpHandler, McpServer, type CallToolResult } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { freePort } from './ports.ts'

/** A running tool server. */
export type TestMcpServer = {
  url: string
  /** For BERTH_PRIVATE_HOSTS. */
  hostPort: string
  /** The bearer tokens that it received, one for each request. */
  tokens: string[]
  /** What its tool `show` returns. */
  shows: CallToolResult
  /** Handles a request instead of the server when it returns true. */
  intercept: ((req: IncomingMessage, res: ServerResponse, body: string) => boolean) | null
  close: () => Promise<void>
}

/** Starts one with the tools `add` and `show`; without `accepts` no token is needed. */
export async function startMcpServer(accepts: (token: string) => boolean = () => true): Promise<TestMcpServer> {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'test-tools', version: '1.0.0' })
    server.registerTool(
      'add',
      { description: 'Adds two numbers.', inputSchema: z.object({ a: z.number(), b: z.number() }) },
      async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
    )
    server.registerTool(
      'show',
      { description: 'Shows something.', inputSchema: z.object({}) },
      async () => running.shows,
    )
    return server
  })
  const port = await freePort()
  const server = createServer((req, res) => void serve(req, res).catch(() => res.destroy()))
  const running: TestMcpServer = {
    url: `http://127.0.0.1:${port}/mcp`,
    hostPort: `127.0.0.1:${port}`,
    tokens: [],
    shows: { content: [] },
    intercept: null,
    async close() {
      server.close()
      server.closeAllConnections()
      await handler.close()
    },
  }
  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = Buffer.concat((await req.toArray()) as Buffer[])
    const token = (req.headers.authorization ?? '').replace(/^Bearer /, '')
    running.tokens.push(token)
    if (running.intercept?.(req, res, body.toString())) return
    if (!accepts(token))
      return void res
        .writeHead(401, { 'content-type': 'application/json', 'www-authenticate': 'Bearer error="invalid_token"' })
        .end(JSON.stringify({ error: 'invalid_token', error_description: `${token} is not good` }))
    const headers = new Headers()
    for (const [name, value] of Object.entries(req.headers)) if (typeof value === 'string') headers.set(name, value)
    const answer = await handler.fetch(
      new Request(`http://127.0.0.1:${port}${req.url}`, {
        method: req.method ?? 'GET',
        headers,
        ...(body.length > 0 ? { body } : {}),
      }),
    )
    res.writeHead(answer.status, Object.fromEntries(answer.headers))
    if (answer.body) Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]).pipe(res)
    else res.end()
  }
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return running
}
