/**
 * Search in memories: by words, without regard to case or language. A memory matches when each word of the search is
 * the beginning of one of its words.
 */
import type { RawBuilder } from 'kysely'
import { BerthError } from '#src/platform/errors.ts'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { findAll, getOne, sql, type Db } from '#src/platform/postgres.ts'

/** Who recalls: a person, who also reads what their organization shares; without one it is that only. */
export type MemoryReader = { organizationId: string; userId: string | null }

/**
 * The words of a text as the index has them, each once, in the order of their length, longest first: long words are
 * rare ones.
 */
export async function wordsOf(db: Db, text: string): Promise<string[]> {
  const { words } = await getOne<{ words: string[] }>(
    db,
    sql`select tsvector_to_array(to_tsvector('simple', ${text.replaceAll('\0', ' ').toWellFormed()})) as words`,
  )
  return words.toSorted((one, other) => other.length - one.length).slice(0, memoryLimits.searchWords)
}

/**
 * The condition that a memory has all of these words, or any of them, or words that begin so. Of all words that a memory
 * must have, only the first are looked up: for each word the index goes through every memory that has it, and the others
 * are looked for in those few that are left.
 */
function hasWords(words: readonly string[], join: '&' | '|'): RawBuilder<boolean> {
  const lookedUp = join === '&' ? words.slice(0, memoryLimits.searchWordsLookedUp) : words
  const others = sql`ts_match_vq(words, ${queryOf(words, join)}::tsquery)` // the function of @@, which uses no index
  return sql<boolean>`words @@ ${queryOf(lookedUp, join)}::tsquery ${lookedUp.length < words.length ? sql`and ${others}` : sql``}`
}

function queryOf(words: readonly string[], join: '&' | '|'): string {
  return words.map((word) => `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}':*`).join(` ${join} `)
}

/**
 * The condition of a list that is searched. Null and absent search for nothing, and every memory matches.
 * @throws BerthError invalid_request for a text without words, or one that is too long.
 */
export async function searchCondition(db: Db, text: string | null | undefined): Promise<RawBuilder<boolean>> {
  if (text === null || text === undefined) return sql<boolean>`true`
  const words = text.length <= memoryLimits.searchLength ? await wordsOf(db, text) : []
  if (words.length > 0) return hasWords(words, '&')
  throw new BerthError(
    'invalid_request',
    `search must be text of 1 to ${memoryLimits.searchLength} characters with at least one word. Leave it out to list everything.`,
    { field: 'search' },
  )
}

/**
 * The ids of the memories that fit these words best, those with all of them before those with some; among equals the
 * newest first.
 * @param reader whose own, with those that their organization shares.
 */
export async function rankByWords(
  db: Db,
  words: readonly string[],
  reader: MemoryReader,
  most: number,
): Promise<string[]> {
  const whole = await ranked(db, words, '&', reader, most)
  if (whole.length === most || words.length === 1) return whole
  const partly = await ranked(db, words, '|', reader, most)
  return [...new Set([...whole, ...partly])].slice(0, most)
}

/** The ids of the newest memories. */
export async function newestIds(db: Db, reader: MemoryReader, most: number): Promise<string[]> {
  const found = await findAll<{ id: string }>(db, newestOf(reader, most, sql`id`))
  return found.map(({ id }) => id)
}

/** The matches, best first. Only the newest of many are compared, so that a frequent word costs no more than a rare one. */
async function ranked(
  db: Db,
  words: readonly string[],
  join: '&' | '|',
  reader: MemoryReader,
  most: number,
): Promise<string[]> {
  const ids = await newestMatches(db, words, join, reader)
  if (ids.length === 0) return []
  const found = await findAll<{ id: string }>(
    db,
    sql`
    select id from memories where id = any(${ids}::uuid[])
    order by ts_rank(words, ${queryOf(words, '|')}::tsquery) desc, id desc limit ${most}`,
  )
  return found.map(({ id }) => id)
}

/**
 * The newest matches. What many memories have is found by looking through the newest; what few have, by the index of
 * words. The newest few show which it is. Postgres would choose by how frequent a word is in everybody's memories
 * together, and look through all of them for words of something that is long over.
 */
async function newestMatches(
  db: Db,
  words: readonly string[],
  join: '&' | '|',
  reader: MemoryReader,
): Promise<readonly string[]> {
  const { candidates, newestTried, newestLookedThrough } = memoryLimits
  const tried = await amongNewest(db, words, join, reader, newestTried)
  if (tried.isWhole) return tried.ids
  if (tried.ids.length >= (newestTried * candidates) / newestLookedThrough) {
    const through = await amongNewest(db, words, join, reader, newestLookedThrough)
    if (through.isWhole) return through.ids
  }
  const found = await findAll<{ id: string }>(
    db,
    sql`
    with found as materialized (select id from memories where ${hasWords(words, join)}
      and organization_id = ${reader.organizationId} and (owner_user_id is null or owner_user_id = ${reader.userId}::uuid))
    select id from found order by id desc limit ${candidates}`,
  )
  return found.map(({ id }) => id)
}

/** The matches among so many of the newest memories. `isWhole`: there are enough, or there are no further memories. */
async function amongNewest(
  db: Db,
  words: readonly string[],
  join: '&' | '|',
  reader: MemoryReader,
  most: number,
): Promise<{ ids: string[]; isWhole: boolean }> {
  const { candidates } = memoryLimits
  const { ids, count } = await getOne<{ ids: string[]; count: number }>(
    db,
    sql`
    select array(select id from (${newestOf(reader, most, sql`id, words`)}) newest where words @@ ${queryOf(words, join)}::tsquery
        order by id desc limit ${candidates}) as ids,
      (select coalesce(sum(memory_count), 0)::integer from memory_spaces where organization_id = ${reader.organizationId}
        and (owner_user_id is null or owner_user_id = ${reader.userId}::uuid)) as count`,
  )
  return { ids, isWhole: ids.length === candidates || count <= most }
}

/** The newest memories that somebody's agents may read: those of each owner by their index. */
function newestOf<Columns>(
  { organizationId, userId }: MemoryReader,
  most: number,
  columns: RawBuilder<Columns>,
): RawBuilder<Columns> {
  const of = (owner: RawBuilder<unknown>): RawBuilder<unknown> =>
    sql`(select ${columns} from memories where organization_id = ${organizationId} and ${owner} order by id desc limit ${most})`
  return sql<Columns>`
    select *
    from (${of(sql`owner_user_id = ${userId}::uuid`)} union all ${of(sql`owner_user_id is null`)}) newest
    order by id desc limit ${most}`
}
