/** Finding memories by their meaning: those whose vectors are nearest to that of a text. */
import { BerthError } from '#src/platform/errors.ts'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { log } from '#src/platform/log.ts'
import { findAll, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Background } from '#src/platform/services.ts'
import type { Payer } from '#src/resources/llm/billing.ts'
import { embed } from '#src/resources/llm/embeddings.ts'
import type { MemoryModel } from './model.ts'
import { ofLengthOne, signsOf, similarity } from './ranks.ts'
import type { MemoryReader } from './search.ts'

/** Who pays for the vector of a search, and the session that makes it, if any. */
export type SearchPayer = { payer: Payer; sessionId?: string }

/** The ids of what was found, nearest first, and what it cost. */
export type FoundByMeaning = { ids: readonly string[]; costNanoUsd: number }

/** Nothing, for nothing. */
export const nothingByMeaning: FoundByMeaning = { ids: [], costNanoUsd: 0 }

/**
 * The memories nearest to a text in their meaning. Nothing when the model does not answer in time or may not be asked,
 * because a search by words is better than none.
 * @throws the signal's reason.
 */
export async function rankByMeaning(
  services: Background,
  model: MemoryModel,
  { text, reader, paidBy }: { text: string; reader: MemoryReader; paidBy: SearchPayer },
  signal: AbortSignal,
): Promise<FoundByMeaning> {
  const spaceIds = await spacesWithVectors(services.db, model, reader)
  if (spaceIds.length === 0) return nothingByMeaning
  const asked = await vectorOfSearch(services, model, text, paidBy, signal)
  if (!asked) return nothingByMeaning
  const near = (await findNear(services.db, model, spaceIds, asked.vector))
    .map(({ id, vector }) => ({ id, similarity: similarity(asked.vector, vector) }))
    .filter((one) => one.similarity >= memoryLimits.similarityMin)
    .toSorted((one, other) => other.similarity - one.similarity)
  return { ids: near.slice(0, memoryLimits.fusedEach).map(({ id }) => id), costNanoUsd: asked.costNanoUsd }
}

/** The reader's spaces that have vectors of this model: without any there is nothing to pay for. */
async function spacesWithVectors(
  db: Db,
  { madeBy }: MemoryModel,
  { organizationId, userId }: MemoryReader,
): Promise<string[]> {
  const spaces = await findAll<{ id: string }>(
    db,
    sql`
    select id from memory_spaces s where organization_id = ${organizationId} and (owner_user_id is null or owner_user_id = ${userId}::uuid)
      and exists (select from memory_vectors v where v.space_id = s.id and v.made_by = ${madeBy})`,
  )
  return spaces.map(({ id }) => id)
}

async function vectorOfSearch(
  services: Background,
  { model, dimensions }: MemoryModel,
  text: string,
  { payer, sessionId }: SearchPayer,
  signal: AbortSignal,
): Promise<{ vector: Float32Array; costNanoUsd: number } | null> {
  const timeOver = AbortSignal.timeout(memoryLimits.queryMs)
  const order = {
    payer,
    model,
    inputs: [text],
    dimensions,
    user: null,
    route: 'memories',
    ...(sessionId && { sessionId }),
  } as const
  try {
    const { vectors, inputTokens } = await embed(services, order, AbortSignal.any([signal, timeOver]))
    const vector = ofLengthOne(vectors[0] ?? new Float32Array(dimensions))
    return { vector, costNanoUsd: inputTokens * model.pricing.inputNanoUsd }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof BerthError) && !timeOver.aborted) throw error
    const reason = timeOver.aborted ? 'it took too long' : error instanceof Error ? error.message : ''
    log.debug({ reason }, 'a search in memories goes by words only')
    return null
  }
}

/** Those nearest by the signs of their numbers, with their vectors. */
async function findNear(
  db: Db,
  { madeBy }: MemoryModel,
  spaceIds: readonly string[],
  vector: Float32Array,
): Promise<{ id: string; vector: Buffer }[]> {
  return findAll<{ id: string; vector: NonNullable<Row<'memory_vectors'>['vector']> }>(
    db,
    sql`
    with near as materialized (
      select memory_id, revision from memory_vectors where space_id = any(${spaceIds}::uuid[]) and made_by = ${madeBy}
      order by bit_count(signs # ${signsOf(vector)}::bit varying) limit ${memoryLimits.nearest})
    select m.id, v.vector from near join memories m on m.id = near.memory_id and m.revision = near.revision
      join memory_vectors v on v.memory_id = m.id and v.revision = m.revision and v.made_by = ${madeBy} and v.vector is not null`,
  )
}
