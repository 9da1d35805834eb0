/** Sends invitations by e-mail. One whose worker dies while it is sent may be sent twice, with the same id. */
import { MailFailed, sendMail } from '#src/drivers/mail.ts'
import { encodeId } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import { patiently } from '#src/platform/patience.ts'
import type { Background } from '#src/platform/services.ts'
import {
  findMail,
  linkOf,
  mailInvitation,
  recordFailure,
  recordSent,
  type InvitationMail,
} from '#src/resources/identity/invitations/mails.ts'

const atOnce = 4

/** Handles them, where a mail server is set up; those of a time when one was wait for it. */
export async function handleInvitations(services: Background): Promise<void> {
  if (services.config.smtpUrl === null) return
  await services.jobs.handle(mailInvitation, { concurrency: atOnce }, ({ data }) =>
    mailOne(services, data.invitationId),
  )
}

/** Makes one attempt, if there is something to send. */
export async function mailOne(services: Background, invitationId: string): Promise<void> {
  const { config, db } = services
  if (config.smtpUrl === null) return
  const mail = await patiently(() => findMail(services, invitationId))
  const giveUp = (reason: string, isFinal: boolean): Promise<void> =>
    patiently(() => recordFailure(services, invitationId, { reason, isFinal }))
  if (!mail) return giveUp('It has expired, or whoever made it may not invite any more.', true) // unless it was sent
  const { secret } = mail
  if (secret === null) return giveUp('Its link cannot be read any more. Make another one.', true)
  const id = encodeId('invitation', invitationId)
  try {
    await sendMail(
      { smtpUrl: config.smtpUrl, from: config.smtpFrom ?? `Berth <berth@${new URL(config.publicUrl).hostname}>` },
      {
        id,
        to: mail.email,
        subject: `Join ${oneLine(mail.organization)} on Berth`,
        text: textOf(config, mail, secret),
      },
    )
  } catch (error) {
    if (!(error instanceof MailFailed)) throw error
    log.warn({ invitation: id, reason: error.message }, 'an invitation could not be sent')
    return giveUp(error.message, error.isFinal)
  }
  await patiently(() => recordSent(db, invitationId))
}

function textOf(
  config: Background['config'],
  { organization, inviter, role, expiresAt }: InvitationMail,
  secret: string,
): string {
  return `${oneLine(inviter)} invites you to the organization “${oneLine(organization)}” on Berth at ${config.publicUrl}, with the role ${role}.

Accept it with this link, until ${expiresAt.slice(0, 10)}. It is for one person: do not pass it on.

${linkOf(config, secret)}

If you do not know who sent this, ignore it: nothing happens then.
`
}

/** Names are others' text, which is not to look like more of ours. */
function oneLine(name: string): string {
  return name.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
}
