/** Heartbeats of subscriptions: one every 10 s, so that a client notices a dead connection. */
import { timestamp, nowMs } from '#src/platform/clock.ts'
import { limits } from '#src/platform/limits.ts'
import { builder } from './builder.ts'

/** Says only that the stream lives. */
export type Heartbeat = { heartbeatAt: string }

/** The heartbeat in every subscription’s union. */
export const heartbeat = builder.objectRef<Heartbeat>('Heartbeat').implement({
  description: 'Sent every 10 s while nothing else happens. It has no cursor.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'heartbeatAt' in value,
  fields: (t) => ({ heartbeatAt: t.expose('heartbeatAt', { type: 'DateTime', description: 'When it was sent.' }) }),
})

/**
 * The events with heartbeats between them. Ends when the events end, and closes their source when the reader leaves.
 */
export async function* withHeartbeats<Event>(events: AsyncIterator<Event>): AsyncIterableIterator<Event | Heartbeat> {
  let next = events.next()
  try {
    for (;;) {
      let timer: NodeJS.Timeout | undefined
      const silence = new Promise<'silence'>(
        (resolve) => (timer = setTimeout(() => resolve('silence'), limits.streamHeartbeatSeconds * 1000)),
      )
      const first = await Promise.race([next, silence]).finally(() => clearTimeout(timer))
      if (first === 'silence') {
        yield { heartbeatAt: timestamp(nowMs()) }
      } else {
        if (first.done) return
        yield first.value
        next = events.next()
      }
    }
  } finally {
    await events.return?.()
  }
}
