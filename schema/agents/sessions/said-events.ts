/** The events for messages, tool uses and results. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { blocksOf, contentBlock } from './content-blocks.ts'
import { eventIdIn, sessionEvent } from './events.ts'
import { confirmationResult } from './inputs.ts'
import { eventOf, fieldsOf } from './event-kinds.ts'

const permission = enumOf('EvaluatedPermission', 'Whether a tool runs immediately or waits for approval.', {
  allow: 'The tool runs immediately.',
  ask: 'The tool waits for the user’s approval.',
})

const content = fieldsOf((t) => ({
  content: t.field({
    type: [contentBlock],
    description: 'The content.',
    resolve: ({ data }) => blocksOf(data['content']),
  }),
}))
const isError = fieldsOf((t) => ({
  isError: t.boolean({ description: 'Whether it failed.', resolve: ({ data }) => data['is_error'] === true }),
}))
const use = fieldsOf((t) => ({
  name: t.string({ description: 'The tool.', resolve: ({ data }) => String(data['name']) }),
  input: t.field({
    type: 'JSON',
    description: 'The tool’s input, in the shape that the tool defines.',
    resolve: ({ data }) => data['input'],
  }),
}))
const evaluatedPermission = fieldsOf((t) => ({
  evaluatedPermission: t.field({
    type: permission,
    description: 'Whether it runs immediately or waits for approval.',
    resolve: ({ data }) => (data['evaluated_permission'] === 'ask' ? 'ask' : 'allow'),
  }),
}))
/** The tool use that an event answers. `key` is the key in the event's data that holds its id. */
const answered = (name: string, key: string) =>
  fieldsOf((t) => ({
    [name]: t.id({ description: 'The id of the tool use that it answers.', resolve: ({ data }) => String(data[key]) }),
    [name.replace(/Id$/, '')]: t.field({
      type: sessionEvent,
      nullable: true,
      description: 'The tool use, as an object.',
      resolve: ({ data }) => eventIdIn(data[key]),
    }),
  }))
const toolUse = answered('toolUseId', 'tool_use_id')

eventOf('user.message', 'A user said something.', content)
eventOf('user.interrupt', 'A user interrupted the agent.')
eventOf(
  'user.tool_confirmation',
  'A user allowed or denied a tool use.',
  toolUse,
  fieldsOf((t) => ({
    result: t.field({
      type: confirmationResult,
      description: 'Whether the tool may run.',
      resolve: ({ data }) => (data['result'] === 'allow' ? 'allow' : 'deny'),
    }),
    denyMessage: t.string({
      nullable: true,
      description: 'What the agent is told when the tool may not run.',
      resolve: ({ data }) => textIn(data['deny_message']),
    }),
  })),
)
eventOf(
  'user.custom_tool_result',
  'The result of a custom tool, sent by the client.',
  answered('customToolUseId', 'custom_tool_use_id'),
  content,
  isError,
)
eventOf('user.tool_result', 'The result of a built-in tool that the client ran itself.', toolUse, content, isError)
eventOf('system.message', 'A system message for the model.', content)
eventOf('agent.message', 'The agent said something.', content)
eventOf('agent.thinking', 'The agent was thinking. The thoughts themselves are not shown.')
/** A use of a built-in tool. */
export const agentToolUse = eventOf('agent.tool_use', 'The agent uses a built-in tool.', use, evaluatedPermission)
/** The result of one. */
export const agentToolResult = eventOf('agent.tool_result', 'The result of a built-in tool.', toolUse, content, isError)
eventOf(
  'agent.mcp_tool_use',
  'The agent uses a tool of a tool server.',
  use,
  evaluatedPermission,
  fieldsOf((t) => ({
    mcpServerName: t.string({
      description: 'The tool server’s name in the agent’s definition.',
      resolve: ({ data }) => String(data['mcp_server_name']),
    }),
  })),
)
eventOf(
  'agent.mcp_tool_result',
  'The result of a tool of a tool server.',
  answered('mcpToolUseId', 'mcp_tool_use_id'),
  content,
  isError,
)
eventOf('agent.custom_tool_use', 'The agent uses a custom tool and waits for its result.', use)
eventOf('agent.thread_context_compacted', 'Old messages were removed from what the model sees.')

const rubric = builder.objectRef<{ content: string }>('TextRubric').implement({
  description: 'A rubric in words.',
  fields: (t) => ({ content: t.exposeString('content', { description: 'The words.' }) }),
})
eventOf(
  'user.define_outcome',
  'A user defined an outcome to reach.',
  fieldsOf((t) => ({
    outcomeId: t.id({ description: '`outc_` and 26 characters.', resolve: ({ data }) => String(data['outcome_id']) }),
    description: t.string({ description: 'The desired outcome.', resolve: ({ data }) => String(data['description']) }),
    rubric: t.field({
      type: rubric,
      description: 'The rubric by which the work is graded.',
      resolve: ({ data }) => data['rubric'] as { content: string }, // event-shapes.ts takes no other
    }),
    maxIterations: t.int({
      nullable: true,
      description: 'How often it is graded at most; null means 3.',
      resolve: ({ data }) => (typeof data['max_iterations'] === 'number' ? data['max_iterations'] : null),
    }),
  })),
)

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
