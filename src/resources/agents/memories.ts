/**
 * Memories: short texts that a person keeps for their agents, or that an organization shares with all of its members'
 * agents. Every change names the revision that it changes.
 */
import { allow, allowAnywhere, allowIn, ownedByCaller, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import type { Direction, Page, PageWindow } from '#src/platform/pages.ts'
import { change, findOne, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import { sha256 } from '#src/platform/secrets.ts'
import type { Call } from '#src/platform/services.ts'
import { addMemoryEvent, ownerOf } from './memories/events.ts'
import {
  memoryColumns,
  memoryRows,
  readBody,
  readKey,
  readMemory,
  revisionStale,
  type Memory,
  type MemoryCategory,
} from './memories/rows.ts'
import { searchCondition } from './memories/search.ts'
import { addToCount, checkRoom, lockSpace, type MemoryOwner } from './memories/spaces.ts'
import { keepVector } from './memories/vectors.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'

/** The input of a creation. `organizationId`: the public id of the organization that shares it; absent for a personal one. */
export type MemoryInput = {
  body: string
  category?: MemoryCategory | null
  idempotencyKey: string
  organizationId?: string | null
}

/** The input of a change. An absent key stays as it is. */
export type MemoryChange = { body?: string | null; category?: MemoryCategory | null; revision: number }

/** Which memories a list shows. */
export type MemoryFilter = { organizationId?: string | null; category?: MemoryCategory | null; search?: string | null }

/** A memory to add, and who adds it. */
export type NewMemory = Pick<
  Memory,
  'body' | 'category' | 'idempotencyKey' | 'actorType' | 'actorId' | 'sourceSessionId'
> & {
  owner: MemoryOwner
  authorUserId: string
}

/** A memory, and whether it was created now: a repeated request finds the one that it created. */
export type CreatedMemory = { memory: Memory; isNew: boolean }

/**
 * Creates a memory, once for each key and owner.
 * @throws BerthError invalid_request; forbidden for an organization that is not the caller's; idempotency_conflict when
 * the key was used with something else; rate_limited when there may be no more.
 */
export async function createMemory(call: Call, input: MemoryInput): Promise<CreatedMemory> {
  const { organizationId } = input
  const isShared = organizationId !== undefined && organizationId !== null
  const scope = isShared
    ? allowIn(call.caller, 'memories:write', decodeId('organization', organizationId))
    : allow(call.caller, 'memories:write')
  const userId = personOf(scope)
  await checkStorage(call, scope.organizationId, 'definitions')
  const [body, idempotencyKey] = [readBody(input.body), readKey(input.idempotencyKey)]
  const owner = { organizationId: scope.organizationId, userId: isShared ? null : userId }
  const added = { body, category: input.category ?? null, idempotencyKey, owner, authorUserId: userId }
  return transaction(call.db, async (tx) => {
    const created = await addMemory(tx, { ...added, actorType: 'user', actorId: userId, sourceSessionId: null })
    if (created) return created
    throw new BerthError(
      'idempotency_conflict',
      'This idempotency_key was used for a memory with a different body or category. Use a new key for a new memory.',
      { field: 'idempotency_key' },
    )
  })
}

/**
 * Adds a memory, or finds the one that this key has added; null when that was another one.
 * @throws BerthError rate_limited.
 */
export async function addMemory(tx: Tx, added: NewMemory): Promise<CreatedMemory | null> {
  const { owner, body, category, idempotencyKey, actorType, actorId, authorUserId, sourceSessionId } = added
  const space = await lockSpace(tx, owner)
  const digest = sha256(JSON.stringify([body, category]))
  const known = await findOne<Memory & { isSame: boolean }>(
    tx,
    sql`select ${memoryColumns}, request_digest = ${digest} as is_same from memories where space_id = ${space.id} and idempotency_key = ${idempotencyKey}`,
  )
  if (known) return known.isSame ? { memory: known, isNew: false } : null
  await checkRoom(tx, space)
  const memory = await getOne<Memory>(
    tx,
    sql`
    insert into memories (id, space_id, organization_id, owner_user_id, body, category, idempotency_key, request_digest,
      actor_type, actor_id, author_user_id, source_session_id)
    values (${newUuid()}, ${space.id}, ${owner.organizationId}, ${owner.userId}, ${body}, ${category}, ${idempotencyKey},
      ${digest}, ${actorType}, ${actorId}, ${authorUserId}, ${sourceSessionId})
    returning ${memoryColumns}`,
  )
  await addToCount(tx, space.id, 1)
  await addMemoryEvent(tx, memory, 'memory.created')
  return { memory, isNew: true }
}

/** The memory of this id. @throws BerthError not_found. */
export async function getMemory(call: Call, publicId: string): Promise<Memory> {
  return readMemory(call.db, allowAnywhere(call.caller, 'memories:read'), publicId)
}

/** The memories of these stored ids that the caller may read. */
export async function findMemories(call: Call, ids: readonly string[]): Promise<Memory[]> {
  return memoryRows.find(call.db, ids, ownedByCaller(allowAnywhere(call.caller, 'memories:read')))
}

/** The caller's memories, or those that an organization shares, newest first. @throws BerthError invalid_request, forbidden. */
export async function pageMemories(
  call: Call,
  window: PageWindow,
  filter?: MemoryFilter | null,
  direction?: Direction,
): Promise<Page<Memory>> {
  const { organizationId, userId } = ownerOf(call, filter?.organizationId)
  const category = filter?.category ?? null
  const chosen = sql`organization_id = ${organizationId} and ${userId === null ? sql`owner_user_id is null` : sql`owner_user_id = ${userId}`}
    and (${category}::text is null or category = ${category}) and ${await searchCondition(call.db, filter?.search)}`
  return memoryRows.page(call.db, window, chosen, direction)
}

/**
 * Changes the body or the category of a revision.
 * @throws BerthError not_found; memory_revision_stale when it is not the latest; not_permitted_for_role for a shared one
 * that a colleague wrote; invalid_request.
 */
export async function updateMemory(call: Call, publicId: string, input: MemoryChange): Promise<Memory> {
  allowAnywhere(call.caller, 'memories:write')
  const { body, category, revision } = input
  if (body === undefined && category === undefined)
    throw new BerthError('invalid_request', 'Send body, category, or both: there is nothing to change.', {
      field: 'body',
    })
  const changed = body === undefined ? undefined : readBody(body)
  return transaction(call.db, async (tx) => {
    const before = await lockMemory(call, tx, { id: publicId, revision })
    await checkStorage({ ...call, db: tx }, before.organizationId, 'definitions')
    const memory = await getOne<Memory>(
      tx,
      sql`
      update memories
      set body = ${changed ?? before.body}, category = ${category === undefined ? before.category : category},
        revision = revision + 1, updated_at = now()
      where id = ${before.id} returning ${memoryColumns}`,
    )
    if (memory.body === before.body) await keepVector(tx, memory)
    await addMemoryEvent(tx, memory, 'memory.updated')
    return memory
  })
}

/** Deletes a revision. @throws BerthError as updateMemory. */
export async function deleteMemory(call: Call, revised: { id: string; revision: number }): Promise<void> {
  allowAnywhere(call.caller, 'memories:write')
  await transaction(call.db, async (tx) => {
    const memory = await lockMemory(call, tx, revised)
    await change(tx, sql`delete from memories where id = ${memory.id}`)
    await addToCount(tx, memory.spaceId, -1)
    await addMemoryEvent(tx, memory, 'memory.deleted')
  })
}

/** The memory, locked until the transaction ends. What an organization shares is changed by who wrote it, and by admins. */
async function lockMemory(call: Call, tx: Tx, { id, revision }: { id: string; revision: number }): Promise<Memory> {
  const reach = allowAnywhere(call.caller, 'memories:read')
  const memory = await readMemory(tx, reach, id, sql`for update`)
  const isAnothers = memory.ownerUserId === null && memory.authorUserId !== reach.userId
  allowIn(call.caller, isAnothers ? 'shared-memories:write' : 'memories:write', memory.organizationId)
  if (memory.revision !== revision) throw revisionStale(memory.revision)
  return memory
}

/** The person who calls: keys have no access to memories. */
function personOf({ userId }: Scope): string {
  if (userId === null) throw new Error('only people have memories')
  return userId
}
