/** The inputs of sessions: events that clients send, and what a session starts with. */
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
      description: `The content: 1 to ${limits.contentBlocksMax} blocks.`,
    }),
  }),
})
const systemMessageInput = builder.inputType('SystemMessageInput', {
  description: 'A system message for the model, sent with the next user message.',
  fields: (t) => ({
    content: t.field({
      type: [systemBlockInput],
      required: true,
      extensions: blocksMost,
      description: `1 to ${limits.contentBlocksMax} blocks of text.`,
    }),
  }),
})
/** A client's answer to a tool use that asks for approval. */
export const confirmationResult = enumOf(
  'ToolConfirmationResult',
  'A user’s answer to a tool use that asks for approval.',
  {
    allow: 'It may run.',
    deny: 'It may not.',
  },
)
const toolConfirmationInput = builder.inputType('UserToolConfirmationInput', {
  description: 'The answer to a tool use that asks for approval.',
  fields: (t) => ({
    toolUseId: t.id({ required: true, description: 'The id of the tool use’s event.' }),
    result: t.field({ type: confirmationResult, required: true, description: 'Whether the tool may run.' }),
    denyMessage: t.string({
      description: `What to tell the agent when it may not: at most ${limits.denyMessageLength} characters.`,
    }),
  }),
})
const customToolResultInput = builder.inputType('UserCustomToolResultInput', {
  description: 'The result of a custom tool.',
  fields: (t) => ({
    customToolUseId: t.id({ required: true, description: 'The id of the tool use’s event.' }),
    content: t.field({ type: [contentBlockInput], extensions: blocksMost, description: 'Its result.' }),
    isError: t.boolean({ description: 'Whether it failed; false by default.' }),
  }),
})
const toolResultInput = builder.inputType('UserToolResultInput', {
  description: 'The result of a built-in tool that the client runs itself, in a self-hosted environment.',
  fields: (t) => ({
    toolUseId: t.id({ required: true, description: 'The id of the tool use’s event.' }),
    content: t.field({ type: [contentBlockInput], extensions: blocksMost, description: 'Its result.' }),
    isError: t.boolean({ description: 'Whether it failed; false by default.' }),
  }),
})
const textRubricInput = builder.inputType('TextRubricInput', {
  description: 'A rubric in words.',
  fields: (t) => ({
    content: t.string({ required: true, description: `At most ${limits.outcomeRubricLength} characters.` }),
  }),
})
const fileRubricInput = builder.inputType('FileRubricInput', {
  description: 'A rubric in a file, which is always refused: send its text.',
  fields: (t) => ({ fileId: t.id({ required: true, description: 'Which file.' }) }),
})
const rubricInput = builder.inputType('RubricInput', {
  description: 'How to grade an outcome.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    text: t.field({ type: textRubricInput, description: 'In words.' }),
    file: t.field({ type: fileRubricInput, description: 'In a file.' }),
  }),
})
const defineOutcomeInput = builder.inputType('UserDefineOutcomeInput', {
  description: 'An outcome for the agent to reach. Its work is graded, and revised until it meets the rubric.',
  fields: (t) => ({
    description: t.string({ required: true, description: 'The desired outcome.' }),
    rubric: t.field({ type: rubricInput, required: true, description: 'The rubric by which to grade the work.' }),
    maxIterations: t.int({
      description: `How often to grade it at most: 1 to ${limits.outcomeIterationsMax}; 3 by default.`,
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
      description: 'Send true: interrupts the agent.',
      extensions: { word: 'user.interrupt' },
    }),
    userToolConfirmation: t.field({
      type: toolConfirmationInput,
      description: 'The answer to a tool use that asks for approval.',
      extensions: { word: 'user.tool_confirmation' },
    }),
    userCustomToolResult: t.field({
      type: customToolResultInput,
      description: 'The result of a custom tool.',
      extensions: { word: 'user.custom_tool_result' },
    }),
    userToolResult: t.field({
      type: toolResultInput,
      description: 'The result of a built-in tool that the client runs itself.',
      extensions: { word: 'user.tool_result' },
    }),
    userDefineOutcome: t.field({
      type: defineOutcomeInput,
      description: 'An outcome to reach.',
      extensions: { word: 'user.define_outcome' },
    }),
    systemMessage: t.field({
      type: systemMessageInput,
      description: 'A system message for the model, sent with the next user message.',
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
  description: 'How much a session may spend.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({ limit: t.field({ type: limitBudgetInput, description: 'Up to an amount.' }) }),
})

/** An agent, in one of its versions. */
export const agentReferenceInput = builder.inputType('AgentReferenceInput', {
  description: 'An agent, in one of its versions.',
  extensions: { text: 'id' },
  fields: (t) => ({
    id: t.id({ required: true, description: 'Which agent.' }),
    version: t.int({ description: 'Its version; the newest by default.' }),
  }),
})
/** The fields of an agent that a session may override. */
const overridableFields = (t: Parameters<typeof definitionFields>[0]) => {
  const { system, tools, mcpServers, mcpServices, skills } = definitionFields(t)
  const model = t.field({ type: modelInput, description: 'The model it uses.' })
  return { model, system, tools, mcpServers, mcpServices, skills }
}
const agentWithOverrides = builder.inputType('AgentWithOverridesInput', {
  description: 'An agent, with parts of its definition overridden for this session.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'Which agent.' }),
    version: t.int({ description: 'Its version; the newest by default.' }),
    ...overridableFields(t),
  }),
})

/** The agent of a session. REST also takes the agent's id alone, or an object without a type. */
export const sessionAgentInput = builder.inputType('SessionAgentInput', {
  description: 'The agent of a session.',
  isOneOf: true,
  extensions: { tag: 'type', text: 'agent', usual: 'agent' },
  fields: (t) => ({
    agent: t.field({ type: agentReferenceInput, description: 'An agent, in one of its versions.' }),
    agentWithOverrides: t.field({ type: agentWithOverrides, description: 'An agent with overrides.' }),
  }),
})

/** The fields of a session's agent that may change. */
export const sessionAgentChangeInput = builder.inputType('SessionAgentChangeInput', {
  description: 'Changes of a session’s agent; each list replaces the previous one.',
  fields: (t) => {
    const { tools, mcpServers } = definitionFields(t)
    return { tools, mcpServers }
  },
})
