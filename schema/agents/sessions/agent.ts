/** The agent of a session as it was when the session started, with the overrides of the session. */
import { builder } from '../../builder.ts'
import { agentModel, agentType, mcpServer, mcpService, skill } from '../agents.ts'
import { agentTool } from '../agents/tools.ts'
import { wireAgent, type Session } from '#src/resources/agents/sessions/rows.ts'

/** The agent of a session. */
export const sessionAgent = builder.objectRef<Session>('SessionAgent').implement({
  description: 'An agent as it was when a session started, with the overrides of the session.',
  fields: (t) => ({
    agentId: t.id({ description: 'The agent.', resolve: (session) => String(wireAgent(session)['id']) }),
    agent: t.field({
      type: agentType,
      nullable: true,
      description: 'The agent as it is now; null for one of Berth’s own.',
      resolve: ({ agentId }) => agentId,
    }),
    version: t.exposeInt('agentVersion', { description: 'The version that the session started with.' }),
    name: t.string({ description: 'Its name.', resolve: ({ agentDefinition }) => agentDefinition.name }),
    description: t.string({
      nullable: true,
      description: 'A description of its purpose.',
      resolve: ({ agentDefinition }) => agentDefinition.description,
    }),
    model: t.field({
      type: agentModel,
      description: 'The model it uses.',
      resolve: ({ agentDefinition }) => agentDefinition.model,
    }),
    system: t.string({
      nullable: true,
      description: 'Its system prompt.',
      resolve: ({ agentDefinition }) => agentDefinition.system,
    }),
    tools: t.field({
      type: [agentTool],
      description: 'Its toolsets and custom tools, with every default filled in.',
      resolve: ({ agentDefinition }) => agentDefinition.tools as never, // isTypeOf of the union's members tells them apart
    }),
    mcpServers: t.field({
      type: [mcpServer],
      description: 'The tool servers it connects to.',
      resolve: ({ agentDefinition }) => agentDefinition.mcp_servers,
    }),
    mcpServices: t.field({
      type: [mcpService],
      description: 'The connectors it uses.',
      resolve: ({ agentDefinition }) => agentDefinition.mcp_services,
    }),
    skills: t.field({
      type: [skill],
      description: 'Its skills.',
      resolve: ({ agentDefinition }) => agentDefinition.skills,
    }),
  }),
})
