/** The events of sessions as REST shows them, for OpenAPI: they are shown as they are stored, so no selection says them. */
import {
  eventTypeName,
  sessionEvents,
  type EventDefinition,
  type EventField,
  type EventValue,
} from '#schema/agents/sessions/events.ts'
import { orNull, type Json, type ShapeParts } from '../openapi/components.ts'
import { anyObject, flag, list, nullableText, object, oneOf, text, union, wholeNumber } from '../openapi/json-schema.ts'
import { sessionAgentShape } from './agent-shapes.ts'
import { sessionParts } from './session-parts.ts'

const moment: Json = { type: ['string', 'null'], format: 'date-time' }
const described = (sentence: string, schema: Json): Json => ({ ...schema, description: sentence })

/** An event of a session's log. */
export function logEventShape(parts: ShapeParts): Json {
  const { add, describe } = parts
  const values = valueShapes(parts)
  const members = Object.entries<EventDefinition>(sessionEvents).map(([type, { fields = {} }]) => {
    const name = eventTypeName(type)
    const { always, sometimes } = keysOf(fields, values)
    const event = object({ id: text, type: oneOf(type), ...always, processed_at: moment }, sometimes)
    return [type, add(name, described(describe(name), event))] as const
  })
  return add('SessionEvent', described(describe('SessionEvent'), union('type', Object.fromEntries(members))))
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

/** The components for the events of a kickoff. */
const kickoffNames = [
  ['user.message', 'KickoffMessage'],
  ['user.define_outcome', 'KickoffOutcome'],
  ['system.message', 'KickoffSystemMessage'],
] as const

/** An event of a kickoff: a client's, before there is a session, so it is in no log, and its outcome has no id. */
export function kickoffEventShape(parts: ShapeParts): Json {
  const { add, describe } = parts
  const values = valueShapes(parts)
  const members = kickoffNames.map(([type, name]) => {
    const { outcome_id: _given, ...sent } = keysOf(sessionEvents[type].fields, values).always
    return [type, add(name, object({ type: oneOf(type), ...sent }))] as const
  })
  return add('KickoffEvent', described(describe('KickoffEvent'), union('type', Object.fromEntries(members))))
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

/** The keys of an event's data that are always there, and those that sometimes are. */
function keysOf(
  fields: Readonly<Record<string, EventField>>,
  values: Readonly<Record<EventValue, Json>>,
): Record<'always' | 'sometimes', Record<string, Json>> {
  const keys: ReturnType<typeof keysOf> = { always: {}, sometimes: {} }
  for (const [key, field] of Object.entries(fields))
    keys[field.sometimes ? 'sometimes' : 'always'][key] = field.orNull ? orNull(values[field.is]) : values[field.is]
  return keys
}

/** The shape of each value that an event's data may hold. */
function valueShapes(parts: ShapeParts): Readonly<Record<EventValue, Json>> {
  const { add, describe, selected, words } = parts
  const retry_status = object({ type: words('RetryStatus') })
  const fault = object({ type: words('SessionErrorType'), message: text, retry_status }, { mcp_server_name: text })
  return {
    agent: sessionAgentShape(parts),
    blocks: list(contentBlock(parts)),
    budget: selected('Budget', sessionParts.budget),
    confirmation: words('ToolConfirmationResult'),
    event: text,
    fault: add('SessionFault', described(describe('SessionFault'), fault)),
    flag,
    id: text,
    json: anyObject,
    modelUsage: selected('ModelRequestUsage', sessionParts.modelUsage),
    nothing: { type: 'null' },
    number: wholeNumber,
    peerExchange: described(sessionEvents['agent.tool_use'].fields.peer_exchange_id.description, text),
    permission: words('EvaluatedPermission'),
    rubric: object({ type: oneOf('text'), content: text }),
    stopReason: selected('StopReason', sessionParts.stopReason),
    text,
    textBlocks: list(textBlock(parts)),
    textMap: { type: 'object', additionalProperties: text },
    usage: selected('SessionUsage', sessionParts.usage),
    verdict: words('OutcomeVerdict'),
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
