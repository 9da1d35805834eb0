/** `deploy`: a port of the session's VM under an address of its own, on behalf of the session's owner. */
import type { Scope } from '#src/platform/access.ts'
import { isAtLeast, permissions } from '#src/platform/access/permissions.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { lockMember } from '#src/resources/identity/memberships.ts'
import { addProxy } from '#src/resources/infra/proxies.ts'
import { findService } from '#src/resources/infra/proxies/rows.ts'
import { externalUrl } from '#src/resources/infra/routes/urls.ts'
import { lockVmRow } from '#src/resources/infra/vms/rows.ts'
import { answered, failed, type ToolResult } from './results.ts'

const closedToVms =
  'Nothing was published: this session was used with the token inside a VM, which may publish nothing. Ask the user to do it.'

/**
 * Publishes the port. The same again, as after a crash, answers the same address.
 * @returns the address, or why there is none, for the model.
 */
export async function deployPort(
  { config, db }: { config: Config; db: Db },
  session: Pick<Row<'sessions'>, 'organizationId' | 'ownerUserId' | 'usedByVm'>,
  vmId: string,
  { serviceName, vmPort }: { serviceName: string; vmPort: number },
): Promise<ToolResult> {
  if (session.usedByVm) return failed(closedToVms)
  try {
    return await transaction(db, async (tx) => {
      const scope = await readOwner(tx, session)
      await lockVmRow(tx, vmId)
      const before = await findService(tx, vmId, serviceName)
      if (before && before.vmPort !== vmPort)
        return failed(
          `${serviceName} is published already, with port ${before.vmPort}. Choose another service_name, or listen on that port.`,
        )
      const order = { serviceName, vmPort, vmId: encodeId('vm', vmId) }
      const { host, path } = before ?? (await addProxy({ config }, tx, scope, order))
      const url = externalUrl(config, host, path)
      return answered(
        `Port ${vmPort} is published at ${url}, for everybody, while the machine runs and something listens on the port.`,
      )
    })
  } catch (error) {
    if (error instanceof BerthError) return failed(`Nothing was published: ${error.message}`)
    throw error
  }
}

/** The owner of the session, with what they may do at this moment. @throws BerthError not_permitted_for_role. */
async function readOwner(
  tx: Tx,
  { organizationId, ownerUserId: userId }: Pick<Row<'sessions'>, 'organizationId' | 'ownerUserId'>,
): Promise<Scope> {
  const [leastRole] = permissions['proxies:write']
  const { role, isDeactivated } = await lockMember(tx, { organizationId, userId })
  if (role === null || isDeactivated || !isAtLeast(role, leastRole))
    throw new BerthError(
      'not_permitted_for_role',
      `The user is no longer a ${leastRole} of the organization, which this requires.`,
    )
  return { organizationId, userId, role, keyId: null, vmId: null }
}
