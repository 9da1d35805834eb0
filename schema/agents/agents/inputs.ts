/** What an agent is, in GraphQL, as it is given. */
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import type { idField } from '#schema/mutations.ts'
import type { AgentModel, AgentSkill } from '#src/resources/agents/agents/rows.ts'
import { agentToolInput } from './tools.ts'

/** How hard a model thinks. */
export const effort = enumOf('AgentEffort', 'How hard an agent’s model thinks.', {
  low: 'The least.',
  medium: 'Some.',
  high: 'Much.',
  xhigh: 'More.',
  max: 'The most.',
} satisfies Record<NonNullable<AgentModel['effort']>, string>)

/** The class of service. */
export const speed = enumOf('AgentSpeed', 'The class of service that an agent asks for.', {
  standard: 'The usual one.',
  fast: 'A faster one.',
} satisfies Record<AgentModel['speed'], string>)

const effortInput = builder.inputType('AgentEffortInput', {
  description: 'How hard a model thinks.',
  extensions: { text: 'type' },
  fields: (t) => ({ type: t.field({ type: effort, required: true, description: 'One of the model’s levels.' }) }),
})

/** The model, as it is given. */
export const modelInput = builder.inputType('AgentModelInput', {
  description: 'The model that an agent asks, and how.',
  extensions: { text: 'id' },
  fields: (t) => ({
    id: t.string({ required: true, description: 'As the list of models names it.' }),
    effort: t.field({ type: effortInput, description: 'The model’s own without it.' }),
    speed: t.field({ type: speed, description: '`STANDARD` without it.' }),
    inferenceGeo: t.field({ type: 'Reserved', description: 'A model works where its upstream does.' }),
  }),
})
const serverType = enumOf('McpServerType', 'How a tool server is reached.', { url: 'By its address.' })
const serverInput = builder.inputType('McpServerInput', {
  description: 'A tool server to connect to.',
  fields: (t) => ({
    type: t.field({ type: serverType, required: true, description: 'How it is reached.' }),
    name: t.string({ required: true, description: 'What the agent’s tools call it.' }),
    url: t.string({ required: true, description: 'Its address.' }),
  }),
})
const serviceInput = builder.inputType('AgentMcpServiceInput', {
  description: 'A connector to use.',
  fields: (t) => ({
    id: t.string({ required: true, description: 'The connector, such as `linear`.' }),
    disabledTools: t.stringList({ description: 'Tools of it that the agent does not get.' }),
  }),
})
const skillType = enumOf('AgentSkillType', 'Whose a skill is.', {
  anthropic: 'Anthropic’s.',
  custom: 'The organization’s own.',
} satisfies Record<AgentSkill['type'], string>)
const skillInput = builder.inputType('AgentSkillInput', {
  description: 'A skill for an agent.',
  fields: (t) => ({
    type: t.field({ type: skillType, required: true, description: 'Whose it is.' }),
    skillId: t.string({ required: true, description: 'What the skill is called.' }),
    version: t.string({ description: '`latest` without it.' }),
  }),
})
const identityInput = builder.inputType('ExecutionIdentityInput', {
  description: 'As whom sessions act.',
  fields: (t) => ({ type: t.string({ required: true, description: 'Must be `service_account`.' }) }),
})

/** What an agent is, as it is given. Names and models stand outside: they are required of a new one. */
export const definitionFields = (t: Parameters<typeof idField>[0]) => ({
  description: t.string({ description: 'What it is for: at most 2048 characters.' }),
  system: t.string({ description: 'What it is told before anything else: at most 100,000 characters.' }),
  tools: t.field({ type: [agentToolInput], description: 'Toolsets and custom tools, 128 at most.' }),
  mcpServers: t.field({ type: [serverInput], description: 'The tool servers that it connects to, 20 at most.' }),
  mcpServices: t.field({ type: [serviceInput], description: 'The connectors that it uses.' }),
  skills: t.field({ type: [skillInput], description: 'Its skills.' }),
  multiagent: t.field({ type: 'Reserved', description: 'Groups are for several agents.' }),
  executionIdentity: t.field({ type: identityInput, description: 'Whoever begins the session, without it.' }),
})
