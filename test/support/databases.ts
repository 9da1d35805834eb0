/** Databases that exist only as rows, for tests of the web process alone. */
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { sql, transaction } from '#src/platform/postgres.ts'
import { addDatabaseEvent } from '#src/resources/infra/databases/states.ts'
import { findDatabaseRow, type Database, type DatabaseStatus } from '#src/resources/infra/databases/rows.ts'
import { sealNewLogins } from '#src/resources/infra/databases/setup.ts'
import { makeToken } from '#src/resources/infra/databases/tokens.ts'
import type { Berth } from './berth.ts'
import { idsOf, makeVmRow } from './makers.ts'

/** A database as REST answers it. */
export type DatabaseAnswer = {
  id: string
  name: string
  organization_id: string
  function_id: string | null
  host: string
  pg_database: string
  pg_user: string
  status: DatabaseStatus
  client_mode_enabled: boolean
  created_at: string
  project_id: string | null
  network_name: string | null
  native_credential_generation: number
}

/** What a row of a database is made with. */
export type MadeDatabase = { name?: string; status?: DatabaseStatus; vmStatus?: string; folderId?: string | null }

/** A database of the token's organization in the given status, with a VM; its public id, and its token. */
export async function makeDatabase(
  { services: { db, sealer } }: Pick<Berth, 'services'>,
  owner: string,
  nodeId: string,
  { name, status = 'active', vmStatus = 'running', folderId = null }: MadeDatabase = {},
): Promise<{ id: string; token: string }> {
  const id = newUuid()
  const { organizationId, userId } = idsOf(owner)
  const publicId = encodeId('database', id)
  const vmId = decodeId('vm', await makeVmRow(db, owner, nodeId, { status: vmStatus })) ?? ''
  const { token, tokenVerifier, tokenHash } = await makeToken()
  await sql`update vms set purpose = 'database', template_id = '00000000-0000-7000-8000-000000000002', memory_mb = 1024, disk_mb = 4608, folder_id = ${folderId} where id = ${vmId}`.execute(
    db,
  )
  await sql`
    insert into databases (id, organization_id, user_id, name, status, vm_id, folder_id, pg_user, token_verifier, token_hash, sealed_logins, vcpu_count, memory_mb, disk_mb, sleep_after_seconds, event_position)
    values (${id}, ${organizationId}, ${userId}, ${name ?? `db-${publicId.slice(-6)}`}, ${status}, ${vmId}, ${folderId}, ${`app_${publicId.slice(-6)}`}, ${tokenVerifier}, ${tokenHash}, ${sealNewLogins(sealer, id)}, 2, 1024, 10240, 900, 1)`.execute(
    db,
  )
  const row = await rowOf({ services: { db } }, publicId)
  await transaction(db, (tx) => addDatabaseEvent(tx, row))
  return { id: publicId, token }
}

/** The row of a database. */
export async function rowOf(
  { services: { db } }: { services: Pick<Berth['services'], 'db'> },
  publicId: string,
): Promise<Database> {
  const row = await findDatabaseRow(db, decodeId('database', publicId) ?? '')
  if (!row) throw new Error(`the database ${publicId} is not there`)
  return row
}

/** The stored uuid of a database. */
export function databaseUuid(publicId: string): string {
  return decodeId('database', publicId) ?? ''
}
