/**
 * Has servers set up again that do not let the proxy in: an earlier version of Berth has set them up, or their owner has changed
 * its role, which every role may do. Whoever logs in meanwhile waits for that, and is not refused.
 */
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { encodeId } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { waitUntil } from '#src/platform/streams/waits.ts'
import { enqueueSetup, setUpTopic } from '#src/resources/infra/databases/jobs.ts'

const databasesMax = 10_000
/** Whoever changes them again and again gets no more than that. */
const againMs = 10_000

/** Makes a function that asks for that, and answers whether it is done; at once that it is not where it was asked for a moment ago. @param limitSeconds how long it waits */
export function createSetups(services: Services, limitSeconds: number): (databaseId: string) => Promise<boolean> {
  const lastMs = createBoundedMap<string, number>({ entriesMax: databasesMax })
  const underway = new Map<string, Promise<boolean>>()

  async function setUp(id: string): Promise<boolean> {
    try {
      return await waitUntil<boolean>(services.pubsub, {
        topic: setUpTopic,
        id,
        limitSeconds,
        first: async () => {
          await enqueueSetup(services, id)
          return false
        },
        again: async () => true,
        isDone: (isSetUp) => isSetUp,
      })
    } catch (error) {
      log.error({ err: error }, 'a database could not be set up again')
      return false
    } finally {
      underway.delete(id)
    }
  }
  return async (id) => {
    const waiting = underway.get(id)
    if (waiting) return waiting
    if (performance.now() - (lastMs.get(id) ?? -Infinity) < againMs) return false
    lastMs.set(id, performance.now())
    log.warn({ database: encodeId('database', id) }, 'a database is set up again: its server does not let the proxy in')
    const begun = setUp(id)
    underway.set(id, begun)
    return begun
  }
}
