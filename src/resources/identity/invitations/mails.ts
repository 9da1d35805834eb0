/** Invitations that are sent by e-mail: what is to be sent, and what became of it. */
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { job } from '#src/platform/jobs.ts'
import { log } from '#src/platform/log.ts'
import { change, findOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { startOf, storableText } from '#src/platform/texts.ts'
import { invitationLimits } from './limits.ts'
import { isOpen, isStillMeant, type Invitation } from './rows.ts'

/** Sends an invitation. */
export const mailInvitation = job<{ invitationId: string }>('invitations-mail', {
  retryLimit: 20,
  expireInSeconds: 120,
})

/** What an e-mail says. `secret`: at the end of the link; null when it cannot be opened any more. */
export type InvitationMail = Pick<Invitation, 'id' | 'role' | 'expiresAt'> & {
  email: string
  secret: string | null
  organization: string
  inviter: string
}

const firstWaitSeconds = 30
const reasonLength = 500 // characters, as in its column

/** The link of an invitation. What follows # is in no log of a server. */
export function linkOf({ publicUrl }: Pick<Config, 'publicUrl'>, secret: string): string {
  return `${publicUrl}/join#${secret}`
}

/** Where a secret is sealed. */
export function secretPlace(id: string): string {
  return `invitations.sealed_secret:${id}`
}

/** The address, if one is given. @throws BerthError invalid_request, also where no e-mail can be sent. */
export function readEmail({ smtpUrl }: Pick<Config, 'smtpUrl'>, given: string | null | undefined): string | null {
  const email = given?.trim() ?? ''
  if (email === '') return null
  const refuse = (sentence: string): never => {
    throw new BerthError('invalid_request', sentence, { field: 'email' })
  }
  if (smtpUrl === null)
    refuse('This Berth sends no e-mail (BERTH_SMTP_URL). Leave email out, and send the link yourself.')
  // One address and nothing beside it: no names, no lists, no line breaks.
  if (email.length > invitationLimits.emailLength || !/^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[A-Za-z0-9.-]+$/.test(email))
    refuse('email must be one address, such as ada@example.com.')
  return email
}

/** What is to be sent now; undefined when it was sent or given up, or the invitation counts no more. */
export async function findMail({ db, sealer }: Background, id: string): Promise<InvitationMail | undefined> {
  const found = await findOne<Omit<InvitationMail, 'secret'> & { sealedSecret: Buffer }>(
    db,
    sql`
    select id, role, expires_at, email, sealed_secret,
      (select name from organizations where id = organization_id) as organization, (select name from users where id = created_by) as inviter
    from invitations
    where id = ${id} and mail_status = 'pending' and ${isOpen} and ${isStillMeant}`,
  )
  if (!found) return undefined
  const { sealedSecret, ...mail } = found
  return { ...mail, secret: open(sealer, id, sealedSecret) }
}

function open(sealer: Background['sealer'], id: string, sealed: Buffer): string | null {
  try {
    return sealer.open(sealed, secretPlace(id))
  } catch (error) {
    log.error({ err: error, invitation: encodeId('invitation', id) }, 'the link of an invitation cannot be opened')
    return null
  }
}

/** Records that it was sent. */
export async function recordSent(db: Db, id: string): Promise<void> {
  await change(
    db,
    sql`update invitations set mail_status = 'sent', mail_reason = null, sealed_secret = null where id = ${id} and mail_status = 'pending'`,
  )
}

/**
 * Records that it could not be sent. It is tried again, later each time, unless that has no use.
 * @param isFinal whether the next attempt would fail like this one.
 */
export async function recordFailure(
  { db, jobs }: Background,
  id: string,
  { reason, isFinal }: { reason: string; isFinal: boolean },
): Promise<void> {
  const { mailAttemptsMax, mailAgainSecondsMax } = invitationLimits
  await transaction(db, async (tx) => {
    const row = await findOne<{ mailAttempts: number }>(
      tx,
      sql`select mail_attempts from invitations where id = ${id} and mail_status = 'pending' for no key update`,
    )
    if (!row) return
    const attempts = row.mailAttempts + 1
    const shown = startOf(storableText(reason), reasonLength)
    const isOver = isFinal || attempts >= mailAttemptsMax
    await change(
      tx,
      sql`
      update invitations set mail_attempts = ${attempts}, mail_reason = ${shown},
        mail_status = ${isOver ? 'failed' : 'pending'}, sealed_secret = ${isOver ? sql`null` : sql`sealed_secret`}
      where id = ${id}`,
    )
    if (isOver) return
    const startAfterSeconds = Math.min(firstWaitSeconds * 2 ** (attempts - 1), mailAgainSecondsMax)
    await jobs.enqueue(tx, mailInvitation, { invitationId: id }, { startAfterSeconds })
  })
}
