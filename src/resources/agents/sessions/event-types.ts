/** The types of events, and the kinds among them that decide what a session does. */

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

/** What a client says that begins a turn. */
export const promptTypes: readonly string[] = ['user.message', 'user.define_outcome']
/** All that a client says to the model. */
export const messageTypes: readonly string[] = [...promptTypes, 'system.message']
/** What a client says to a tool use. */
export const answerTypes: readonly string[] = ['user.tool_confirmation', 'user.custom_tool_result', 'user.tool_result']
/** By which an agent uses a tool. */
export const toolUseTypes: readonly string[] = ['agent.tool_use', 'agent.mcp_tool_use', 'agent.custom_tool_use']
/** The results of tool uses. */
export const resultTypes: readonly string[] = [
  'agent.tool_result',
  'agent.mcp_tool_result',
  'user.custom_tool_result',
  'user.tool_result',
]
