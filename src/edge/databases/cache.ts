/** What this process remembers of databases: until a notice says that one has changed. */
import { createNoticedCache, type NoticedCache } from '#src/platform/caches/noticed-cache.ts'
import type { Services } from '#src/platform/services.ts'

const entriesMax = 10_000
const rememberedMs = 60_000
/** While notices do not arrive, what was read is used for so long: what is switched off ends within 5 s. */
const unheardMs = 1_000

/** Makes a cache by the stored ids of databases. */
export function createDatabaseCache<Value>({ pubsub }: Pick<Services, 'pubsub'>): NoticedCache<Value> {
  return createNoticedCache<Value>(pubsub, { topic: 'database', entriesMax, rememberedMs, unheardMs })
}
