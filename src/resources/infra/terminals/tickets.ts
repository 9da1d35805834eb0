/** Tickets: each attaches one client to a terminal, once and soon. Only digests are kept. */
import { BerthError } from '#src/platform/errors.ts'
import { terminalLimits } from '#src/platform/limits/terminals.ts'
import { isToken, randomToken } from '#src/platform/ids.ts'
import { change, findOne, getOne, sql, type Db } from '#src/platform/postgres.ts'
import { sha256 } from '#src/platform/secrets.ts'
import type { Caller } from '#src/platform/access.ts'
import type { Terminal } from './records.ts'
import { rightsOf, type Rights } from './rights.ts'

/** A ticket, which is shown this once, and until when it holds. */
export type Ticket = { ticket: string; ticketExpiresAt: string }

/** Makes a ticket of this caller, who was allowed to write in the VM. */
export async function makeTicket(db: Db, caller: Caller, terminalId: string): Promise<Ticket> {
  const ticket = randomToken()
  const rights = JSON.stringify(rightsOf(caller))
  await change(db, sql`delete from terminal_tickets where terminal_id = ${terminalId} and expires_at < now()`)
  const { expiresAt } = await getOne<{ expiresAt: string }>(
    db,
    sql`insert into terminal_tickets (digest, terminal_id, rights, expires_at)
    values (${sha256(ticket)}, ${terminalId}, ${rights}::jsonb, now() + ${terminalLimits.ticketSeconds} * interval '1 second')
    returning expires_at`,
  )
  return { ticket, ticketExpiresAt: expiresAt }
}

/** What a ticket stands for. */
export type Redeemed = { terminal: Terminal; rights: Rights }

/**
 * Uses a ticket up.
 * @throws BerthError unauthorized for one that is unknown, was used, or has expired; not_found when its terminal is gone.
 */
export async function redeemTicket(db: Db, ticket: string): Promise<Redeemed> {
  const used =
    isToken(ticket) &&
    (await findOne<{ terminalId: string; rights: Rights; isDue: boolean }>(
      db,
      sql`delete from terminal_tickets where digest = ${sha256(ticket)}
      returning terminal_id, rights, expires_at > now() as is_due`,
    ))
  if (!used || !used.isDue)
    throw new BerthError(
      'unauthorized',
      `This ticket is not valid: it was used, or is older than ${terminalLimits.ticketSeconds} s. Get a new one: createTerminalTicket.`,
    )
  const terminal = await findOne<Terminal>(db, sql`select * from terminals where id = ${used.terminalId}`)
  if (!terminal) throw terminalEnded()
  return { terminal, rights: used.rights }
}

/** The error for a terminal that has ended. */
export function terminalEnded(): BerthError {
  return new BerthError('not_found', 'This terminal has ended. Open a new one.', { noun: 'terminal' })
}
