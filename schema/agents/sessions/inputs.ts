/** What clients send to a session, and what one is begun with. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { limits } from '#src/platform/limits.ts'
import { definitionFields, modelInput } from '../agents/inputs.ts'
import { contentBlockInput, systemBlockInput } from './content-blocks.ts'

const blocksMost = { most: limits.contentBlocksMax }

const userMessageInput = builder.inputType('UserMessageInput', {
  description: 'A message to the agent.',
  fields: (t) => ({
    content: t.field({
      type: [contentBlockInput],
      required: true,
      extensions: blocksMost,
      description: `What is said: 1 to ${limits.contentBlocksMax} blocks.`,
    }),
  }),
})
const systemMessageInput = builder.inputType('SystemMessageInput', {
  description: 'What the model is told beside what the user says, with the next message.',
  fields: (t) => ({
    content: t.field({
      type: [systemBlockInput],
      required: true,
      extensions: blocksMost,
      description: `1 to ${limits.contentBlocksMax} blocks of text.`,
    }),
  }),
})
/** What a client answers to a tool use. */
export const confirmationResult = enumOf('ToolConfirmationResult', 'What a user says to a tool use.', {
  allow: 'It may run.',
  deny: 'It may not.',
})
const toolConfirmationInput = builder.inputType('UserToolConfirmationInput', {
  description: 'The answer to a tool use that asks before it runs.',
  fields: (t) => ({
    toolUseId: t.id({ required: true, description: 'The event of the tool use.' }),
    result: t.field({ type: confirmationResult, required: true, description: 'Whether it may run.' }),
    denyMessage: t.string({
      description: `What the agent is told when it may not: at most ${limits.denyMessageLength} characters.`,
    }),
  }),
})
const customToolResultInput = builder.inputType('UserCustomToolResultInput', {
  description: 'The result of a tool of the client’s own.',
  fields: (t) => ({
    customToolUseId: t.id({ required: true, description: 'The event of the tool use.' }),
    content: t.field({ type: [contentBlockInput], extensions: blocksMost, description: 'What it answered.' }),
    isError: t.boolean({ description: 'Whether it failed; false without it.' }),
  }),
})
const toolResultInput = builder.inputType('UserToolResultInput', {
  description: 'The result of a built-in tool that the client runs itself, in a self-hosted environment.',
  fields: (t) => ({
    toolUseId: t.id({ required: true, description: 'The event of the tool use.' }),
    content: t.field({ type: [contentBlockInput], extensions: blocksMost, description: 'What it answered.' }),
    isError: t.boolean({ description: 'Whether it failed; false without it.' }),
  }),
})
const textRubricInput = builder.inputType('TextRubricInput', {
  description: 'A rubric in words.',
  fields: (t) => ({
    content: t.string({ required: true, description: `At most ${limits.outcomeRubricLength} characters.` }),
  }),
})
const fileRubricInput = builder.inputType('FileRubricInput', {
  description:
    'A rubric in a file that was stored before. There is no store of files here yet, so it is always refused.',
  fields: (t) => ({ fileId: t.id({ required: true, description: 'Which file.' }) }),
})
const rubricInput = builder.inputType('RubricInput', {
  description: 'What an outcome is graded by.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    text: t.field({ type: textRubricInput, description: 'In words.' }),
    file: t.field({ type: fileRubricInput, description: 'In a file.' }),
  }),
})
const defineOutcomeInput = builder.inputType('UserDefineOutcomeInput', {
  description: 'What the agent is to reach. Its work is graded, and revised until the rubric holds.',
  fields: (t) => ({
    description: t.string({ required: true, description: 'What is wanted.' }),
    rubric: t.field({ type: rubricInput, required: true, description: 'What the work is graded by.' }),
    maxIterations: t.int({
      description: `How often it is graded: 1 to ${limits.outcomeIterationsMax}; 3 without it.`,
    }),
  }),
})

