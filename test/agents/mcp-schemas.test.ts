/** What a tool server says its answers look like is not believed, and not checked. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { withMcp } from '#src/drivers/mcp.ts'
import { startMcpServer, type TestMcpServer } from '../support/mcp-server.ts'

let tools: TestMcpServer
beforeAll(async () => {
  tools = await startMcpServer()
})
afterAll(() => tools?.close())

test('a result schema that would take forever to validate does not block the process', async () => {
  const outputSchema = { type: 'object', properties: { x: { type: 'string', pattern: '^(a+)+$' } } }
  tools.intercept = (_req, res, body) => {
    const { id, method } = JSON.parse(body || '{}') as { id?: number; method?: string }
    const result =
      method === 'tools/list'
        ? { tools: [{ name: 'add', inputSchema: { type: 'object' }, outputSchema }] }
        : method === 'tools/call'
          ? { content: [], structuredContent: { x: `${'a'.repeat(29)}!` } }
          : null
    if (result)
      res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } }))
    return result !== null
  }
  const startedMs = performance.now()
  const answer = await withMcp(
    { url: tools.url, token: null, fetch: (url, init) => fetch(url, init), limitMs: 10_000 },
    async (client) => {
      await client.listTools()
      return client.callTool({ name: 'add', arguments: {} })
    },
  )
  expect(answer.structuredContent).toEqual({ x: expect.stringMatching(/!$/) })
  expect(performance.now() - startedMs).toBeLessThan(3_000)
})
