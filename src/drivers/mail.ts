/** Sends e-mail by an SMTP server. */
import nodemailer from 'nodemailer'
import { isLocalhostName } from './addresses.ts'
import { neverLog, redact } from '#src/platform/log.ts'

/** The server, as `smtp://user:password@host:587` or `smtps://host`, and the address that mail is from. */
export type MailServer = { smtpUrl: string; from: string }

/** An e-mail to one address. `id`: of its own, so that one that is sent twice is known as one. */
export type Mail = { id: string; to: string; subject: string; text: string }

/** Why it was not sent, as a sentence without secrets. `isFinal`: the server refuses it for good. */
export class MailFailed extends Error {
  readonly isFinal: boolean
  constructor(sentence: string, isFinal: boolean) {
    super(sentence)
    this.name = 'MailFailed'
    this.isFinal = isFinal
  }
}

const connectMs = 10_000
const silenceMs = 30_000

/** Sends it. @throws MailFailed */
export async function sendMail({ smtpUrl, from }: MailServer, { id, to, subject, text }: Mail): Promise<void> {
  await withServer(smtpUrl, async (server) => {
    await server.sendMail({
      from,
      to: { name: '', address: to },
      subject,
      text,
      messageId: `<${id}@${new URL(smtpUrl).hostname}>`,
      headers: { 'auto-submitted': 'auto-generated' },
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  })
}

/** Connects and logs in, and sends nothing. @throws MailFailed */
export async function greetMailServer(smtpUrl: string): Promise<void> {
  await withServer(smtpUrl, async (server) => void (await server.verify()))
}

/** The server of a URL without its login, to show. */
export function shownMailServer(smtpUrl: string): string {
  const { hostname, port, protocol } = new URL(smtpUrl)
  return `${hostname}:${port || usualPort(protocol)}`
}

function usualPort(protocol: string): number {
  return protocol === 'smtps:' ? 465 : 587
}

async function withServer(
  smtpUrl: string,
  work: (server: ReturnType<typeof serverAt>) => Promise<void>,
): Promise<void> {
  const server = serverAt(smtpUrl)
  try {
    await work(server)
  } catch (error) {
    throw failureOf(error, shownMailServer(smtpUrl))
  } finally {
    server.close()
  }
}

/** A password goes over TLS only, except within this host, where any certificate will do; without one TLS is used where the server has it. */
function serverAt(smtpUrl: string) {
  const { hostname, port, protocol, username, password } = new URL(smtpUrl)
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)]
  neverLog(pass)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isHere = isLocalhostName(host) || host.startsWith('127.') || host === '::1'
  return nodemailer.createTransport({
    host,
    port: port ? Number(port) : usualPort(protocol),
    secure: protocol === 'smtps:',
    requireTLS: user !== '' && !isHere,
    tls: { rejectUnauthorized: !isHere },
    ...(user === '' ? {} : { auth: { user, pass } }),
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: silenceMs,
    logger: false,
  })
}

/** What nodemailer says of an error. */
type Failure = Error & { code?: string; response?: string; responseCode?: number }

function failureOf(error: unknown, server: string): MailFailed {
  const { code = 'unknown', response, responseCode } = error as Failure
  const isOfMail = code === 'EENVELOPE' || code === 'EMESSAGE' // and not of the login, which an operator mends
  if (response !== undefined)
    return new MailFailed(
      `The mail server ${server} answered: ${redact(response)}`,
      isOfMail && responseCode !== undefined && responseCode >= 500,
    )
  return new MailFailed(`The mail server ${server} could not be reached (${code}).`, false)
}
