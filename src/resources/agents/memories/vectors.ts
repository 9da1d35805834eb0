/**
 * Making the vectors of memories, space by space. Which are missing is not kept in jobs, because the log of a space has
 * it already: each change has a position there, and a space that says up to which one its vectors are made cannot miss
 * one. So many changes are one request to the model, and memories from before there was a model, or of another one, are
 * spaces whose vectors were made up to nowhere.
 */
import type { RawBuilder } from 'kysely'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { change, findAll, findOne, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Background } from '#src/platform/services.ts'
import { vectorsOfTexts, whenToTryAgain } from './asking.ts'
import type { MemoryModel } from './model.ts'
import { bytesOfVector, ofLengthOne, signsOf } from './ranks.ts'
import type { Memory } from './rows.ts'

/** A space whose vectors somebody makes. */
type ClaimedSpace = Pick<
  Row<'memory_spaces'>,
  'id' | 'organizationId' | 'ownerUserId' | 'eventPosition' | 'vectorsPosition' | 'vectorsFailures'
>

/** A text whose vector is missing. */
type MissingText = Pick<Memory, 'id' | 'revision' | 'body'>

/** What is left after a turn: `later` when the model or the organization's credits must be waited for. */
export type TurnEnd = 'nothing' | 'more' | 'later'

/** Spaces with missing vectors that may be made now: one of each organization. */
export async function findSpacesWithoutVectors(db: Db, model: MemoryModel): Promise<string[]> {
  const spaces = await findAll<{ id: string }>(
    db,
    sql`
    select distinct on (organization_id) id from memory_spaces where ${areMissing(model)}
    order by organization_id, id limit ${memoryLimits.organizationsPerRound}`,
  )
  return spaces.map(({ id }) => id)
}

/**
 * Makes some of the missing vectors of a space, newest memories first, for which its organization pays. What another
 * worker has claimed is left to it.
 * @throws the signal's reason.
 */
export async function makeVectors(
  services: Background,
  model: MemoryModel,
  spaceId: string,
  signal: AbortSignal,
): Promise<TurnEnd> {
  const { db } = services
  const space = await claim(db, model, spaceId)
  if (!space) return 'nothing'
  const { texts, areAll } = await readMissing(db, model, space)
  if (texts.length === 0) return settle(db, space)
  try {
    const payer = { organizationId: space.organizationId, keyId: null, userId: space.ownerUserId }
    const vectors = await vectorsOfTexts(services, model, { payer, texts: texts.map(({ body }) => body) }, signal)
    await store(db, model, texts, vectors)
  } catch (error) {
    if (signal.aborted) {
      await wait(db, space, { failures: space.vectorsFailures, seconds: 0 }) // for the next worker
      throw error
    }
    const failures = space.vectorsFailures + 1
    await wait(db, space, { failures, seconds: whenToTryAgain(error, failures) })
    return 'later'
  }
  if (areAll) return settle(db, space)
  await wait(db, space, { failures: 0, seconds: 0 })
  return 'more'
}

/** After a change of a memory that left its text as it was: its vector is that of the new revision, too. */
export async function keepVector(tx: Tx, { id, revision }: Pick<Memory, 'id' | 'revision'>): Promise<void> {
  await change(
    tx,
    sql`update memory_vectors set revision = ${revision} where memory_id = ${id} and revision = ${revision - 1}`,
  )
}

/** The condition of spaces with missing vectors of which nobody has a claim. */
function areMissing({ madeBy }: MemoryModel): RawBuilder<boolean> {
  return sql<boolean>`event_position > 0 and (vectors_position < event_position or vectors_made_by is distinct from ${madeBy})
    and (vectors_not_before is null or vectors_not_before <= now())`
}

/** Claims a space. One whose vectors are of another model begins anew, so that going back to that model misses none either. */
async function claim(db: Db, model: MemoryModel, id: string): Promise<ClaimedSpace | undefined> {
  return findOne<ClaimedSpace>(
    db,
    sql`
    update memory_spaces set vectors_not_before = now() + make_interval(secs => ${memoryLimits.claimSeconds}), vectors_made_by = ${model.madeBy},
      vectors_position = case when vectors_made_by = ${model.madeBy} then vectors_position else 0 end
    where id = ${id} and ${areMissing(model)} returning *`,
  )
}

/** The next texts. `areAll`: there are no others. */
async function readMissing(
  db: Db,
  { madeBy }: MemoryModel,
  { id, eventPosition, vectorsPosition }: ClaimedSpace,
): Promise<{ texts: MissingText[]; areAll: boolean }> {
  const { textsAtOnce, charactersAtOnce, eventsKept } = memoryLimits
  const hasLog = eventPosition - vectorsPosition <= eventsKept
  const changed = sql`m.id in (select memory_id from memory_events where space_id = ${id} and position > ${vectorsPosition})`
  const found = await findAll<MissingText>(
    db,
    sql`
    select m.id, m.revision, m.body from memories m where m.space_id = ${id} and ${hasLog ? changed : sql`true`}
      and not exists (select from memory_vectors v where v.memory_id = m.id and v.revision = m.revision and v.made_by = ${madeBy})
    order by m.id desc limit ${textsAtOnce}`,
  )
  let characters = 0
  const texts = found.filter(({ body }, at) => (characters += body.length) <= charactersAtOnce || at === 0)
  return { texts, areAll: texts.length < textsAtOnce && texts.length === found.length }
}

/** Stores vectors of texts that are still as they were; null for what the model cannot read. */
async function store(
  db: Db,
  { madeBy }: MemoryModel,
  texts: readonly MissingText[],
  vectors: readonly (Float32Array | null)[],
): Promise<void> {
  const made = vectors.map((vector) => vector && ofLengthOne(vector))
  await change(
    db,
    sql`
    with made as (select * from unnest(${texts.map(({ id }) => id)}::uuid[], ${texts.map(({ revision }) => revision)}::integer[],
        ${made.map((one) => one && signsOf(one))}::text[], ${made.map((one) => one && bytesOfVector(one))}::bytea[]) as made (id, revision, signs, vector)),
      held as (select m.id, m.space_id, m.revision from memories m where m.id in (select id from made) order by m.id for key share)
    insert into memory_vectors (memory_id, space_id, made_by, revision, signs, vector)
    select id, space_id, ${madeBy}, revision, signs::bit varying, vector from made join held using (id, revision) order by id
    on conflict (memory_id) do update set made_by = excluded.made_by, revision = excluded.revision, signs = excluded.signs, vector = excluded.vector
    where memory_vectors.revision <= excluded.revision`,
  )
}

/** Says that all vectors are made up to the change that was the last when the space was claimed. */
async function settle(db: Db, { id, eventPosition }: ClaimedSpace): Promise<TurnEnd> {
  const { hasChanged } = await getOne<{ hasChanged: boolean }>(
    db,
    sql`
    update memory_spaces set vectors_position = ${eventPosition}, vectors_failures = 0, vectors_not_before = null
    where id = ${id} returning event_position > ${eventPosition} as has_changed`,
  )
  return hasChanged ? 'more' : 'nothing'
}

/** Gives the claim back: for the next turn, or for one after a while. */
async function wait(
  db: Db,
  { id }: ClaimedSpace,
  { failures, seconds }: { failures: number; seconds: number },
): Promise<void> {
  await change(
    db,
    sql`update memory_spaces set vectors_failures = ${failures}, vectors_not_before = now() + make_interval(secs => ${seconds}) where id = ${id}`,
  )
}
