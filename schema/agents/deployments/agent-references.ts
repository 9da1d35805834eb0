/** An agent in one of its versions, as what starts by itself names it. */
import { builder } from '../../builder.ts'
import { rowsOfEach } from '../../rows-of-each.ts'
import { always } from '../../words.ts'
import { encodeId } from '#src/platform/ids.ts'
import { findAgents } from '#src/resources/agents/agents.ts'
import { agentType } from '../agents.ts'

const agentOf = rowsOfEach(findAgents, ({ id }) => id)

/** An agent, pinned to a version or not. */
export const agentReferenceType = builder
  .objectRef<{ agentId: string; version: number | null }>('AgentReference')
  .implement({
    description: 'An agent in one of its versions, or in the newest.',
    fields: (t) => ({
      type: t.string(always('agent')),
      id: t.id({ description: 'The agent.', resolve: ({ agentId }) => encodeId('agent', agentId) }),
      version: t.int({
        nullable: true,
        description: 'The version; null for the newest.',
        resolve: ({ version }) => version,
      }),
      currentVersion: t.int({
        nullable: true,
        description: 'The version that would start now; null once the agent is deleted.',
        resolve: async ({ agentId, version }, _, call) => version ?? (await agentOf(call, agentId))?.version ?? null,
      }),
      agent: t.field({
        type: agentType,
        nullable: true,
        description: 'The agent, in its newest version; null once it is deleted.',
        resolve: ({ agentId }) => agentId,
      }),
    }),
  })
