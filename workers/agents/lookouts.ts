/** What a worker does at a notice, and looks for again and again, because a notice may be lost. */
import { log } from '#src/platform/log.ts'
import { beforeClose, type Background } from '#src/platform/services.ts'

/** What is looked out for. */
export type Lookout = {
  topic: string
  everySeconds: number
  /** Does what the notice with this id is about. */
  hear: (id: string) => Promise<void>
  /** Does everything that a notice would have led to. */
  look: () => Promise<void>
  /** What the log says of a failure, which the next look makes good. */
  failure: string
}

/** Looks out until the services are closed. Several workers may do so. */
export function keepLookout(services: Background, { topic, everySeconds, hear, look, failure }: Lookout): void {
  const underWay = new Set<Promise<void>>()
  let isOver = false
  const run = (work: () => Promise<void>): void => {
    if (isOver) return
    const one: Promise<void> = work()
      .catch((error: Error) => log.warn({ reason: error.message }, failure))
      .finally(() => underWay.delete(one))
    underWay.add(one)
  }
  services.pubsub.listen(topic, (id) => run(id === null ? look : () => hear(id)))
  const timer = setInterval(() => run(look), everySeconds * 1000)
  run(look)
  beforeClose(services.db, async () => {
    isOver = true
    clearInterval(timer)
    await Promise.all(underWay)
  })
}
