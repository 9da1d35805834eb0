/**
 * Processes that serve models, as the database knows them. The leases of dead processes are returned, and their open
 * requests are marked as lost.
 */
import type { Retention, Upkeep } from '#src/platform/jobs/upkeep.ts'
import { change, findAll, findOne, getOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { requestsTopic } from './ledger.ts'
import { giveLeasesBack } from './leases.ts'

/** A process without a heartbeat for this long is presumed dead. */
export const processLostSeconds = 30

const processesMax = 100
const keptHours = 24

/** What the database knows about a process: how many batches of the ledger it wrote, and its leases. */
export type Presence = { flushes: number; held: Map<string, number> }

/**
 * Writes a process's heartbeat, and inserts its row if there is none.
 * @param flushes how many batches it has written, by its own count.
 */
export async function checkIn(db: Db, processId: string, flushes: number): Promise<Presence> {
  const row = await getOne<Pick<Row<'inference_processes'>, 'flushes'>>(
    db,
    sql`
    insert into inference_processes (id, flushes) values (${processId}, ${flushes}) on conflict (id) do update set seen_at = now() returning flushes`,
  )
  const leases = await findAll<Pick<Row<'credit_leases'>, 'organizationId' | 'amountNanoUsd'>>(
    db,
    sql`select organization_id, amount_nano_usd from credit_leases where process_id = ${processId}`,
  )
  return { flushes: row.flushes, held: new Map(leases.map((lease) => [lease.organizationId, lease.amountNanoUsd])) }
}

/** Deletes the row of a process that returned everything. */
export async function checkOut(db: Db, processId: string): Promise<void> {
  await change(
    db,
    sql`
    delete from inference_processes where id = ${processId} and not exists (select from credit_leases where process_id = ${processId})
      and not exists (select from inference_requests where process_id = ${processId} and status = 'open')`,
  )
}

/**
 * Cleans up after processes that were silent for 30 s. One that is alive after all is registered again with its next
 * heartbeat.
 * @returns how many there were.
 */
export async function endLostProcesses(db: Db): Promise<number> {
  const lost = await findAll<{ id: string }>(
    db,
    sql`
    select distinct process_id as id from (
      select process_id from credit_leases union all select process_id from inference_requests where status = 'open'
    ) as used where not exists (select from inference_processes p where p.id = process_id and ${isSeen}) order by 1 limit ${processesMax}`,
  )
  for (const { id } of lost) await endProcess(db, id)
  return lost.length
}

/** Deletes processes that have been silent for a day: none of their batches can still arrive. */
export async function forgetInferenceProcesses(db: Db): Promise<void> {
  await change(
    db,
    sql`
    delete from inference_processes p
    where seen_at < now() - ${keptHours} * interval '1 hour' and not exists (select from credit_leases where process_id = p.id)
      and not exists (select from inference_requests where process_id = p.id and status = 'open')`,
  )
}

const isSeen = sql`seen_at > now() - ${processLostSeconds} * interval '1 second'`

async function endProcess(db: Db, id: string): Promise<void> {
  await transaction(db, async (tx) => {
    const row = await findOne<{ lives: boolean }>(
      tx,
      sql`select ${isSeen} as lives from inference_processes where id = ${id} for update`,
    )
    if (row?.lives) return
    const organizations = await findAll<{ id: string }>(
      tx,
      sql`
      select organization_id as id from inference_accounts where organization_id in (
        select organization_id
        from credit_leases
        where process_id = ${id}
        union select organization_id
        from inference_requests
        where process_id = ${id} and status = 'open')
      order by 1 for no key update`,
    )
    await giveLeasesBack(
      tx,
      id,
      organizations.map((organization) => organization.id),
    )
    // Their last written cost is final: it was charged when it was written.
    await change(
      tx,
      sql`
      with lost as (
        select organization_id, id, row_number() over (partition by organization_id order by id) as place
        from inference_requests
        where process_id = ${id} and status = 'open'
      ), numbered as (
        update inference_accounts a set settled_position = settled_position + l.count from (select organization_id, count(*) from lost group by 1) l
        where a.organization_id = l.organization_id returning a.organization_id, a.settled_position - l.count as before
      )
      update inference_requests r
      set settled_position = n.before + l.place, status = 'lost',
        ended_at = greatest(r.started_at, coalesce((select seen_at from inference_processes where id = ${id}), now()))
      from lost l join numbered n on n.organization_id = l.organization_id where r.organization_id = l.organization_id and r.id = l.id and r.status = 'open'`,
    )
    for (const organization of organizations) publish(tx, requestsTopic, organization.id)
  })
}

/** What workers do for credits. */
export const inferenceUpkeep: readonly Upkeep[] = [
  { every: 10, doing: 'returning credits of lost processes', work: ({ db }) => endLostProcesses(db) },
]

/** How long processes stay. */
export const inferenceProcessRetention: readonly Retention[] = [
  {
    what: 'Processes that served models',
    until: `${keptHours} hours after they fell silent`,
    forget: ({ db }) => forgetInferenceProcesses(db),
  },
]
