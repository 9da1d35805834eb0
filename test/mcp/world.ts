/** A client of Berth's tool server, as a program has one. */
import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client'
import { expect } from 'vitest'

/** What a tool answered, read. */
export type Answered = { isError: boolean; text: string; value: Record<string, unknown> }

/** A client that is connected. */
export type ToolClient = {
  client: Client
  /** Calls a tool that must not fail. */
  call: (name: string, args?: Record<string, unknown>) => Promise<Record<string, unknown>>
  /** Calls a tool that must fail. @returns what it says */
  refused: (name: string, args?: Record<string, unknown>) => Promise<string>
}

/** Connects. @param query of the address, such as `?read_only=1` */
export async function connectTools({ url }: { url: string }, token: string, query = ''): Promise<ToolClient> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  )
  const ask = async (name: string, args: Record<string, unknown>): Promise<CallToolResult> =>
    (await client.callTool({ name, arguments: args })) as CallToolResult
  return {
    client,
    async call(name, args = {}) {
      const { content, isError } = await ask(name, args)
      const [block] = content
      expect([name, isError ?? false, content.length, block?.type]).toEqual([name, false, 1, 'text'])
      return JSON.parse(block?.type === 'text' ? block.text : '') as Record<string, unknown>
    },
    async refused(name, args = {}) {
      const { content, isError } = await ask(name, args)
      const [block] = content
      expect(isError, name).toBe(true)
      return block?.type === 'text' ? block.text : ''
    },
  }
}
