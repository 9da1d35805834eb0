/** Tickets of tunnels: each opens one tunnel, once and soon. Only digests are kept. */
import type { Caller } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { isToken, randomToken } from '#src/platform/ids.ts'
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import { tunnelLimits } from '#src/platform/limits/tunnels.ts'
import { change, findOne, getOne, sql, type Db } from '#src/platform/postgres.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { rightsOf, type Rights } from '#src/resources/infra/terminals/rights.ts'

/** A ticket, which is shown this once, and until when it holds. */
export type TunnelTicket = { ticket: string; ticketExpiresAt: string }

/** Where a tunnel leads, and who asked for it. `vmId` is a stored id. */
export type TunnelRight = { vmId: string; port: number; rights: Rights }

/** Makes a ticket of this caller, who was allowed to write in the VM. */
export async function makeTunnelTicket(db: Db, caller: Caller, vmId: string, port: number): Promise<TunnelTicket> {
  const ticket = randomToken()
  const rights = JSON.stringify(rightsOf(caller))
  await change(db, sql`delete from tunnel_tickets where vm_id = ${vmId} and expires_at < now()`)
  const { expiresAt } = await getOne<{ expiresAt: string }>(
    db,
    sql`insert into tunnel_tickets (digest, vm_id, port, rights, expires_at)
    values (${sha256(ticket)}, ${vmId}, ${port}, ${rights}::jsonb, now() + ${tunnelLimits.ticketSeconds} * interval '1 second')
    returning expires_at`,
  )
  return { ticket, ticketExpiresAt: expiresAt }
}

/** Uses a ticket up. @throws BerthError unauthorized for one that is unknown, was used, or has expired. */
export async function redeemTunnelTicket(db: Db, ticket: string): Promise<TunnelRight> {
  const used =
    isToken(ticket) &&
    (await findOne<TunnelRight & { isDue: boolean }>(
      db,
      sql`delete from tunnel_tickets where digest = ${sha256(ticket)}
      returning vm_id, port, rights, expires_at > now() as is_due`,
    ))
  if (!used || !used.isDue)
    throw new BerthError(
      'unauthorized',
      `This ticket is not valid: it was used, or is older than ${tunnelLimits.ticketSeconds} s. Get a new one: createTunnelTicket.`,
    )
  return { vmId: used.vmId, port: used.port, rights: used.rights }
}

/** How long tickets stay. */
export const tunnelRetention: readonly Retention[] = [
  {
    what: 'Tickets for tunnels',
    until: `after ${tunnelLimits.ticketSeconds} seconds`,
    forget: ({ db }) => change(db, sql`delete from tunnel_tickets where expires_at < now()`),
  },
]
