/** Limits on how many of something an organization may have, checked at creation. */
import { sql, type RawBuilder } from 'kysely'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { BerthError } from '#src/platform/errors.ts'
import { change, getOne, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Tables } from '#src/platform/postgres/tables.ts'

const retryAfterSeconds = 60
/** How long a count without a lock is used before it is taken again. */
const rememberedMs = 60_000
const rememberedMax = 10_000

/**
 * What is counted: the rows, their name, the limit, and the advice when it is reached, where it is not to delete some.
 * @property rows a condition with its table: sql`agents where organization_id = …`.
 */
export type Counted = { rows: RawBuilder<unknown>; nouns: string; most: number; advice?: string }

/** The tables whose rows say which organization they are of. */
type OrganizationsTable = {
  [Name in keyof Tables]: Tables[Name] extends { organizationId: string } ? Name : never
}[keyof Tables]

/** All rows of a table that are the organization's, deleted and archived ones too; `nouns` where they are not called as it is. */
export type CountedTable = Omit<Counted, 'rows' | 'nouns'> & { table: OrganizationsTable; nouns?: string }

/**
 * Refuses one more than the limit. Creations in one organization are serialized here until their transactions end, so
 * the count is exact.
 * @throws BerthError rate_limited.
 */
export async function checkCount(tx: Tx, organizationId: string, given: Counted | CountedTable): Promise<void> {
  const counted = countedOf(organizationId, given)
  await change(tx, sql`select 1 from organizations where id = ${organizationId} for no key update`)
  if ((await countUpTo(tx, counted)) >= counted.most) throw tooMany(counted)
}

const remembered = createBoundedMap<string, { count: number; untilMs: number }>({ entriesMax: rememberedMax })

/**
 * The same for what is created so often that counting each time, or waiting, would be slow. Each process counts once a
 * minute and adds what it admitted since, so several processes may exceed the limit within a minute.
 */
export async function checkRoughCount(db: Db, organizationId: string, given: Counted | CountedTable): Promise<void> {
  const counted = countedOf(organizationId, given)
  const key = `${counted.nouns} ${organizationId}`
  let known = remembered.get(key)
  if (!known || performance.now() > known.untilMs)
    remembered.set(key, (known = { count: await countUpTo(db, counted), untilMs: performance.now() + rememberedMs }))
  if (known.count >= counted.most) {
    remembered.delete(key) // something may have been deleted meanwhile: the next one counts again
    throw tooMany(counted)
  }
  known.count++
}

/** The rows of a table, and what they are called. */
function countedOf(organizationId: string, given: Counted | CountedTable): Counted {
  if ('rows' in given) return given
  const { table, nouns = table.replaceAll('_', ' '), ...rest } = given
  return { rows: sql`${sql.table(table)} where organization_id = ${organizationId}`, nouns, ...rest }
}

async function countUpTo(db: Db, { rows, most }: Counted): Promise<number> {
  return (await getOne<{ count: number }>(db, sql`select count(*) from (select 1 from ${rows} limit ${most}) counted`))
    .count
}

function tooMany({ nouns, most, advice = 'Delete those that nobody needs.' }: Counted): BerthError {
  return new BerthError('rate_limited', `Your organization has ${most} ${nouns}, which is the limit. ${advice}`, {
    retryAfterSeconds,
  })
}
