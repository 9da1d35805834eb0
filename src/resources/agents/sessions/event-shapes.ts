/** The events that clients may send: validated, and turned into what a log stores. */
import { z } from 'zod'
import { isBase64 } from '#src/platform/json/base64.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { imageTypeOf } from '#src/platform/shapes/image-types.ts'
import { agentFileLimits } from '#src/resources/agents/files/limits.ts'
import { messageTypes, type ClientEventType, type EventKey } from './event-types.ts'
import { readShape, usually } from '#src/platform/shapes/fields.ts'
import { input, oneOf } from '#src/platform/shapes/inputs.ts'
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
const url = input({
  url: z
    .string()
    .max(limits.attachmentUrlLength)
    .regex(/^https?:\/\/[^\s/]/, 'it must be an http or https address'),
})
const file = input({ file_id: z.string().min(1).max(agentFileLimits.fileIdLength) })

/** Bytes or text of one of these media types. */
function ofType(types: readonly string[], data: z.ZodType<string>) {
  return input({ media_type: z.enum(types), data })
}
const text = input({ text: z.string().min(1) })
const image = input({
  source: oneOf({
    base64: ofType(
      ['image/jpeg', 'image/png', 'image/gif', 'image/webp'],
      // Its label is not trusted: a model would refuse what is no image, in every later request too.
      base64(limits.imageBytes).refine(
        (data) => imageTypeOf(data) !== undefined,
        'it is no image that models accept, by its first bytes: send a PNG, a JPEG, a GIF or a WebP',
      ),
    ),
    url,
    file,
  }),
})
const document = input({
  source: oneOf({
    base64: ofType(['application/pdf'], base64(limits.documentBytes)),
    text: ofType(['text/plain'], z.string().min(1)),
    url,
    file,
  }),
  title: usually(z.string().max(limits.nameLength), null),
  context: usually(z.string(), null),
})
const tooMany = `a message has at most ${limits.contentBlocksMax} blocks`
const content = z.array(oneOf({ text, image, document })).max(limits.contentBlocksMax, tooMany)
const result = { content: usually(content, []), is_error: usually(z.boolean(), false) }
const rubric = oneOf({
  text: input({ content: z.string().min(1).max(limits.outcomeRubricLength) }),
  file: input({ file_id: z.string() }).refine(() => false, 'a rubric is never a file; send its text'),
})

/** A shape for each type of event that clients send: of all its keys, but for that which the service adds. */
type ClientShapes = {
  [Type in ClientEventType]: [EventKey<Type>] extends [never]
    ? true
    : z.ZodType<Record<Exclude<EventKey<Type>, 'outcome_id'>, unknown>>
}
const clientEvent = oneOf({
  'user.message': input({ content: content.min(1) }),
  'user.interrupt': true,
  'user.tool_confirmation': input({
    tool_use_id: z.string(),
    result: z.enum(['allow', 'deny']),
    deny_message: usually(z.string().max(limits.denyMessageLength), null),
  }),
  'user.custom_tool_result': input({ custom_tool_use_id: z.string(), ...result }),
  'user.tool_result': input({ tool_use_id: z.string(), ...result }),
  'user.define_outcome': input({
    description: z.string().min(1).max(limits.outcomeDescriptionsLength),
    rubric,
    max_iterations: usually(z.int().min(1).max(limits.outcomeIterationsMax), null),
  }),
  'system.message': input({ content: z.array(oneOf({ text })).min(1).max(limits.contentBlocksMax, tooMany) }),
} satisfies ClientShapes)

/** An event as a client sends it. */
export type ClientEventInput = z.input<typeof clientEvent>

/**
 * Reads a batch: 1 to 100 events.
 * @throws BerthError invalid_request naming the place of the error, never the value.
 */
export function readEventBatch(given: readonly ClientEventInput[]): NewEvent[] {
  const events = readList(given, 'events', limits.eventsPerBatch)
  if (events.length === 0) throw new BerthError('invalid_request', 'events must contain at least one event.')
  return events
}

/**
 * Reads the initial events of a session: at most 50 messages and outcomes.
 * @throws BerthError invalid_request.
 */
export function readInitialEvents(
  given: readonly ClientEventInput[] | null | undefined,
  field = 'initial_events',
): NewEvent[] {
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

function readList(given: readonly ClientEventInput[], field: string, most: number): NewEvent[] {
  if (given.length > most) throw new BerthError('invalid_request', `${field} must be a list of at most ${most} events.`)
  return given.map((one, index) => {
    const { type, ...data } = readShape(clientEvent, one, `${field}[${index}]`)
    return { type, data: type === 'user.define_outcome' ? { outcome_id: newId('outcome'), ...data } : data }
  })
}
