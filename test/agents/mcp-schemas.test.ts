/** What a tool server says its answers look like is not believed, and not checked. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { withMcp } from '#src/drivers/mcp/connection.ts'
import { checkArguments } from '#src/resources/agents/tools/argument-verdicts.ts'
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
          ? { content: [], structuredContent: { x: `${'a'.repeat(34)}!` } }
          : null
    if (result)
      res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } }))
    return result !== null
  }
  const answer = await withMcp(
    { url: tools.url, token: null, fetch: (url, init) => fetch(url, init), limitMs: 10_000 },
    async (connection) => {
      await connection.listTools()
      return connection.callTool('add', {})
    },
  )
  expect(answer).toMatchObject({ result: { structuredContent: { x: expect.stringMatching(/!$/) } } })
})

test('a model is told in words which arguments are missing and which are unknown', () => {
  const schema = {
    type: 'object',
    required: ['session_id'],
    properties: { session_id: { type: 'string' }, place: { type: 'object', required: ['row'] } },
    additionalProperties: false,
  }
  expect(checkArguments({ schema, input: { session_id: 'a' } })).toBeNull()
  expect(checkArguments({ schema, input: { agent_id: 'a' } })).toEqual({
    mismatch: 'session_id is required. agent_id is unknown.',
  })
  expect(checkArguments({ schema, input: { session_id: 'a', place: {} } })).toEqual({
    mismatch: expect.stringContaining('place/row is required.'),
  })
})
