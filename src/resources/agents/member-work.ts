/**
 * What happens in the agents service when a person leaves an organization: their running work stops; what they created
 * stays, and is theirs again if they return.
 */
import { findAll, sql, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Environment } from './environments/rows.ts'
import { forgetVm, moveEnvironment } from './environments/states.ts'
import { releaseVm } from './environments/vms.ts'
import type { Session } from './sessions/rows.ts'
import { breakOff } from './turns/breaking-off.ts'

/** Why a session does not continue after its owner left. */
export const ownerLeft = 'The owner of this session no longer belongs to the organization'

/**
 * Ends the running work of a person who leaves: their sessions are stopped, and the VMs of their environments, which
 * nobody else may use, are deleted. Environments are locked before sessions, as everywhere.
 */
export async function endWorkOfMember(
  services: Pick<Background, 'jobs' | 'config'>,
  tx: Tx,
  organizationId: string,
  userId: string,
): Promise<void> {
  const environments = await findAll<Environment>(
    tx,
    sql`select * from environments where organization_id = ${organizationId} and owner_user_id = ${userId} and vm_id is not null order by id for no key update`,
  )
  for (const environment of environments) {
    await releaseVm(services, tx, environment)
    if (environment.status === 'provisioning')
      await moveEnvironment(tx, environment.id, 'error', 'Its owner left the organization.')
    await forgetVm(tx, environment.id)
  }
  const sessions = await findAll<Pick<Session, 'id'>>(
    tx,
    sql`
    select id
    from sessions
    where organization_id = ${organizationId} and owner_user_id = ${userId} and status in ('running', 'rescheduling')
    order by id
    for no key update`,
  )
  for (const { id } of sessions) await breakOff(tx, id, 'unknown_error', ownerLeft)
}
