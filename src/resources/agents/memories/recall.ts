/** Recall: the memories that fit a text best, by its words and, where the operator has chosen a model, by its meaning. */
import { actingIn, allow, allowIn, mayWrite } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { findAll, sql, type Db } from '#src/platform/postgres.ts'
import type { Background, Call } from '#src/platform/services.ts'
import { admitChat } from '#src/resources/llm/chats.ts'
import { nothingByMeaning, rankByMeaning, type SearchPayer } from './meaning.ts'
import { memoryModel } from './model.ts'
import { fuseRanks } from './ranks.ts'
import { memoryColumns, type Memory } from './rows.ts'
import { newestIds, rankByWords, wordsOf, type MemoryReader } from './search.ts'

/**
 * What is looked for, among whose memories. `shown`: the text as the model for embeddings is told it. `paidBy`: who pays
 * for that model; null when it is not asked.
 */
export type MemoryQuestion = {
  text: string
  shown: string
  reader: MemoryReader
  most: number
  paidBy: SearchPayer | null
}

/** What was found, best first, and what the model cost. */
export type RecalledMemories = { memories: Memory[]; costNanoUsd: number }

/**
 * The memories that fit a text best. What has both its words and its meaning comes first; without words it is the
 * newest.
 * @throws the signal's reason.
 */
export async function findFitting(
  services: Background,
  { text, shown, reader, most, paidBy }: MemoryQuestion,
  signal: AbortSignal,
): Promise<RecalledMemories> {
  const { db, config } = services
  const words = await wordsOf(db, text)
  if (words.length === 0)
    return { memories: await readInOrder(db, await newestIds(db, reader, most), reader), costNanoUsd: 0 }
  const model = paidBy ? memoryModel(config) : null
  const [byWords, byMeaning] = await Promise.all([
    rankByWords(db, words, reader, model ? memoryLimits.fusedEach : most),
    model && paidBy
      ? rankByMeaning(services, model, { text: shown.toWellFormed(), reader, paidBy }, signal)
      : nothingByMeaning,
  ])
  const ids = fuseRanks([byWords, byMeaning.ids], most)
  return { memories: await readInOrder(db, ids, reader), costNanoUsd: byMeaning.costNanoUsd }
}

/** Which memories a person looks for. `organizationId`: the public id of one that shares them; absent for their own and those of the active one. */
export type RecallInput = { text: string; first?: number | null; organizationId?: string | null }

/**
 * The memories that fit a text best: the caller's own with what their organization shares, or what the named one shares.
 * Those who may not use models find them by words.
 * @throws BerthError invalid_request, forbidden, key_rate_limited.
 */
export async function recallMemories(
  call: Call & { signal?: AbortSignal },
  { text, first, organizationId }: RecallInput,
): Promise<Memory[]> {
  const isOfOrganization = organizationId !== undefined && organizationId !== null
  const scope = isOfOrganization
    ? allowIn(call.caller, 'memories:read', decodeId('organization', organizationId))
    : allow(call.caller, 'memories:read')
  const most = first ?? memoryLimits.recalled
  if (most < 1 || most > memoryLimits.recalledMax)
    throw new BerthError('invalid_request', `first must be from 1 to ${memoryLimits.recalledMax}.`, { field: 'first' })
  if (text.length > memoryLimits.searchLength || (await wordsOf(call.db, text)).length === 0)
    throw new BerthError(
      'invalid_request',
      `text must have 1 to ${memoryLimits.searchLength} characters and at least one word.`,
      { field: 'text' },
    )
  const reader = { organizationId: scope.organizationId, userId: isOfOrganization ? null : scope.userId }
  const caller = actingIn(call.caller, scope.organizationId)
  const paidBy = memoryModel(call.config) && mayWrite(scope) ? await admitChat({ ...call, caller }) : null
  const signal = call.signal ?? new AbortController().signal
  return (await findFitting(call, { text, shown: text, reader, most, paidBy }, signal)).memories
}

async function readInOrder(
  db: Db,
  ids: readonly string[],
  { organizationId, userId }: MemoryReader,
): Promise<Memory[]> {
  if (ids.length === 0) return []
  return findAll<Memory>(
    db,
    sql`
    select ${memoryColumns} from memories where id = any(${ids}::uuid[]) and organization_id = ${organizationId}
      and (owner_user_id is null or owner_user_id = ${userId}::uuid) order by array_position(${ids}::uuid[], id)`,
  )
}
