/**
 * How many bytes of a caller's size an organization stores, by rooms. Triggers count them in the transactions that write the
 * rows (migrations 0056 and 0059); here the counts are read, compared with the limits, and kept in order.
 */
import type { RawBuilder } from 'kysely'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { roomLimits, roomNames, roomUse, type RoomName } from '#src/platform/limits/rooms.ts'
import { lockNumbers } from '#src/platform/locks/lock-numbers.ts'
import { change, findAll, getOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { roomSettings } from '#src/platform/settings/rooms.ts'

type Asking = { config: Config; db: Db }

/** What is counted: sums, and the changes that are not added to them yet. */
const counts = sql`(select organization_id, room, part, bytes from stored_bytes union all select organization_id, room, part, bytes from stored_changes) counts`

const retryAfterSeconds = 60
const bytesPerMb = 1024 * 1024

/** Until when organizations are known to have room, by the monotonic clock: of those far from the limit. */
const remembered = createBoundedMap<string, number>({ entriesMax: roomUse.rememberedMax })

/**
 * Whether an organization may store more. What is in flight at that moment is not counted yet, so a limit is exceeded by the
 * requests of one moment at most. Far from the limit one look holds for a second.
 */
async function hasRoom({ config, db }: Asking, organizationId: string, room: RoomName): Promise<boolean> {
  const limitBytes = limitOf(config, room)
  if (limitBytes === Infinity) return true
  const key = `${room} ${organizationId}`
  if ((remembered.get(key) ?? 0) > performance.now()) return true
  const { bytes } = await getOne<{ bytes: number }>(
    db,
    sql`select coalesce(sum(bytes), 0)::bigint as bytes from ${counts} where organization_id = ${organizationId} and room = ${room}`,
  )
  if (bytes >= limitBytes) return false
  if (limitBytes - bytes > roomUse.farBytes) remembered.set(key, performance.now() + roomUse.rememberedMs)
  return true
}

/** Refuses whatever would store more where an organization has no room. @throws BerthError rate_limited. */
export async function checkStorage(asking: Asking, organizationId: string, room: RoomName): Promise<void> {
  const fault = await findFullRoom(asking, organizationId, room)
  if (fault !== null) throw new BerthError('rate_limited', fault, { retryAfterSeconds })
}

/** The same for work that goes on without storing more: sentences that say what is full; null while there is room. */
export async function findFullRoom(asking: Asking, organizationId: string, room: RoomName): Promise<string | null> {
  if (await hasRoom(asking, organizationId, room)) return null
  const { holds, advice } = roomLimits[room]
  const { name } = roomSettings[settingOf[room]]
  const limitMb = limitOf(asking.config, room) / bytesPerMb
  return `Too much is stored: ${holds} have ${limitMb} MB, which is the limit (${name}). ${advice}.`
}

/** What an organization stores in a room, in bytes; a limit that is null is none. */
export type RoomUse = { name: RoomName; usedBytes: number; limitBytes: number | null }

/** How much an organization stores in each room. */
export async function readRooms({ config, db }: Asking, organizationId: string): Promise<RoomUse[]> {
  const used = await findAll<{ room: RoomName; bytes: number }>(
    db,
    sql`select room, sum(bytes)::bigint as bytes from ${counts} where organization_id = ${organizationId} group by room`,
  )
  return roomNames.map((name) => {
    const limitBytes = limitOf(config, name)
    const usedBytes = Math.max(0, used.find(({ room }) => room === name)?.bytes ?? 0)
    return { name, usedBytes, limitBytes: limitBytes === Infinity ? null : limitBytes }
  })
}

/** Of each room: what all organizations store, and in how many of them it is full. */
export async function readAllRooms({ config, db }: Asking): Promise<{ name: RoomName; bytes: number; full: number }[]> {
  const limitsByRoom = sql.join(
    roomNames.map((name) => sql`(${name}, ${Math.min(limitOf(config, name), Number.MAX_SAFE_INTEGER)}::bigint)`),
  )
  return findAll(
    db,
    sql`
    select room.name, coalesce(sum(own.bytes), 0)::bigint as bytes, count(*) filter (where own.bytes >= room.most) as full
    from (values ${limitsByRoom}) room (name, most)
    left join (select room, organization_id, sum(bytes) as bytes from ${counts} group by 1, 2) own on own.room = room.name group by room.name`,
  )
}

const settingOf = {
  answers: 'orgAnswersMb',
  definitions: 'orgDefinitionsMb',
  transcripts: 'orgTranscriptsMb',
  logs: 'orgLogsMb',
  deliveries: 'orgDeliveriesMb',
} as const

function limitOf(config: Config, room: RoomName): number {
  const mb = config[settingOf[room]]
  return mb === 0 ? Infinity : mb * bytesPerMb
}

/** A table whose columns triggers count, as its migration declared it; SQL names a row `stored`. */
type CountedTable = {
  table: string
  room: RoomName
  organization: string
  columns: string[]
  bytes: string
  part: string
}

/** What is counted, from the comments that `count_stored_bytes` wrote. */
async function readCountedTables(db: Db): Promise<CountedTable[]> {
  const rows = await findAll<{ declared: CountedTable }>(
    db,
    sql`
    select obj_description(p.oid, 'pg_proc')::json as declared from pg_proc p
    where p.pronamespace = current_schema()::regnamespace and p.proname like 'stored\\_bytes\\_of\\_%' order by p.proname`,
  )
  return rows.map(({ declared }) => declared)
}

/** Adds the changes to the sums, so that there are few to look through. For housekeeping. */
export async function foldStoredBytes(db: Db): Promise<void> {
  for (let folded: number = roomUse.foldedAtOnce; folded >= roomUse.foldedAtOnce; ) {
    folded = await transaction(db, async (tx) => {
      if (!(await lockCounts(tx))) return 0
      const { count } = await getOne<{ count: number }>(
        tx,
        sql`
        with gone as (
          delete from stored_changes where ctid = any(array(select ctid from stored_changes limit ${roomUse.foldedAtOnce}))
          returning organization_id, room, part, bytes),
        added as (
          insert into stored_bytes as kept (organization_id, room, part, bytes)
          select organization_id, room, part, sum(bytes) from gone group by 1, 2, 3 order by 1, 2, 3
          on conflict (organization_id, room, part) do update set bytes = kept.bytes + excluded.bytes)
        select count(*) from gone`,
      )
      return count
    })
  }
  await change(db, sql`delete from stored_bytes where bytes = 0`)
}

/** Forgets what was counted of a part of a room that is gone as a whole. */
export async function forgetPart(tx: Tx, room: RoomName, part: number): Promise<void> {
  await change(tx, sql`delete from stored_changes where room = ${room} and part = ${part}`)
  await change(tx, sql`delete from stored_bytes where room = ${room} and part = ${part}`)
}

/**
 * Counts everything anew and corrects the counts, for housekeeping. Each room is read in one statement, which sees rows and
 * counts at the same moment, so that nothing waits for it.
 * @returns how many counts were wrong.
 */
export async function recountStoredBytes(db: Db): Promise<number> {
  const tables = await readCountedTables(db)
  let corrected = 0
  for (const [room, counted] of Map.groupBy(tables, (one) => one.room)) {
    corrected += await transaction(db, async (tx) => {
      if (!(await lockCounts(tx))) return 0
      await change(tx, sql`set local statement_timeout = ${sql.lit(roomUse.recountMs)}`)
      return change(
        tx,
        sql`
        with true_rows as (${sql.join(counted.map(bytesOfTable), sql` union all `)}),
        there as (select whose, part, sum(bytes) as bytes from true_rows where whose is not null group by 1, 2),
        counts as (select organization_id as whose, part, sum(bytes) as bytes from ${counts} where room = ${room} group by 1, 2)
        insert into stored_bytes as kept (organization_id, room, part, bytes)
        select whose, ${room}, part, coalesce(there.bytes, 0) - coalesce(counts.bytes, 0)
        from there full join counts using (whose, part) where coalesce(there.bytes, 0) <> coalesce(counts.bytes, 0)
        on conflict (organization_id, room, part) do update set bytes = kept.bytes + excluded.bytes`,
      )
    })
  }
  return corrected
}

function bytesOfTable({ table, organization, part, bytes }: CountedTable): RawBuilder<unknown> {
  const [whose, day, size] = [organization, part, bytes].map((text) => sql.raw(text)) // from the migrations
  return sql`select (${whose}) as whose, (${day}) as part, sum(${size}) as bytes from ${sql.table(table)} stored group by 1, 2`
}

/** Only one process at a time corrects or folds: they write the same rows. @returns whether this one may. */
async function lockCounts(tx: Tx): Promise<boolean> {
  const { mine } = await getOne<{ mine: boolean }>(
    tx,
    sql`select pg_try_advisory_xact_lock(${lockNumbers.storedBytes}) as mine`,
  )
  return mine
}
