/**
 * Spaces of memories: what one person keeps in an organization, and what the organization shares. A space serializes
 * its creations, counts its memories, and has the person's settings.
 */
import { allow } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { change, findOne, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** Whose memories they are. `userId` null: the organization's own. */
export type MemoryOwner = { organizationId: string; userId: string | null }

/** A space as it is stored. */
export type MemorySpace = Pick<
  Row<'memory_spaces'>,
  'id' | 'organizationId' | 'ownerUserId' | 'useMemories' | 'memoryCount' | 'eventPosition'
>

/** A person's settings. */
export type MemorySettings = Pick<MemorySpace, 'useMemories'>

const retryAfterSeconds = 60

/** The owner's space, locked until the transaction ends; made when there is none yet. */
export async function lockSpace(tx: Tx, { organizationId, userId }: MemoryOwner): Promise<MemorySpace> {
  return getOne<MemorySpace>(
    tx,
    sql`
    insert into memory_spaces (id, organization_id, owner_user_id) values (${newUuid()}, ${organizationId}, ${userId})
    on conflict (organization_id, owner_user_id) do update set organization_id = excluded.organization_id returning *`,
  )
}

/** The owner's space; undefined when nothing was ever kept or set in it. */
export async function findSpace(db: Db, { organizationId, userId }: MemoryOwner): Promise<MemorySpace | undefined> {
  return findOne<MemorySpace>(
    db,
    sql`select * from memory_spaces where organization_id = ${organizationId} and owner_user_id is not distinct from ${userId}::uuid`,
  )
}

/** Whether a person wants agents to use memories, as they do unless they say otherwise. */
export async function usesMemories(db: Db, owner: MemoryOwner): Promise<boolean> {
  return (await findSpace(db, owner))?.useMemories ?? true
}

/** The caller's settings in the active organization. */
export async function getMemorySettings(call: Call): Promise<MemorySettings> {
  const { organizationId, userId } = allow(call.caller, 'memories:read')
  return { useMemories: await usesMemories(call.db, { organizationId, userId }) }
}

/** Changes them. */
export async function updateMemorySettings(call: Call, input: { useMemories: boolean }): Promise<MemorySettings> {
  const { organizationId, userId } = allow(call.caller, 'memories:write')
  return getOne<MemorySettings>(
    call.db,
    sql`
    insert into memory_spaces (id, organization_id, owner_user_id, use_memories) values (${newUuid()}, ${organizationId}, ${userId}, ${input.useMemories})
    on conflict (organization_id, owner_user_id) do update set use_memories = excluded.use_memories returning use_memories`,
  )
}

/**
 * Refuses one more than the limits. The space must be locked, so that a person's limit is exact. The organization's is
 * rough: nothing locks all of its spaces, so those that are added to at the same time may pass it by one each.
 * @throws BerthError rate_limited.
 */
export async function checkRoom(tx: Tx, space: MemorySpace): Promise<void> {
  if (space.ownerUserId !== null && space.memoryCount >= memoryLimits.perPersonMax)
    throw tooMany(`You have ${memoryLimits.perPersonMax} memories in this organization`)
  const { count } = await getOne<{ count: number }>(
    tx,
    sql`select coalesce(sum(memory_count), 0)::integer as count from memory_spaces where organization_id = ${space.organizationId}`,
  )
  if (count >= memoryLimits.perOrganizationMax)
    throw tooMany(`Your organization has ${memoryLimits.perOrganizationMax} memories`)
}

/** Counts memories that were added to a space, or removed. */
export async function addToCount(tx: Tx, spaceId: string, added: number): Promise<void> {
  await change(tx, sql`update memory_spaces set memory_count = memory_count + ${added} where id = ${spaceId}`)
}

function tooMany(sentence: string): BerthError {
  return new BerthError('rate_limited', `${sentence}, which is the limit. Delete those that nobody needs.`, {
    retryAfterSeconds,
  })
}
