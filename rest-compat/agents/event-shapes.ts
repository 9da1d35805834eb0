/** The events of sessions as REST shows them, for OpenAPI: they are shown as they are stored, so no selection says them. */
import { eventTypeName } from '#schema/agents/sessions/events.ts'
import { orNull, type Json, type ShapeParts } from '../openapi/components.ts'
import { anyObject, flag, list, nullableText, object, oneOf, text, union, wholeNumber } from '../openapi/json-schema.ts'
import { sessionAgentShape } from './agent-shapes.ts'
import { sessionParts } from './session-parts.ts'

/** The keys that an event of a kind has beside those of every event: always, and sometimes. */
type Keys = { always?: Record<string, Json>; sometimes?: Record<string, Json> }

const moment: Json = { type: ['string', 'null'], format: 'date-time' }
const described = (sentence: string, schema: Json): Json => ({ ...schema, description: sentence })

/** An event of a session's log. */
export function logEventShape(parts: ShapeParts): Json {
  const kinds = { ...saidKinds(parts), ...toolKinds(parts), ...stateKinds(parts), ...spanKinds(parts) }
  return parts.add('SessionEvent', described(parts.describe('SessionEvent'), union('type', membersOf(kinds, parts))))
}

/** What a stream sends: an event, what is being said before it is in the log, or a sign of life. */
export function streamEventShape(parts: ShapeParts): Json {
  const { add, describe, words } = parts
  const event = logEventShape(parts)
  const start = { type: oneOf('event_start'), event: object({ type: words('SessionPreviewType'), id: text }) }
  const piece = object({
    type: oneOf('content_delta'),
    index: wholeNumber,
    content: object({ type: oneOf('text'), text }),
  })
  const delta = { type: oneOf('event_delta'), event_id: text, delta: piece }
  return add('SessionStreamEvent', {
    anyOf: [
      event,
      add('SessionPreviewStart', described(describe('SessionPreviewStart'), object(start))),
      add('SessionPreviewText', described(describe('SessionPreviewText'), object(delta))),
      add('SessionPing', described('A sign of life, every ten seconds.', object({ type: oneOf('ping') }))),
    ],
  })
}

/** An event of a kickoff: a client's, before there is a session. */
export function kickoffEventShape(parts: ShapeParts): Json {
  const { add, describe } = parts
  const rubric = object({ type: oneOf('text'), content: text })
  const kinds: Record<string, Json> = {
    'user.message': add('KickoffMessage', object({ type: oneOf('user.message'), content: list(contentBlock(parts)) })),
    'user.define_outcome': add(
      'KickoffOutcome',
      object({ type: oneOf('user.define_outcome'), description: text, rubric, max_iterations: orNull(wholeNumber) }),
    ),
    'system.message': add(
      'KickoffSystemMessage',
      object({ type: oneOf('system.message'), content: list(textBlock(parts)) }),
    ),
  }
  return add('KickoffEvent', described(describe('KickoffEvent'), union('type', kinds)))
}

/** An entry of a shared transcript: something that was said, or a tool that was used, by name. */
export function transcriptEntryShape(parts: ShapeParts): Json {
  const { add, describe } = parts
  const message = { id: text, type: oneOf('user.message', 'agent.message'), content: list(contentBlock(parts)) }
  const used = { type: oneOf('agent.tool_use', 'agent.tool_result'), name: nullableText }
  return add('TranscriptEntry', {
    anyOf: [object({ ...message, processed_at: moment }), object({ ...used, processed_at: moment })],
    description: describe('TranscriptEntry'),
  })
}

/** A component for each kind of event, named as its type of the graph. */
function membersOf(kinds: Readonly<Record<string, Keys>>, { add, describe }: ShapeParts): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(kinds).map(([type, { always = {}, sometimes = {} }]) => {
      const name = eventTypeName(type)
      const eventSchema = object({ id: text, type: oneOf(type), ...always, processed_at: moment }, sometimes)
      return [type, add(name, described(describe(name), eventSchema))]
    }),
  )
}