/** An event as a client sends it. */
export const sessionEventInput = builder.inputType('SessionEventInput', {
  description: 'An event that is sent to a session: exactly one of these.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    userMessage: t.field({
      type: userMessageInput,
      description: 'A message to the agent.',
      extensions: { word: 'user.message' },
    }),
    userInterrupt: t.boolean({
      description: 'True: stops what the agent does.',
      extensions: { word: 'user.interrupt' },
    }),
    userToolConfirmation: t.field({
      type: toolConfirmationInput,
      description: 'The answer to a tool use that asks.',
      extensions: { word: 'user.tool_confirmation' },
    }),
    userCustomToolResult: t.field({
      type: customToolResultInput,
      description: 'The result of a tool of the client’s own.',
      extensions: { word: 'user.custom_tool_result' },
    }),
    userToolResult: t.field({
      type: toolResultInput,
      description: 'The result of a built-in tool that the client runs itself.',
      extensions: { word: 'user.tool_result' },
    }),
    userDefineOutcome: t.field({
      type: defineOutcomeInput,
      description: 'What is to be reached.',
      extensions: { word: 'user.define_outcome' },
    }),
    systemMessage: t.field({
      type: systemMessageInput,
      description: 'What the model is told with the next message.',
      extensions: { word: 'system.message' },
    }),
  }),
})

const moneyInput = builder.inputType('MoneyInput', {
  description: 'An amount of money.',
  fields: (t) => ({
    amount: t.field({ type: 'Decimal', required: true, description: 'Such as `"2.50"`.' }),
    currency: t.string({ required: true, description: '`USD`.' }),
  }),
})
const limitBudgetInput = builder.inputType('LimitBudgetInput', {
  description: 'An amount at which a session stops.',
  fields: (t) => ({
    maxListCost: t.field({ type: moneyInput, required: true, description: 'The amount, at list prices.' }),
  }),
})

/** What a session may spend. */
export const budgetInput = builder.inputType('BudgetInput', {
  description: 'What a session may spend.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({ limit: t.field({ type: limitBudgetInput, description: 'Up to an amount.' }) }),
})

const agentReference = builder.inputType('AgentReferenceInput', {
  description: 'An agent as it is, or was.',
  extensions: { text: 'id' },
  fields: (t) => ({
    id: t.id({ required: true, description: 'Which agent.' }),
    version: t.int({ description: 'Which version of it; the newest without it.' }),
  }),
})
/** What a session may have otherwise than its agent. */
const overridableFields = (t: Parameters<typeof definitionFields>[0]) => {
  const { system, tools, mcpServers, mcpServices, skills } = definitionFields(t)
  const model = t.field({ type: modelInput, description: 'The model that it asks.' })
  return { model, system, tools, mcpServers, mcpServices, skills }
}
const agentWithOverrides = builder.inputType('AgentWithOverridesInput', {
  description: 'An agent, with some of its definition replaced for this session.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'Which agent.' }),
    version: t.int({ description: 'Which version of it; the newest without it.' }),
    ...overridableFields(t),
  }),
})

/** Who works in a session. REST also takes the agent's id alone, or an object without a type. */
export const sessionAgentInput = builder.inputType('SessionAgentInput', {
  description: 'Who works in a session.',
  isOneOf: true,
  extensions: { tag: 'type', text: 'agent', usual: 'agent' },
  fields: (t) => ({
    agent: t.field({ type: agentReference, description: 'An agent as it is, or was.' }),
    agentWithOverrides: t.field({ type: agentWithOverrides, description: 'An agent with some of it replaced.' }),
  }),
})

/** What may be changed of the agent of a session. */
export const sessionAgentChangeInput = builder.inputType('SessionAgentChangeInput', {
  description: 'What is new of the agent of a session; each list replaces what was.',
  fields: (t) => {
    const { tools, mcpServers } = definitionFields(t)
    return { tools, mcpServers }
  },
})
