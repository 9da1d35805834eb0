/** The events that clients may send, validated. Keys are spelled as on the wire. */
import { z } from 'zod'
import { isBase64 } from '#src/platform/json/base64.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { exact } from '#src/platform/shapes.ts'
import { imageTypeOf } from '#src/platform/shapes/image-types.ts'
import { agentFileLimits } from '#src/resources/agents/files/limits.ts'
import { messageTypes } from './event-types.ts'
import { readShape, usually } from '#src/platform/shapes/fields.ts'
import type { NewEvent } from './log.ts'

const megabyte = 1024 * 1024

/** Base64 that decodes to at most so many bytes. */
function base64(bytesMax: number): z.ZodType<string> {
  return z
    .string()
    .min(1)
    .refine((data) => data.length <= Math.ceil(bytesMax / 3) * 4, `it may have at most ${bytesMax / megabyte} MiB`)
    .refine(isBase64, 'it must be base64')
}
const url = exact({
  type: z.literal('url'),
  url: z
    .string()
    .max(limits.attachmentUrlLength)
    .regex(/^https?:\/\/[^\s/]/, 'it must be an http or https address'),
})
const file = exact({ type: z.literal('file'), file_id: z.string().min(1).max(agentFileLimits.fileIdLength) })
const fileRubric = exact({ type: z.literal('file'), file_id: z.string() }).refine(
  () => false,
  'a rubric is never a file; send its text',
)

const text = exact({ type: z.literal('text'), text: z.string().min(1) })
const image = exact({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    exact({
      type: z.literal('base64'),
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      // Its label is not trusted: a model would refuse what is no image, in every later request too.
      data: base64(limits.imageBytes).refine(
        (data) => imageTypeOf(data) !== undefined,
        'it is no image that models accept, by its first bytes: send a PNG, a JPEG, a GIF or a WebP',
      ),
    }),
    url,
    file,
  ]),
})
const document = exact({
  type: z.literal('document'),
  source: z.discriminatedUnion('type', [
    exact({ type: z.literal('base64'), media_type: z.literal('application/pdf'), data: base64(limits.documentBytes) }),
    exact({ type: z.literal('text'), media_type: z.literal('text/plain'), data: z.string().min(1) }),
    url,
    file,
  ]),
  title: usually(z.string().max(limits.nameLength), null),
  context: usually(z.string(), null),
})
const tooMany = `a message has at most ${limits.contentBlocksMax} blocks`
const content = z.array(z.discriminatedUnion('type', [text, image, document])).max(limits.contentBlocksMax, tooMany)
const resultContent = usually(content, [])
const isError = usually(z.boolean(), false)
const rubric = z.discriminatedUnion('type', [
  exact({ type: z.literal('text'), content: z.string().min(1).max(limits.outcomeRubricLength) }),
  fileRubric,
])

const clientEvent = z.discriminatedUnion(
  'type',
  [
    exact({ type: z.literal('user.message'), content: content.min(1) }),
    exact({ type: z.literal('user.interrupt') }),
    exact({
      type: z.literal('user.tool_confirmation'),
      tool_use_id: z.string(),
      result: z.enum(['allow', 'deny']),
      deny_message: usually(z.string().max(limits.denyMessageLength), null),
    }),
    exact({
      type: z.literal('user.custom_tool_result'),
      custom_tool_use_id: z.string(),
      content: resultContent,
      is_error: isError,
    }),
    exact({ type: z.literal('user.tool_result'), tool_use_id: z.string(), content: resultContent, is_error: isError }),
    exact({
      type: z.literal('user.define_outcome'),
      description: z.string().min(1).max(limits.outcomeDescriptionsLength),
      rubric,
      max_iterations: usually(z.int().min(1).max(limits.outcomeIterationsMax), null),
    }),
    exact({ type: z.literal('system.message'), content: z.array(text).min(1).max(limits.contentBlocksMax, tooMany) }),
  ],
  'it must be a type that clients may send: user.message, user.interrupt, user.tool_confirmation, user.custom_tool_result, user.tool_result, user.define_outcome or system.message',
)

/**
 * Reads a batch: 1 to 100 events.
 * @throws BerthError invalid_request naming the place of the error, never the value.
 */
export function readEventBatch(given: unknown): NewEvent[] {
  const events = readList(given, 'events', limits.eventsPerBatch)
  if (events.length === 0) throw new BerthError('invalid_request', 'events must contain at least one event.')
  return events
}

/**
 * Reads the initial events of a session: at most 50 messages and outcomes.
 * @throws BerthError invalid_request.
 */
export function readInitialEvents(given: unknown, field = 'initial_events'): NewEvent[] {
  const events = readList(given ?? [], field, limits.initialEventsMax)
  const strange = events.findIndex(({ type }) => !messageTypes.includes(type))
  if (strange >= 0)
    throw new BerthError(
      'invalid_request',
      `${field}[${strange}].type must be user.message, user.define_outcome or system.message.`,
    )
  return events
}

/** A text as a user's message event. */
export function messageOf(text: string): NewEvent {
  return { type: 'user.message', data: { content: [{ type: 'text', text }] } }
}

function readList(given: unknown, field: string, most: number): NewEvent[] {
  if (!Array.isArray(given) || given.length > most)
    throw new BerthError('invalid_request', `${field} must be a list of at most ${most} events.`)
  return given.map((one, index) => {
    const { type, ...data } = readShape(clientEvent, one, `${field}[${index}]`)
    return { type, data: type === 'user.define_outcome' ? { outcome_id: newId('outcome'), ...data } : data }
  })
}