/** What users and agents say. */
function saidKinds(parts: ShapeParts): Record<string, Keys> {
  const content = list(contentBlock(parts))
  const rubric = object({ type: oneOf('text'), content: text })
  const withText = { always: { content: list(textBlock(parts)) } }
  return {
    'user.message': { always: { content } },
    'user.interrupt': {},
    'user.define_outcome': {
      always: { outcome_id: text, description: text, rubric, max_iterations: orNull(wholeNumber) },
    },
    'system.message': withText,
    'agent.message': withText,
    'agent.thinking': {},
    'agent.thread_context_compacted': {},
  }
}

/** Uses of tools, and what is said to them. */
function toolKinds(parts: ShapeParts): Record<string, Keys> {
  const result = { content: list(contentBlock(parts)), is_error: flag }
  const use = { name: text, input: anyObject }
  const evaluated_permission = parts.words('EvaluatedPermission')
  const exchange = { peer_exchange_id: described('Of `ask_peer`: the exchange that the call is.', text) }
  return {
    'user.tool_confirmation': {
      always: { tool_use_id: text, result: parts.words('ToolConfirmationResult'), deny_message: nullableText },
    },
    'user.custom_tool_result': { always: { custom_tool_use_id: text, ...result } },
    'user.tool_result': { always: { tool_use_id: text, ...result } },
    'agent.tool_use': { always: { ...use, evaluated_permission }, sometimes: exchange },
    'agent.tool_result': { always: { tool_use_id: text, ...result }, sometimes: exchange },
    'agent.mcp_tool_use': { always: { mcp_server_name: text, ...use, evaluated_permission } },
    'agent.mcp_tool_result': { always: { mcp_tool_use_id: text, ...result } },
    'agent.custom_tool_use': { always: use },
  }
}

/** How the session is. */
function stateKinds(parts: ShapeParts): Record<string, Keys> {
  const { add, describe, selected, words } = parts
  const budget = orNull(selected('Budget', sessionParts.budget))
  const stop = { stop_reason: selected('StopReason', sessionParts.stopReason), stop_details: { type: 'null' } }
  const retry_status = object({ type: words('RetryStatus') })
  const fault = object({ type: words('SessionErrorType'), message: text, retry_status }, { mcp_server_name: text })
  const metadata = { type: 'object', additionalProperties: text }
  return {
    'session.status_running': {},
    'session.status_idle': { always: stop },
    'session.status_rescheduled': {},
    'session.status_terminated': {},
    'session.error': { always: { error: add('SessionFault', described(describe('SessionFault'), fault)) } },
    'session.updated': { sometimes: { title: nullableText, metadata, budget, agent: sessionAgentShape(parts) } },
    'session.deleted': {},
    'session.usage': { always: { usage: selected('SessionUsage', sessionParts.usage), budget } },
  }
}

/** What took how long. */
function spanKinds({ selected, words }: ShapeParts): Record<string, Keys> {
  const usage = selected('ModelRequestUsage', sessionParts.modelUsage)
  const graded = { outcome_id: text, iteration: wholeNumber }
  const verdict = { outcome_evaluation_start_id: text, result: words('OutcomeVerdict'), explanation: text, usage }
  return {
    'span.model_request_start': {},
    'span.model_request_end': { always: { model_request_start_id: text, is_error: flag, model_usage: usage } },
    'span.outcome_evaluation_start': { always: graded },
    'span.outcome_evaluation_end': { always: { ...graded, ...verdict } },
  }
}

function textBlock({ add, describe }: ShapeParts): Json {
  return add('TextBlock', described(describe('TextBlock'), object({ type: oneOf('text'), text })))
}

/** A piece of a message, or of what a tool answered. */
function contentBlock(parts: ShapeParts): Json {
  const { add, describe } = parts
  const of = (name: string, schema: Json): Json => add(name, described(describe(name), schema))
  const data = { media_type: text, data: text }
  const source = add(
    'ContentSource',
    union('type', {
      base64: of('Base64Source', object({ type: oneOf('base64'), ...data })),
      text: of('TextSource', object({ type: oneOf('text'), ...data })),
      url: of('UrlSource', object({ type: oneOf('url'), url: text })),
      file: of('FileSource', object({ type: oneOf('file'), file_id: text })),
    }),
  )
  const document = { type: oneOf('document'), source, title: nullableText, context: nullableText }
  return of(
    'ContentBlock',
    union('type', {
      text: textBlock(parts),
      image: of('ImageBlock', object({ type: oneOf('image'), source })),
      document: of('DocumentBlock', object(document)),
    }),
  )
}
