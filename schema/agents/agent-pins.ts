/** An agent in one of its versions, or in whatever version is the newest, as what starts by itself names it. */
import { builder } from '../builder.ts'
import { always } from '../words.ts'
import { agentType } from './agents.ts'
import { encodeId } from '#src/platform/ids.ts'

/** An agent's stored id, and a version; null for the newest. */
export type AgentPin = { id: string; version: number | null }

/** An agent with its version. */
export const agentPin = builder.objectRef<AgentPin>('AgentPin').implement({
  description: 'An agent, in one of its versions or always in the newest.',
  fields: (t) => ({
    type: t.string(always('agent')),
    id: t.id({ description: 'Which agent.', resolve: ({ id }) => encodeId('agent', id) }),
    version: t.exposeInt('version', {
      nullable: true,
      description: 'Its version; null for the one that is the newest at the time.',
    }),
    agent: t.field({
      type: agentType,
      nullable: true,
      description: 'The agent as it is now.',
      resolve: ({ id }) => id,
    }),
  }),
})

/** The same as an input; in REST the id alone will do. */
export const agentPinInput = builder.inputType('AgentPinInput', {
  description: 'An agent, in one of its versions or always in the newest.',
  extensions: { text: 'id' },
  fields: (t) => ({
    type: t.string({ description: '`agent`, which may be left out.' }),
    id: t.id({ required: true, description: 'Which agent.' }),
    version: t.int({ description: 'Its version; by default the one that is the newest at the time.' }),
  }),
})
