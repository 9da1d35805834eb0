/** The tools of agents' tool servers in GraphQL. */
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import type { McpTool } from '#src/resources/agents/mcp/servers.ts'
import { listMcpTools, type McpServerTools } from '#src/resources/agents/mcp-tools.ts'

const mcpServerStatus = enumOf('McpServerStatus', 'How a tool server answered.', {
  ok: 'It listed its tools.',
  auth_required: 'It wants a credential.',
  unreachable: 'It did not answer in time, or not as a tool server does.',
} satisfies Record<McpServerTools['status'], string>)
const mcpTool = builder.objectRef<McpTool>('McpTool').implement({
  description: 'A tool as its server describes it.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'What the server calls it.' }),
    description: t.exposeString('description', { nullable: true, description: 'What the server says of it.' }),
    inputSchema: t.field({
      type: 'JSON',
      description: 'JSON Schema of its input.',
      resolve: ({ inputSchema }) => inputSchema,
    }),
  }),
})
const mcpServerTools = builder.objectRef<McpServerTools>('McpServerTools').implement({
  description: 'A tool server of an agent, and what it offers right now.',
  fields: (t) => ({
    serverName: t.exposeString('serverName', { description: 'What the agent calls it.' }),
    url: t.exposeString('url', { description: 'Its address.' }),
    status: t.field({ type: mcpServerStatus, description: 'How it answered.', resolve: ({ status }) => status }),
    error: t.exposeString('error', { nullable: true, description: 'What was wrong, as a sentence.' }),
    tools: t.field({ type: [mcpTool], description: 'Its tools.', resolve: ({ tools }) => tools }),
  }),
})

builder.queryFields((t) => ({
  agentMcpTools: t.field({
    type: [mcpServerTools],
    description: 'Asks every tool server of an agent for its tools, 10 s each. Errors: NOT_FOUND.',
    args: { id: t.arg.id({ required: true, description: 'The agent.' }) },
    resolve: (_, { id }, call) => listMcpTools(call, id),
  }),
}))
