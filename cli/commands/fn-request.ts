/** Requests to functions by their own addresses. */
import { request, type RequestOptions } from 'node:https'
import { text } from 'node:stream/consumers'
import { Failure } from '../errors.ts'

/** What is sent. */
type Sent = { method: string; body?: string | undefined }
/** What comes back. */
type Answer = { status: number; body: string }

const ownAuthority = [
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]

/** Sends it. @throws Failure when there is no answer, with what to do. */
export async function sendTo(target: URL, sent: Sent): Promise<Answer> {
  try {
    return isOfThisMachine(target) ? await sendHere(target, sent) : await sendThere(target, sent)
  } catch (error) {
    const { code, message } = causeOf(error)
    const reason = ownAuthority.includes(code)
      ? 'its certificate is of an authority that this machine does not know. Of Berth’s own it is printed by npm run -s ca on its host: put it into a file, and name that in NODE_EXTRA_CA_CERTS'
      : code || message
    throw new Failure(`${target.origin} does not answer: ${reason}.`)
  }
}

async function sendThere(target: URL, { method, body }: Sent): Promise<Answer> {
  const answer = await fetch(target, { method, ...(body === undefined ? {} : { body }) })
  return { status: answer.status, body: await answer.text() }
}

/** Names below localhost are those of this machine, also where its resolver does not know that (RFC 6761). */
function isOfThisMachine({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' && hostname.endsWith('.localhost')
}

/** Nobody stands between this machine and itself, and no authority that others know gives certificates for such names. */
function sendHere(target: URL, { method, body }: Sent): Promise<Answer> {
  const options: RequestOptions = {
    method,
    agent: false,
    rejectUnauthorized: false,
    lookup: (_name, { all }, done) =>
      all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4),
    headers: body === undefined ? {} : { 'content-type': 'text/plain;charset=UTF-8' },
  }
  return new Promise((resolve, reject) => {
    const asked = request(target, options, (answer) => {
      text(answer).then((read) => resolve({ status: answer.statusCode ?? 0, body: read }), reject)
    })
    asked.once('error', reject).end(body)
  })
}

function causeOf(error: unknown): { code: string; message: string } {
  const { cause } = error as { cause?: unknown }
  const inner = cause instanceof Error ? cause : error instanceof Error ? error : new Error(String(error))
  return { code: 'code' in inner ? String(inner.code) : '', message: inner.message }
}
