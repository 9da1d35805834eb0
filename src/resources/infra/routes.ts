/**
 * Routes of the edge: which host name and path lead to which port of a VM, or to which function. Proxy entries and domains
 * write theirs in their own transactions; the edge process has all of them in memory, and hears of each change.
 */
import { change, findAll, findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { RawBuilder } from 'kysely'
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
 * proved that name too: whoever has it by a wildcard only makes way for who has proved the name itself. At a name that
 * nobody has proved there is nothing of others beside an entry of somebody's own VM.
 * @returns false when another one has this host and path, or the whole host; then nothing changed.
 */
export async function putRoute(tx: Tx, route: Omit<Route, 'wakes'> & Partial<Pick<Route, 'wakes'>>): Promise<boolean> {
  const { id, organizationId, kind, host, path, access, vmId, vmPort, functionId, wakes = false } = route
  await change(tx, sql`select pg_advisory_xact_lock(hashtextextended(${`route ${host}`}, 0))`) // two at once: one after the other
  const isProved =
    (await findOne(tx, sql`select 1 where ${isProvedBy(sql`${organizationId}::uuid`, host)}`)) !== undefined
  const makesWay = sql`(${isProved} and r.organization_id <> ${organizationId} and not ${isProvedBy(sql`r.organization_id`, host)})`
  const others = await findOne(
    tx,
    sql`
    select 1 from routes r where r.host = ${host} and r.id <> ${id} and not ${makesWay}
      and (r.path = ${path} or r.access = 'database' or ${access} = 'database'
        or (not ${isProved} and (r.organization_id <> ${organizationId} or exists (select from vms v where v.id = r.vm_id and r.kind = 'proxy'
          and v.owner_user_id is not null and v.owner_user_id is distinct from (select owner_user_id from vms where id = ${vmId}::uuid))))) limit 1`,
  )
  if (others) return false
  const gone = await findAll<Pick<Route, 'id'>>(tx, sql`select id from routes r where r.host = ${host} and ${makesWay}`)
  for (const one of gone) await removeRoute(tx, one.id)
  await change(
    tx,
    sql`
    insert into routes (id, organization_id, kind, host, path, access, vm_id, vm_port, function_id, wakes)
    values (${id}, ${organizationId}, ${kind}, ${host}, ${path}, ${access}, ${vmId}, ${vmPort}, ${functionId}, ${wakes})
    on conflict (id) do update set host = excluded.host, path = excluded.path, access = excluded.access,
      vm_id = excluded.vm_id, vm_port = excluded.vm_port, function_id = excluded.function_id, wakes = excluded.wakes`,
  )
  publish(tx, routesTopic, id)
  return true
}

/** Whether an organization has proved exactly this name. */
function isProvedBy(organizationId: RawBuilder<unknown>, host: string): RawBuilder<boolean> {
  return sql<boolean>`exists (select from domains d where d.name = ${host} and d.organization_id = ${organizationId} and d.status in ('verified', 'active'))`
}

/** Removes the route of a proxy entry or a domain. Idempotent. */
export async function removeRoute(tx: Tx, id: string): Promise<void> {
  await change(tx, sql`delete from routes where id = ${id}`)
  publish(tx, routesTopic, id)
}

/** The routes of these ids that are there. */
export async function findRoutes(db: Db, ids: readonly string[]): Promise<Route[]> {
  return findAll<Route>(db, sql`select * from routes where id = any(${ids}::uuid[])`)
}

/** The ids of the routes of these hosts. */
export async function findRouteIds(db: Db, hosts: readonly string[]): Promise<string[]> {
  const found = await findAll<Pick<Route, 'id'>>(db, sql`select id from routes where host = any(${hosts}::text[])`)
  return found.map(({ id }) => id)
}

/** All routes after this id, in the order of their ids, a page at a time; an empty page is the end. */
export async function findRoutesAfter(db: Db, afterId: string | null): Promise<Route[]> {
  return findAll<Route>(
    db,
    sql`select * from routes where ${afterId}::uuid is null or id > ${afterId} order by id limit ${pageRows}`,
  )
}
