/** The types of events, and the groups that decide what a session does. */

/** Every type of event that a log may hold. */
const eventTypes = [
  'user.message',
  'user.interrupt',
  'user.tool_confirmation',
  'user.custom_tool_result',
  'user.tool_result',
  'user.define_outcome',
  'system.message',
  'agent.message',
  'agent.thinking',
  'agent.tool_use',
  'agent.tool_result',
  'agent.mcp_tool_use',
  'agent.mcp_tool_result',
  'agent.custom_tool_use',
  'agent.thread_context_compacted',
  'session.status_running',
  'session.status_idle',
  'session.status_rescheduled',
  'session.status_terminated',
  'session.error',
  'session.updated',
  'session.deleted',
  'session.usage',
  'span.model_request_start',
  'span.model_request_end',
  'span.outcome_evaluation_start',
  'span.outcome_evaluation_end',
] as const

/** A type of event that a log may hold. */
export type SessionEventType = (typeof eventTypes)[number]

/** The client events that start a turn. */
export const promptTypes: readonly string[] = ['user.message', 'user.define_outcome']
/** The client events that the model reads. */
export const messageTypes: readonly string[] = [...promptTypes, 'system.message']
/** The client events that answer a tool use. */
export const answerTypes: readonly string[] = ['user.tool_confirmation', 'user.custom_tool_result', 'user.tool_result']
/** The events by which an agent uses a tool. */
export const toolUseTypes: readonly string[] = ['agent.tool_use', 'agent.mcp_tool_use', 'agent.custom_tool_use']
/** The results of tool uses. */
export const resultTypes: readonly string[] = [
  'agent.tool_result',
  'agent.mcp_tool_result',
  'user.custom_tool_result',
  'user.tool_result',
]
/** What the stream of a run tells of. */
export const streamedTypes: readonly string[] = [
  'agent.message',
  'span.model_request_start',
  'span.model_request_end',
  ...toolUseTypes,
  ...resultTypes,
]
