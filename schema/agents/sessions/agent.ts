/** The agent of a session as it was when the session began, with what was replaced of it. */
import { builder } from '../../builder.ts'
import { agentModel, agentType, mcpServer, mcpService, skill } from '../agents.ts'
import { agentTool } from '../agents/tools.ts'
import { wireAgent, type Session } from '#src/resources/agents/sessions/rows.ts'

/** Who works in a session. */
export const sessionAgent = builder.objectRef<Session>('SessionAgent').implement({
  description: 'An agent as it was when a session began, with what was replaced of it for the session.',
  fields: (t) => ({
    agentId: t.id({ description: 'The agent.', resolve: (session) => String(wireAgent(session)['id']) }),
    agent: t.field({
      type: agentType,
      nullable: true,
      description: 'The agent as it is now; null for one of Berth’s own.',
      resolve: ({ agentId }) => agentId,
    }),
    version: t.exposeInt('agentVersion', { description: 'The version that the session began with.' }),
    name: t.string({ description: 'Its name.', resolve: ({ agentDefinition }) => agentDefinition.name }),
    description: t.string({
      nullable: true,
      description: 'What it is for.',
      resolve: ({ agentDefinition }) => agentDefinition.description,
    }),
    model: t.field({
      type: agentModel,
      description: 'The model it asks.',
      resolve: ({ agentDefinition }) => agentDefinition.model,
    }),
    system: t.string({
      nullable: true,
      description: 'What it is told before anything else.',
      resolve: ({ agentDefinition }) => agentDefinition.system,
    }),
    tools: t.field({
      type: [agentTool],
      description: 'Its toolsets and custom tools, with every default filled in.',
      resolve: ({ agentDefinition }) => agentDefinition.tools as never, // the union's own types tell them apart
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
