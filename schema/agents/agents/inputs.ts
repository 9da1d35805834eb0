/** The inputs that define an agent, in GraphQL. */
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import type { idField } from '#schema/mutations.ts'
import type { AgentModel, AgentSkill } from '#src/resources/agents/agents/rows.ts'
import { agentToolInput } from './tools.ts'
import { forRest } from '../../rest-fields.ts'

/** How hard a model thinks. */
export const effort = enumOf('AgentEffort', 'How hard an agent’s model thinks.', {
  low: 'The model thinks the least.',
  medium: 'The model thinks a moderate amount.',
  high: 'The model thinks a lot.',
  xhigh: 'The model thinks more than at `HIGH`.',
  max: 'The model thinks the most.',
} satisfies Record<NonNullable<AgentModel['effort']>, string>)

/** The class of service. */
export const speed = enumOf('AgentSpeed', 'The class of service that an agent requests.', {
  standard: 'The standard class.',
  fast: 'A faster class.',
} satisfies Record<AgentModel['speed'], string>)

const effortInput = builder.inputType('AgentEffortInput', {
  description: 'How hard a model thinks.',
  extensions: { text: 'type' },
  fields: (t) => ({ type: t.field({ type: effort, required: true, description: 'One of the model’s levels.' }) }),
})

/** The model, as clients send it. */
export const modelInput = builder.inputType('AgentModelInput', {
  description: 'The model that an agent uses, and how.',
  extensions: { text: 'id' },
  fields: (t) => ({
    id: t.id({ required: true, description: 'Its id, as in `models`.' }),
    effort: t.field({ type: effortInput, description: 'The model’s default if omitted.' }),
    speed: t.field({ type: speed, description: '`STANDARD` by default.' }),
    inferenceGeo: t.field({ type: 'Reserved', description: 'Not supported: a model runs where its provider runs it.' }),
  }),
})
const serverType = enumOf('McpServerType', 'How to reach a tool server.', { url: 'By its URL.' })
const serverInput = builder.inputType('McpServerInput', {
  description: 'A tool server to connect to.',
  fields: (t) => ({
    type: t.field({ type: serverType, required: true, description: 'How to reach it.' }),
    name: t.string({ required: true, description: 'The name by which the agent’s tools refer to it.' }),
    url: t.string({ required: true, description: 'Its address.' }),
  }),
})
const serviceInput = builder.inputType('AgentMcpServiceInput', {
  description: 'A connector to use.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'The connector, such as `linear`.' }),
    disabledTools: t.stringList({ description: 'Those of its tools that the agent does not get.' }),
  }),
})
/** Who provides a skill. */
export const skillType = enumOf('AgentSkillType', 'Who provides a skill.', {
  anthropic: 'One of Anthropic’s.',
  custom: 'A custom skill of the organization.',
} satisfies Record<AgentSkill['type'], string>)
const skillInput = builder.inputType('AgentSkillInput', {
  description: 'A skill for an agent.',
  fields: (t) => ({
    type: t.field({ type: skillType, required: true, description: 'Who provides it.' }),
    skillId: t.id({ required: true, description: 'The skill’s name.' }),
    version: t.string({ description: '`latest` by default.' }),
  }),
})
const identityInput = builder.inputType('ExecutionIdentityInput', {
  description: 'The identity under which sessions act.',
  fields: (t) => ({ type: t.string({ required: true, description: 'Must be `service_account`.' }) }),
})

/**
 * The fields that define an agent. The name and the model are not among them, because a new agent requires them and an
 * update does not.
 */
export const definitionFields = (t: Parameters<typeof idField>[0]) => ({
  description: t.string({ description: 'A description of its purpose: at most 2048 characters.' }),
  system: t.string({ description: 'Its system prompt: at most 100,000 characters.' }),
  tools: t.field({ type: [agentToolInput], description: 'Toolsets and custom tools, 128 at most.' }),
  mcpServers: t.field({ type: [serverInput], description: 'The tool servers that it connects to, 20 at most.' }),
  mcpServices: t.field({ type: [serviceInput], description: 'The connectors that it uses.' }),
  skills: t.field({ type: [skillInput], description: 'Its skills.' }),
  multiagent: t.field({ type: 'Reserved', description: 'Not supported: see `createGroup`.' }),
  executionIdentity: t.field({
    type: identityInput,
    ...forRest,
    description: 'The identity under which it acts; by default whoever starts the session.',
  }),
})
