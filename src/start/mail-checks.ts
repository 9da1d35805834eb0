/** The doctor's check of the mail server: whether it answers and takes the login. Nothing is sent, and no password is shown. */
import { greetMailServer, MailFailed, shownMailServer } from '../drivers/mail.ts'
import type { Config } from '../platform/config.ts'
import type { Check } from './checks.ts'

/** The check. Berth is complete without e-mail, so only a server that is set and does not work fails it. */
export async function checkMail({ smtpUrl }: Pick<Config, 'smtpUrl'>): Promise<Check> {
  if (smtpUrl === null)
    return {
      verdict: 'neither',
      what: 'e-mail of invitations: not set up, so people pass on the links themselves',
      remedy: 'Set BERTH_SMTP_URL to a mail server: smtp://user:password@mail.example.com:587.',
    }
  try {
    await greetMailServer(smtpUrl)
    return { verdict: 'works', what: `e-mail of invitations: the mail server ${shownMailServer(smtpUrl)} answers` }
  } catch (error) {
    if (!(error instanceof MailFailed)) throw error
    return {
      verdict: 'fails',
      what: `e-mail of invitations: ${error.message}`,
      remedy: 'Correct BERTH_SMTP_URL, or start the server. Invitations wait, and are tried for some three hours.',
    }
  }
}
