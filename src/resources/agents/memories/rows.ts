/** A memory's row, its queries, and the rules for what is kept. */
import { ownedByCaller, type Reach } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** What kind of thing a memory is, each with its meaning. */
export const memoryCategories = {
  preference: 'What somebody likes, or how they want things to be done.',
  fact: 'Something that is so.',
  instruction: 'What agents are to do or not to do.',
  project: 'What is being worked on.',
  other: 'Anything else.',
} as const
/** The category of a memory. */
export type MemoryCategory = keyof typeof memoryCategories

/** Who wrote a memory. */
export type MemoryActorType = 'user' | 'agent'

/** A memory as it is read; times are RFC 3339 text, ids are uuids. `ownerUserId` null: the organization's. */
export type Memory = Omit<
  Row<'memories', { category: MemoryCategory | null; actorType: MemoryActorType }>,
  'words' | 'requestDigest'
>

/** The columns of a memory that are read; the others serve the database. */
export const memoryColumns = sql`id, space_id, organization_id, owner_user_id, body, category, revision, idempotency_key, actor_type, actor_id,
  author_user_id, source_session_id, created_at, updated_at`

/** Memories as they are found. */
export const memoryRows = rowsOf<Memory>('memory', 'memories', 'memory', memoryColumns)

/** The memory of this id: the caller's own, or one that an organization of theirs shares. @throws BerthError not_found. */
export async function readMemory(db: Db, reach: Reach, publicId: string, lock = sql``): Promise<Memory> {
  return memoryRows.read(db, publicId, ownedByCaller(reach), lock)
}

/** A body: text of 1 to 10,000 characters. @throws BerthError invalid_request. */
export function readBody(given: unknown): string {
  const most = memoryLimits.bodyLength
  const isFit = typeof given === 'string' && given !== '' && given.length <= 2 * most // two units make one character at most
  if (!isFit || Array.from(given).length > most)
    throw new BerthError('invalid_request', `body must be text of 1 to ${most} characters.`, { field: 'body' })
  if (given.includes('\0') || !given.isWellFormed())
    throw new BerthError('invalid_request', 'body contains a NUL character or half of one. Remove it.', {
      field: 'body',
    })
  return given
}

/** The key of a creation. @throws BerthError invalid_request. */
export function readKey(given: unknown): string {
  const isFit = typeof given === 'string' && given !== '' && given.length <= memoryLimits.keyLength
  if (isFit && !given.includes('\0') && given.isWellFormed()) return given
  throw new BerthError(
    'invalid_request',
    `idempotency_key must be text of 1 to ${memoryLimits.keyLength} characters.`,
    {
      field: 'idempotency_key',
    },
  )
}

/** The 409 for a change of a revision that is not the latest. */
export function revisionStale(current: number): BerthError {
  return new BerthError(
    'memory_revision_stale',
    `This memory has changed: its revision is ${current} now. Read it again, and send that revision.`,
    { field: 'revision' },
  )
}
