/**
 * Routes of the edge: which host name and path lead to which port of a VM, or to which function. Proxy entries and domains
 * write theirs in their own transactions; the edge process has all of them in memory, and hears of each change.
 */
import { change, findAll, findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { publish } from '#src/platform/pubsub.ts'

/** A route as it is stored. Without a VM and a function it leads nowhere yet. */
export type Route = Row<'routes', { kind: 'proxy' | 'domain' | 'function'; access: 'public' | 'preview' | 'database' }>

/** The topic of notices about routes; the id is the route's. */
export const routesTopic = 'route'

const pageRows = 5_000

/**
 * Writes the route of a proxy entry or a domain, by its id. A host whose connections go to a database as they are has no
 * other route beside that one. What shares a host shares its cookies, so a host is one organization's, unless another one has
 * proved that name too; and beside an entry of somebody's own VM there is nothing of others.
 * @returns false when another one has this host and path, or the whole host; then nothing changed.
 */
export async function putRoute(tx: Tx, route: Omit<Route, 'wakes'> & Partial<Pick<Route, 'wakes'>>): Promise<boolean> {
  const { id, organizationId, kind, host, path, access, vmId, vmPort, functionId, wakes = false } = route
  await change(tx, sql`select pg_advisory_xact_lock(hashtextextended(${`route ${host}`}, 0))`) // two at once: one after the other
  const others = await findOne(
    tx,
    sql`
    select 1 from routes r where r.host = ${host} and r.id <> ${id} and (r.path = ${path} or r.access = 'database' or ${access} = 'database'
      or (r.organization_id <> ${organizationId} and not exists (
        select from domains where name = ${host} and organization_id = ${organizationId} and status in ('verified', 'active')))
      or (r.kind = 'proxy' and exists (select from vms v where v.id = r.vm_id and v.owner_user_id is not null
        and v.owner_user_id is distinct from (select owner_user_id from vms where id = ${vmId}::uuid)))) limit 1`,
  )
  if (others) return false
  await change(
    tx,
    sql`
    insert into routes (id, organization_id, kind, host, path, access, vm_id, vm_port, function_id, wakes)
    values (${id}, ${organizationId}, ${kind}, ${host}, ${path}, ${access}, ${vmId}, ${vmPort}, ${functionId}, ${wakes})
    on conflict (id) do update set host = excluded.host, path = excluded.path, access = excluded.access,
      vm_id = excluded.vm_id, vm_port = excluded.vm_port, function_id = excluded.function_id, wakes = excluded.wakes`,
  )
  await publish(tx, routesTopic, id)
  return true
}

/** Removes the route of a proxy entry or a domain. Idempotent. */
export async function removeRoute(tx: Tx, id: string): Promise<void> {
  await change(tx, sql`delete from routes where id = ${id}`)
  await publish(tx, routesTopic, id)
}

/** The routes of these ids that are there. */
export async function findRoutes(db: Db, ids: readonly string[]): Promise<Route[]> {
  return findAll<Route>(db, sql`select * from routes where id = any(${ids}::uuid[])`)
}

/** All routes after this id, in the order of their ids, a page at a time; an empty page is the end. */
export async function findRoutesAfter(db: Db, afterId: string | null): Promise<Route[]> {
  return findAll<Route>(
    db,
    sql`select * from routes where ${afterId}::uuid is null or id > ${afterId} order by id limit ${pageRows}`,
  )
}
