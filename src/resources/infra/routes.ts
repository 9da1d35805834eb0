/**
 * Routes of the edge: which host name and path lead to which port of a VM, or to which function. Proxy entries and domains
 * write theirs in their own transactions; the edge process has all of them in memory, and hears of each change.
 */
import { change, findAll, findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { publish } from '#src/platform/pubsub.ts'

/** A route as it is stored. Without a VM and a function it leads nowhere yet. */
export type Route = Row<'routes', { kind: 'proxy' | 'domain'; access: 'public' | 'preview' | 'database' }>

/** The topic of notices about routes; the id is the route's. */
export const routesTopic = 'route'

const pageRows = 5_000

/**
 * Writes the route of a proxy entry or a domain, by its id.
 * @returns false when another one has this host and path; then nothing changed.
 */
export async function putRoute(tx: Tx, route: Route): Promise<boolean> {
  const { id, organizationId, kind, host, path, access, vmId, vmPort, functionId } = route
  const others = await findOne(tx, sql`select 1 from routes where host = ${host} and path = ${path} and id <> ${id}`)
  if (others) return false
  const written = await findOne(
    tx,
    sql`
    insert into routes (id, organization_id, kind, host, path, access, vm_id, vm_port, function_id)
    values (${id}, ${organizationId}, ${kind}, ${host}, ${path}, ${access}, ${vmId}, ${vmPort}, ${functionId})
    on conflict (id) do update set host = excluded.host, path = excluded.path, access = excluded.access,
      vm_id = excluded.vm_id, vm_port = excluded.vm_port, function_id = excluded.function_id
    returning id`,
  )
  await publish(tx, routesTopic, id)
  return written !== undefined
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
