/** What people are members of, as a process remembers it for a moment. */
import type { Role } from '#src/platform/access/permissions.ts'
import { createNoticedCache } from '#src/platform/caches/noticed-cache.ts'
import type { Db } from '#src/platform/postgres.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'
import { personTopic, rolesOfPerson } from '../memberships.ts'

const rememberedMax = 10_000
const rememberedMs = 5_000

/** The organizations of a person, by their stored id, with their role in each. */
export type RolesReader = (userId: string) => Promise<ReadonlyMap<string, Role>>

/**
 * Makes what reads the organizations of a person, by their stored id, with their role in each: cached for 5 s, or until a notice
 * of a change.
 */
export function createRolesReader(db: Db, pubsub: Pick<Pubsub, 'connected' | 'listen'>): RolesReader {
  const people = createNoticedCache<ReadonlyMap<string, Role>>(pubsub, {
    topic: personTopic,
    entriesMax: rememberedMax,
    rememberedMs,
    unheardMs: 0,
  })
  return async (userId) => people.find(userId)?.value ?? people.read(userId, () => rolesOfPerson(db, userId))
}
