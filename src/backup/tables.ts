/**
 * The database as files: each table in Postgres' copy format, all in one snapshot, and restored in one transaction. It
 * needs none of Postgres' client programs, because the embedded Postgres ships only the server.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import type { Manifest } from './manifest.ts'

/** The folder of the tables within a backup. */
export const tablesFolder = 'database'
/** Jobs that have not ended; the queue's tables themselves are not copied. */
const jobsName = `${tablesFolder}/jobs.copy`

/** A job that was waiting or running. */
export type WaitingJob = {
  name: string
  data: object
  startAfterSeconds: number
  retryLimit: number
  retryDelaySeconds: number
  expireInSeconds: number
}

/** Takes the snapshot that every later read of this connection sees. */
export async function beginMoment(client: pg.Client): Promise<void> {
  await client.query('begin isolation level repeatable read, read only')
}

/** The tables to copy: every logged table, with the columns that can be written. */
export async function describeDatabase(
  client: pg.Client,
): Promise<Pick<Manifest, 'migrations' | 'tables' | 'partitions' | 'sequences'>> {
  const rows = async <Row>(query: string): Promise<Row[]> => (await client.query(query)).rows as Row[] // as each query names its columns
  const tables = await rows<{ name: string; columns: string[] }>(`
    select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence = 'p' and c.relname <> 'migrations'
    group by c.relname order by c.relname`)
  const partitions = await rows<Manifest['partitions'][number]>(`
    select c.relname as name, p.relname as parent, pg_get_expr(c.relpartbound, c.oid) as bounds
    from pg_class c join pg_inherits i on i.inhrelid = c.oid join pg_class p on p.oid = i.inhparent
    where c.relnamespace = 'public'::regnamespace and c.relispartition and c.relkind = 'r' order by c.relname`)
  const sequences = await rows<{ name: string; value: string }>(`
    select sequencename as name, last_value::text as value from pg_sequences where schemaname = 'public' and last_value is not null order by 1`)
  const migrations = await rows<{ name: string }>('select name from migrations order by name')
  return { tables, partitions, sequences, migrations: migrations.map(({ name }) => name) }
}

/** Copies one table into a file. */
export async function copyTableOut(
  client: pg.Client,
  { name, columns }: Manifest['tables'][number],
  path: string,
): Promise<void> {
  const list = columns.map((column) => client.escapeIdentifier(column)).join(', ')
  await pipeline(
    client.query(copyTo(`copy (select ${list} from ${client.escapeIdentifier(name)}) to stdout`)),
    createWriteStream(path, { mode: 0o600 }),
  )
}

/** The name of a table's entry in a backup. */
export function tableEntry(name: string): string {
  return `${tablesFolder}/${name}.copy`
}

/** Copies the jobs that have not ended into a file. @returns the name of its entry. */
export async function copyJobsOut(client: pg.Client, path: string): Promise<string> {
  await pipeline(
    client.query(
      copyTo(`copy (
    select j.name, j.data, greatest(0, ceil(extract(epoch from j.start_after - now())))::int, q.retry_limit, q.retry_delay, q.expire_seconds
    from pgboss.job j join pgboss.queue q on q.name = j.name where j.state in ('created', 'retry', 'active') order by j.created_on) to stdout`),
    ),
    createWriteStream(path, { mode: 0o600 }),
  )
  return jobsName
}

/**
 * Replaces the rows of the migrated tables by those of an unpacked backup, all or nothing.
 * @param afterwards further statements of the same transaction.
 * @throws Error when a table, or a reference to it, is inconsistent.
 */
export async function copyTablesIn(
  client: pg.Client,
  manifest: Manifest,
  folder: string,
  onTable: (name: string) => void,
): Promise<void> {
  const quoted = (name: string): string => client.escapeIdentifier(name)
  await client.query('begin')
  try {
    // References are checked once at the end: circular references make an order for row by row checks impossible.
    const { rows: references } = await client.query<{ owner: string; name: string; definition: string }>(`
      select conrelid::regclass::text as owner, conname as name, pg_get_constraintdef(oid) as definition
      from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace and conparentid = 0`)
    for (const { owner, name } of references) await client.query(`alter table ${owner} drop constraint ${quoted(name)}`)
    for (const { name, parent, bounds } of manifest.partitions)
      await client.query(`create table if not exists ${quoted(name)} partition of ${quoted(parent)} ${bounds}`)
    // The rows come as they were, with those of the triggers: none of them runs.
    for (const { name } of manifest.tables) await client.query(`alter table ${quoted(name)} disable trigger user`)
    for (const { name } of manifest.tables) await client.query(`delete from ${quoted(name)}`)
    for (const { name, columns } of manifest.tables) {
      onTable(name)
      const into = client.query(copyFrom(`copy ${quoted(name)} (${columns.map(quoted).join(', ')}) from stdin`))
      await pipeline(createReadStream(join(folder, tableEntry(name))), into)
    }
    for (const { name, value } of manifest.sequences)
      await client.query('select setval($1::regclass, $2::bigint)', [quoted(name), value])
    for (const { owner, name, definition } of references)
      await client.query(`alter table ${owner} add constraint ${quoted(name)} ${definition}`)
    for (const { name } of manifest.tables) await client.query(`alter table ${quoted(name)} enable trigger user`)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => undefined) // the connection itself may be gone
    throw error
  }
}

/** Reads the jobs of an unpacked backup. */
export async function readJobs(client: pg.Client, folder: string): Promise<WaitingJob[]> {
  await client.query(
    'create temp table waiting_jobs (name text, data jsonb, start_after_seconds int, retry_limit int, retry_delay_seconds int, expire_in_seconds int)',
  )
  await pipeline(createReadStream(join(folder, jobsName)), client.query(copyFrom('copy waiting_jobs from stdin')))
  const { rows } = await client.query<WaitingJob>(`
    select name, data, start_after_seconds as "startAfterSeconds", retry_limit as "retryLimit",
      retry_delay_seconds as "retryDelaySeconds", expire_in_seconds as "expireInSeconds"
    from waiting_jobs`)
  return rows
}
