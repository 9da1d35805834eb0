/**
 * Kickoffs: what a session that starts by itself is told first. They are stored as events of clients, keys spelled as
 * on the wire, with the text where one text was sent.
 */
import { z } from 'zod'
import { BerthError } from '#src/platform/errors.ts'
import { newId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { startLimits } from '#src/platform/limits/starts.ts'
import { readShape } from '#src/platform/shapes/fields.ts'
import { checkOutcomes, definedBy } from './sessions/outcomes/rows.ts'
import { messageOf, readInitialEvents, type ClientEventInput } from './sessions/event-shapes.ts'
import type { SessionEventType } from './sessions/event-types.ts'
import type { NewEvent } from './sessions/log.ts'

/** One event of a kickoff: `user.message`, `user.define_outcome` or `system.message`, with the fields of its type. */
export type KickoffEvent = Readonly<Record<string, unknown>> & { readonly type: SessionEventType }

/** A kickoff as it is stored and shown; `text` is there when one text was sent, which is the message in `events`. */
export type Kickoff = { readonly events: readonly KickoffEvent[]; readonly text?: string }

/** A kickoff as callers give it. */
export type KickoffInput = { text?: string | null; events?: readonly ClientEventInput[] | null }
/** The same where it may have the name of Anthropic's clients. */
export type KickoffGiven = { kickoff?: KickoffInput | null; initialEvents?: readonly ClientEventInput[] | null }

const text = z.string().min(1)
const list = z.array(z.custom<ClientEventInput>()).optional()

/**
 * Reads a kickoff: a text, which is sent as one `user.message`; or 1 to 50 messages and outcomes. What was answered for
 * one is accepted as it is.
 * @param field the caller's name for it.
 * @throws BerthError invalid_request naming the place of the error, never the value.
 */
export function readKickoff({ text: written, events: given }: KickoffInput, field = 'kickoff'): Kickoff {
  const events = readShape(list, given, `${field}.events`)
  if (written === undefined || written === null) return ofEvents(events, `${field}.events`)
  const kickoff = checkSize({ ...ofMessage(readShape(text, written, field)), text: written }, field)
  const same =
    events === undefined ||
    JSON.stringify(ofEvents(events, `${field}.events`).events) === JSON.stringify(kickoff.events)
  if (same) return kickoff
  throw new BerthError('invalid_request', `${field} has a text and other events. Send either the text or the events.`)
}

/**
 * Reads the kickoff of a body that may have it under the name of Anthropic's clients, `initial_events`.
 * @returns undefined when neither is there.
 * @throws BerthError invalid_request, also when both are.
 */
export function readEitherKickoff(given: KickoffGiven): Kickoff | undefined {
  const [kickoff, initialEvents] = [given.kickoff ?? undefined, given.initialEvents ?? undefined]
  if (kickoff !== undefined && initialEvents !== undefined)
    throw new BerthError('invalid_request', 'Give either kickoff or initial_events, which are the same; not both.')
  if (initialEvents !== undefined) return ofEvents(initialEvents, 'initial_events')
  return kickoff === undefined ? undefined : readKickoff(kickoff)
}

/** The events that a session starts with: each outcome gets an id of its own. */
export function eventsOf({ events }: Kickoff): NewEvent[] {
  return events.map(({ type, ...data }) => ({
    type,
    data: type === 'user.define_outcome' ? { outcome_id: newId('outcome'), ...data } : data,
  }))
}

function ofEvents(given: readonly ClientEventInput[] | undefined, field: string): Kickoff {
  const events = readInitialEvents(given, field)
  if (events.length === 0)
    throw new BerthError('invalid_request', `${field} must be a list of 1 to ${limits.initialEventsMax} events.`)
  checkOutcomes({ outcomes: [] }, definedBy(events))
  return checkSize({ events: events.map(stored) }, field)
}

function ofMessage(message: string): Kickoff {
  return { events: [stored(messageOf(message))] }
}

/** An event without the id of its outcome, of which each session has its own. */
function stored({ type, data = {} }: NewEvent): KickoffEvent {
  const { outcome_id: _ofOneSession, ...fields } = data
  return { type, ...fields }
}

function checkSize(kickoff: Kickoff, field: string): Kickoff {
  if (Buffer.byteLength(JSON.stringify(kickoff.events)) <= startLimits.kickoffBytes) return kickoff
  throw new BerthError(
    'invalid_request',
    `${field} may have at most ${startLimits.kickoffBytes} bytes. Send large documents and images by url.`,
  )
}
