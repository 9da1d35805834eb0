/** The types of events: what each is, what its data hold, and the groups that decide what a session does. */

/** What a field of an event's data holds. The schema and the OpenAPI documents each say how they show it. */
export type EventValue =
  | 'agent'
  | 'blocks'
  | 'budget'
  | 'confirmation'
  | 'event'
  | 'fault'
  | 'flag'
  | 'id'
  | 'json'
  | 'modelUsage'
  | 'nothing'
  | 'number'
  | 'peerExchange'
  | 'permission'
  | 'rubric'
  | 'stopReason'
  | 'text'
  | 'textBlocks'
  | 'textMap'
  | 'usage'
  | 'verdict'

/**
 * A field of an event's data: what it holds, whether it may be null, and whether it is there only sometimes. The id of an
 * event also says what that event is.
 */
export type EventField = { description: string; orNull?: true; sometimes?: true } & (
  | { is: Exclude<EventValue, 'event'> }
  | { is: 'event'; object: string }
)
type EventFields = Readonly<Record<string, EventField>>

/** A type of event: what happened, and the fields of its data, under their keys in the log and in REST. */
export type EventDefinition = { description: string; fields?: EventFields }

const content = { content: { is: 'blocks', description: 'The content.' } } satisfies EventFields
const textContent = { content: { is: 'textBlocks', description: 'The content.' } } satisfies EventFields
const failed = { is_error: { is: 'flag', description: 'Whether it failed.' } } satisfies EventFields
const answered = {
  is: 'event',
  description: 'The id of the tool use that it answers.',
  object: 'The tool use, as an object.',
} satisfies EventField
const begun = {
  is: 'event',
  description: 'The id of the event with which it began.',
  object: 'Its beginning.',
} satisfies EventField
const use = {
  name: { is: 'text', description: 'The tool.' },
  input: { is: 'json', description: 'The tool’s input, in the shape that the tool defines.' },
} satisfies EventFields
const permission = {
  evaluated_permission: { is: 'permission', description: 'Whether it runs immediately or waits for approval.' },
} satisfies EventFields
const exchange = {
  peer_exchange_id: {
    is: 'peerExchange',
    description: 'Of `ask_peer`: the exchange that the call is.',
    sometimes: true,
  },
} satisfies EventFields
const budget = {
  is: 'budget',
  description: 'Its spending limit; null when there is none, or when this change left it as it was.',
  orNull: true,
} satisfies EventField
const graded = {
  outcome_id: { is: 'id', description: 'The id of the graded outcome: `outc_…`.' },
  iteration: { is: 'number', description: 'The iteration of work and grading, counted from 0.' },
} satisfies EventFields

/**
 * Every type of event that a log may hold. The objects and words of the graph and the OpenAPI documents are made from
 * this table.
 */
export const sessionEvents = {
  // What users and agents say.
  'user.message': { description: 'A user said something.', fields: content },
  'user.interrupt': { description: 'A user interrupted the agent.' },
  'user.define_outcome': {
    description: 'A user defined an outcome to reach.',
    fields: {
      outcome_id: { is: 'id', description: '`outc_` and 26 characters.' },
      description: { is: 'text', description: 'The desired outcome.' },
      rubric: { is: 'rubric', description: 'The rubric by which the work is graded.' },
      max_iterations: { is: 'number', description: 'How often it is graded at most; null means 3.', orNull: true },
    },
  },
  'system.message': { description: 'A system message for the model.', fields: textContent },
  'agent.message': { description: 'The agent said something.', fields: textContent },
  'agent.thinking': { description: 'The agent was thinking. The thoughts themselves are not shown.' },
  'agent.thread_context_compacted': { description: 'Old messages were removed from what the model sees.' },

  // Uses of tools, and what is said to them.
  'user.tool_confirmation': {
    description: 'A user allowed or denied a tool use.',
    fields: {
      tool_use_id: answered,
      result: { is: 'confirmation', description: 'Whether the tool may run.' },
      deny_message: { is: 'text', description: 'What the agent is told when the tool may not run.', orNull: true },
    },
  },
  'user.custom_tool_result': {
    description: 'The result of a custom tool, sent by the client.',
    fields: { custom_tool_use_id: answered, ...content, ...failed },
  },
  'user.tool_result': {
    description: 'The result of a built-in tool that the client ran itself.',
    fields: { tool_use_id: answered, ...content, ...failed },
  },
  'agent.tool_use': { description: 'The agent uses a built-in tool.', fields: { ...use, ...permission, ...exchange } },
  'agent.tool_result': {
    description: 'The result of a built-in tool.',
    fields: { tool_use_id: answered, ...content, ...failed, ...exchange },
  },
  'agent.mcp_tool_use': {
    description: 'The agent uses a tool of a tool server.',
    fields: {
      mcp_server_name: { is: 'text', description: 'The tool server’s name in the agent’s definition.' },
      ...use,
      ...permission,
    },
  },
  'agent.mcp_tool_result': {
    description: 'The result of a tool of a tool server.',
    fields: { mcp_tool_use_id: answered, ...content, ...failed },
  },
  'agent.custom_tool_use': { description: 'The agent uses a custom tool and waits for its result.', fields: use },

  // How the session is.
  'session.status_running': { description: 'The session is running.' },
  'session.status_idle': {
    description: 'The session is idle.',
    fields: {
      stop_reason: { is: 'stopReason', description: 'What the session waits for.' },
      stop_details: { is: 'nothing', description: 'Always null.' },
    },
  },
  'session.status_rescheduled': { description: 'A temporary failure; the session retries soon.' },
  'session.status_terminated': { description: 'The session ended permanently. Nothing follows.' },
  'session.error': {
    description: 'Something failed.',
    fields: { error: { is: 'fault', description: 'What failed.' } },
  },
  'session.updated': {
    description: 'The session was changed; null fields stayed as they were.',
    fields: {
      title: { is: 'text', description: 'Its new title.', orNull: true, sometimes: true },
      metadata: { is: 'textMap', description: 'Its complete new metadata.', sometimes: true },
      budget: { ...budget, sometimes: true },
      agent: { is: 'agent', description: 'Its agent as it is now.', sometimes: true },
    },
  },
  'session.deleted': { description: 'The session was deleted, with its log. Nothing follows.' },
  'session.usage': {
    description: 'What the session has used so far.',
    fields: { usage: { is: 'usage', description: 'What it used.' }, budget },
  },

  // What took how long.
  'span.model_request_start': { description: 'A request to the model began.' },
  'span.model_request_end': {
    description: 'A request to the model ended.',
    fields: {
      model_request_start_id: begun,
      ...failed,
      model_usage: { is: 'modelUsage', description: 'What it used.' },
    },
  },
  'span.outcome_evaluation_start': { description: 'A grading began.', fields: graded },
  'span.outcome_evaluation_end': {
    description: 'A grading ended.',
    fields: {
      ...graded,
      outcome_evaluation_start_id: begun,
      result: { is: 'verdict', description: 'The result.' },
      explanation: { is: 'text', description: 'The grader’s explanation.' },
      usage: { is: 'modelUsage', description: 'What it used.' },
    },
  },
} satisfies Readonly<Record<string, EventDefinition>>

/** A type of event that a log may hold. */
export type SessionEventType = keyof typeof sessionEvents
/** A type of event that clients send. */
export type ClientEventType = Extract<SessionEventType, `user.${string}` | 'system.message'>
/** The keys in the data of events of a type; never where it has none. */
export type EventKey<Type extends SessionEventType> = (typeof sessionEvents)[Type] extends { fields: infer Fields }
  ? keyof Fields
  : never

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
