/** Waiting for what others do with a row, for a limited time: their notices say when to look again. */
import type { Pubsub } from '#src/platform/pubsub.ts'

/** What is waited for. */
export type Wait<Seen> = {
  /** What notices are about. */
  topic: string
  id: string
  limitSeconds: number
  /** Begins it, or looks for the first time. Notices are heard by then, so none is missed. */
  first: () => Promise<Seen>
  /** Looks again. */
  again: (before: Seen) => Promise<Seen>
  isDone: (seen: Seen) => boolean
}

/** Waits until it is done, or the time is over. @returns what was seen last */
export async function waitUntil<Seen>(
  pubsub: Pick<Pubsub, 'subscribe'>,
  { topic, id, limitSeconds, first, again, isDone }: Wait<Seen>,
): Promise<Seen> {
  const over = new AbortController()
  const notices = pubsub.subscribe(topic, id, over.signal)
  const timer = setTimeout(() => over.abort(), limitSeconds * 1000)
  try {
    let seen = await first()
    if (isDone(seen)) return seen
    for await (const _notice of notices) if (isDone((seen = await again(seen)))) break
    return seen
  } finally {
    clearTimeout(timer)
    over.abort()
  }
}
