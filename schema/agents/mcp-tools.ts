/** The tools of agents' tool servers in GraphQL. */
import { builder } from '../builder.ts'
import { jsonObject } from '../words.ts'
import { enumOf } from '../enums.ts'
import type { McpTool } from '#src/drivers/mcp/tools.ts'
import { listMcpTools, type McpServerTools } from '#src/resources/agents/mcp-tools.ts'

const mcpServerStatus = enumOf('McpServerStatus', 'The outcome of asking a tool server for its tools.', {
  ok: 'It listed its tools.',
  auth_required: 'It requires a credential.',
  unreachable: 'It did not answer in time, or its answer was not valid.',
} satisfies Record<McpServerTools['status'], string>)
/** A tool of a tool server. */
export const mcpTool = builder.objectRef<McpTool>('McpTool').implement({
  description: 'A tool as its server describes it.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name on the server.' }),
    description: t.exposeString('description', { nullable: true, description: 'The server’s description of it.' }),
    inputSchema: t.field({
      type: 'JSON',
      ...jsonObject,
      description: 'JSON Schema of its input.',
      resolve: ({ inputSchema }) => inputSchema,
    }),
  }),
})
const mcpServerTools = builder.objectRef<McpServerTools>('McpServerTools').implement({
  description: 'A tool server or connector of an agent, and the tools it offers now.',
  fields: (t) => ({
    serverName: t.exposeString('serverName', {
      description: 'Its name in the agent’s definition; the id of a connector.',
    }),
    url: t.exposeString('url', { description: 'Its address; empty for a connector that is no longer offered here.' }),
    status: t.field({ type: mcpServerStatus, description: 'The outcome.', resolve: ({ status }) => status }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'What went wrong, as a sentence; with the status OK, which of its tools were left out and why.',
    }),
    tools: t.field({ type: [mcpTool], description: 'Its tools.', resolve: ({ tools }) => tools }),
  }),
})

builder.queryFields((t) => ({
  agentMcpTools: t.field({
    type: [mcpServerTools],
    description:
      'Asks every tool server and connector of an agent for its tools, with a time limit of 10 s each. Errors: NOT_FOUND.',
    args: { agentId: t.arg.id({ required: true, description: 'The agent.' }) },
    resolve: (_, { agentId }, call) => listMcpTools(call, agentId),
  }),
}))
