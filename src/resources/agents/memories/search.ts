/**
 * Search in memories: by words, without regard to case or language. A memory matches when each word of the search is
 * the beginning of one of its words.
 */
import type { RawBuilder } from 'kysely'
import { BerthError } from '#src/platform/errors.ts'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { findAll, getOne, sql, type Db } from '#src/platform/postgres.ts'
import { memoryColumns, type Memory } from './rows.ts'

/**
 * The words of a text as the index has them, each once, in the order of their length, longest first: long words are
 * rare ones.
 */
async function wordsOf(db: Db, text: string): Promise<string[]> {
  const { words } = await getOne<{ words: string[] }>(
    db,
    sql`select tsvector_to_array(to_tsvector('simple', ${text.replaceAll('\0', ' ').toWellFormed()})) as words`,
  )
  return words.toSorted((one, other) => other.length - one.length).slice(0, memoryLimits.searchWords)
}

/** The condition that a memory has all of these words, or any of them, or words that begin so. */
function hasWords(words: readonly string[], join: '&' | '|'): RawBuilder<boolean> {
  return sql<boolean>`words @@ ${queryOf(words, join)}::tsquery`
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
 * The memories that fit a text best, those with all of its words before those with some; among equals the newest first.
 * Without words it is the newest.
 * @param mine the access condition.
 */
export async function findFitting(db: Db, text: string, mine: RawBuilder<unknown>, most: number): Promise<Memory[]> {
  const words = await wordsOf(db, text.slice(0, memoryLimits.searchLength))
  if (words.length === 0)
    return findAll<Memory>(db, sql`select ${memoryColumns} from memories where ${mine} order by id desc limit ${most}`)
  const whole = await ranked(db, words, '&', mine, most)
  if (whole.length === most || words.length === 1) return whole
  const known = new Set(whole.map(({ id }) => id))
  const partly = await ranked(db, words, '|', mine, most)
  return [...whole, ...partly.filter(({ id }) => !known.has(id))].slice(0, most)
}

/** The matches, best first. Only the newest of many are compared, so that a frequent word costs no more than a rare one. */
async function ranked(
  db: Db,
  words: readonly string[],
  join: '&' | '|',
  mine: RawBuilder<unknown>,
  most: number,
): Promise<Memory[]> {
  return findAll<Memory>(
    db,
    sql`
    select ${memoryColumns} from (select * from memories where ${mine} and ${hasWords(words, join)} order by id desc limit ${memoryLimits.candidates}) found
    order by ts_rank(words, ${queryOf(words, '|')}::tsquery) desc, id desc limit ${most}`,
  )
}
