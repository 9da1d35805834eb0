/** Rows that are made without a worker, for tests of the web process alone. */
import type { VmUse } from '#workers/infra/vms/use.ts'
import { encodeId, decodeId, newUuid } from '#src/platform/ids.ts'
import { getOne, sql, type Db } from '#src/platform/postgres.ts'
import { signVmToken } from '#src/resources/identity/access-tokens.ts'
import { makeApiKey } from '#src/resources/identity/api-keys.ts'
import { identityOf } from '#src/resources/identity/memberships.ts'
import { decodeJwt } from 'jose'
import type { Berth } from './berth.ts'

/** The organization and user that a token names, as stored uuids. */
export function idsOf(token: string): { organizationId: string; userId: string } {
  const claims = decodeJwt(token)
  return {
    organizationId: decodeId('organization', String(claims['org_id'])) ?? '',
    userId: decodeId('user', String(claims.sub)) ?? '',
  }
}

/** A key of the token's organization, with every scope by default. */
export function makeKey(
  { services: { db, config } }: Pick<Berth, 'services'>,
  token: string,
  rest: { scopes?: readonly string[]; expiresAt?: string } = {},
): Promise<{ key: string; keyId: string }> {
  const { organizationId, userId } = idsOf(token)
  return makeApiKey(db, { organizationId, createdBy: userId, name: 'test', prefix: config.apiKeyPrefix, ...rest })
}

/** A node whose worker does not answer. */
export async function makeSilentNode(db: Db): Promise<string> {
  const id = newUuid()
  await sql`insert into nodes (id, name, agent_url, acceleration, memory_mb) values (${id}, 'silent', 'unix:/nonexistent/node.sock', 'emulation', 100000)`.execute(
    db,
  )
  return id
}

/** A VM row of the token's organization, in the given status; its public id. */
export async function makeVmRow(
  db: Db,
  token: string,
  nodeId: string,
  { status = 'running', id = newUuid() }: { status?: string; id?: string } = {},
): Promise<string> {
  const { organizationId, userId } = idsOf(token)
  const desired = status === 'stopped' || status === 'paused' || status === 'deleted' ? status : 'running'
  const vm = await getOne<{ id: string }>(
    db,
    sql`
    insert into vms (id, organization_id, user_id, name, status, desired_status, template_id, node_id, vcpu_count, memory_mb, disk_mb, event_position)
    values (${id}, ${organizationId}, ${userId}, 'made', ${status}, ${desired}, '00000000-0000-7000-8000-000000000001', ${nodeId}, 2, 2048, 10240, 1) returning id`,
  )
  await sql`insert into vm_events (vm_id, position, status) values (${vm.id}, 1, ${status})`.execute(db)
  return encodeId('vm', vm.id)
}

/** The token inside a VM of the token's person, for a quarter of an hour. */
export async function makeVmToken({ services }: Pick<Berth, 'services'>, token: string): Promise<string> {
  const { organizationId, userId } = idsOf(token)
  const vm = await makeVmRow(services.db, token, await makeSilentNode(services.db))
  const identity = await identityOf(services.db, userId, organizationId)
  return (await signVmToken(services, identity, decodeId('vm', vm) ?? '', 900)).token
}

/** The use of VMs as the node's agent notes it, for an agent whose VMs do not sleep. */
export const unnotedUse: VmUse = {
  begin: async () => () => undefined,
  close: async () => undefined,
  open: () => undefined,
  end: () => undefined,
}
