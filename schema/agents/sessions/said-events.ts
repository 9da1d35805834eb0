/** The events by which users, tools and the agent say something. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { blocksOf, contentBlock } from './content-blocks.ts'
import { eventIdIn, sessionEvent } from './events.ts'
import { confirmationResult } from './inputs.ts'
import { eventOf, fieldsOf } from './event-kinds.ts'

const permission = enumOf('EvaluatedPermission', 'Whether a tool runs at once.', {
  allow: 'It does.',
  ask: 'It waits for the user’s word.',
})

const content = fieldsOf((t) => ({
  content: t.field({
    type: [contentBlock],
    description: 'What is said.',
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
    description: 'What it is given, as the tool defines it.',
    resolve: ({ data }) => data['input'],
  }),
}))
const evaluatedPermission = fieldsOf((t) => ({
  evaluatedPermission: t.field({
    type: permission,
    description: 'Whether it runs at once.',
    resolve: ({ data }) => (data['evaluated_permission'] === 'ask' ? 'ask' : 'allow'),
  }),
}))
/** The tool use that an event answers, by the key that names it. */
const answered = (name: string, key: string) =>
  fieldsOf((t) => ({
    [name]: t.id({ description: 'The tool use that it answers.', resolve: ({ data }) => String(data[key]) }),
    [name.replace(/Id$/, '')]: t.field({
      type: sessionEvent,
      nullable: true,
      description: 'The tool use itself.',
      resolve: ({ data }) => eventIdIn(data[key]),
    }),
  }))
const toolUse = answered('toolUseId', 'tool_use_id')

eventOf('user.message', 'A user said something.', content)
eventOf('user.interrupt', 'A user stopped the agent.')
eventOf(
  'user.tool_confirmation',
  'A user allowed or denied a tool use.',
  toolUse,
  fieldsOf((t) => ({
    result: t.field({
      type: confirmationResult,
      description: 'Whether it may run.',
      resolve: ({ data }) => (data['result'] === 'allow' ? 'allow' : 'deny'),
    }),
    denyMessage: t.string({
      nullable: true,
      description: 'What the agent is told when it may not.',
      resolve: ({ data }) => textIn(data['deny_message']),
    }),
  })),
)
eventOf(
  'user.custom_tool_result',
  'A tool of the client’s own answered.',
  answered('customToolUseId', 'custom_tool_use_id'),
  content,
  isError,
)
eventOf('user.tool_result', 'A tool that the client runs itself answered.', toolUse, content, isError)
eventOf('system.message', 'The model is told something beside what users say.', content)
eventOf('agent.message', 'The agent said something.', content)
eventOf('agent.thinking', 'The agent thought; what it thought stays with the model.')
eventOf('agent.tool_use', 'The agent uses a built-in tool.', use, evaluatedPermission)
eventOf('agent.tool_result', 'A built-in tool answered.', toolUse, content, isError)
eventOf(
  'agent.mcp_tool_use',
  'The agent uses a tool of a tool server.',
  use,
  evaluatedPermission,
  fieldsOf((t) => ({
    mcpServerName: t.string({
      description: 'The tool server, as the agent’s definition names it.',
      resolve: ({ data }) => String(data['mcp_server_name']),
    }),
  })),
)
eventOf(
  'agent.mcp_tool_result',
  'A tool of a tool server answered.',
  answered('mcpToolUseId', 'mcp_tool_use_id'),
  content,
  isError,
)
eventOf('agent.custom_tool_use', 'The agent uses a tool of the client’s own, and waits for its result.', use)
eventOf('agent.thread_context_compacted', 'What was said long ago was cut from what the model is shown.')

const rubric = builder.objectRef<{ content: string }>('TextRubric').implement({
  description: 'A rubric in words.',
  fields: (t) => ({ content: t.exposeString('content', { description: 'The words.' }) }),
})
eventOf(
  'user.define_outcome',
  'A user said what is to be reached.',
  fieldsOf((t) => ({
    outcomeId: t.id({ description: '`outc_` and 26 characters.', resolve: ({ data }) => String(data['outcome_id']) }),
    description: t.string({ description: 'What is wanted.', resolve: ({ data }) => String(data['description']) }),
    rubric: t.field({
      type: rubric,
      description: 'What the work is graded by.',
      resolve: ({ data }) => data['rubric'] as { content: string }, // event-shapes.ts takes no other
    }),
    maxIterations: t.int({
      nullable: true,
      description: 'How often it is graded; null for the usual 3.',
      resolve: ({ data }) => (typeof data['max_iterations'] === 'number' ? data['max_iterations'] : null),
    }),
  })),
)

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
