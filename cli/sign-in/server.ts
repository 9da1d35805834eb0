/** Berth's sign-in for programs (OAuth 2.1), as the command line uses it: where it is, tokens, and giving them back. */
import type { Credential } from '../credentials.ts'
import { exits, Failure } from '../errors.ts'

/** As whom the command line signs in. */
export const clientId = 'berth-cli'
/** The limits of a request. An exchange that is given up loses the sign-in, so that it has the time of a busy server. */
const timeoutSeconds = 60
const answerBytesMax = 64 * 1024

/** Where a Berth signs programs in. */
export type SignInServer = {
  issuer: string
  authorizeAddress: string
  tokenAddress: string
  deviceAddress?: string
  revokeAddress?: string
}

/** An answer; `body` is empty when it was no JSON. */
export type FormAnswer = { status: number; body: Record<string, unknown> }

/** Asks a Berth what it offers. @returns undefined when it signs no programs in. */
export async function findServer(url: URL): Promise<SignInServer | undefined> {
  const { status, body } = await ask(new URL('/.well-known/oauth-authorization-server', url), {})
  if (status !== 200) return undefined
  const issuer = addressIn(body, 'issuer')
  const authorizeAddress = addressIn(body, 'authorization_endpoint')
  const tokenAddress = addressIn(body, 'token_endpoint')
  if (!issuer || !authorizeAddress || !tokenAddress) return undefined
  const deviceAddress = addressIn(body, 'device_authorization_endpoint')
  const revokeAddress = addressIn(body, 'revocation_endpoint')
  const found = { issuer, authorizeAddress, tokenAddress, deviceAddress, revokeAddress }
  for (const address of Object.values(found))
    if (address !== undefined && new URL(address).origin !== new URL(issuer).origin)
      throw new Failure(`${url.origin} would send your token to ${address}, which is another host. Nothing was sent.`)
  return {
    issuer,
    authorizeAddress,
    tokenAddress,
    ...(deviceAddress ? { deviceAddress } : {}),
    ...(revokeAddress ? { revokeAddress } : {}),
  }
}

function addressIn(body: Record<string, unknown>, name: string): string | undefined {
  const value = body[name]
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined
  return /^https?:$/.test(new URL(value).protocol) ? value : undefined
}

/** Sends a form. @throws Failure when there is no connection. */
export function postForm(address: string, form: Record<string, string>): Promise<FormAnswer> {
  return ask(new URL(address), { method: 'POST', body: new URLSearchParams({ client_id: clientId, ...form }) })
}

async function ask(url: URL, init: RequestInit): Promise<FormAnswer> {
  try {
    const signal = AbortSignal.timeout(timeoutSeconds * 1000)
    // A secret is not carried to where an answer points.
    const answer = await fetch(url, { ...init, signal, redirect: 'manual', headers: { accept: 'application/json' } })
    return { status: answer.status, body: objectIn(await textOf(answer)) }
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const { code, message } = cause as { code?: unknown; message?: unknown } // anything may be thrown
    throw new Failure(
      `There is no connection to ${url.origin}: ${String(code ?? message ?? cause)}.`,
      exits.noConnection,
    )
  }
}

async function textOf(answer: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const piece of answer.body ?? []) {
    const part = piece as Uint8Array // bodies are bytes
    bytes += part.length
    if (bytes > answerBytesMax) throw new Error('its answer is too long')
    text += decoder.decode(part, { stream: true })
  }
  return text
}

function objectIn(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {} // the status says it
  }
}

/** The tokens in an answer. @throws Failure, which says why, when there are none. */
export function credentialIn(
  { status, body }: FormAnswer,
  { tokenAddress, revokeAddress }: Pick<SignInServer, 'tokenAddress' | 'revokeAddress'>,
): Credential {
  const { access_token: token, refresh_token: refreshToken, expires_in: seconds } = body
  if (status !== 200 || typeof token !== 'string') throw new Failure(reasonOf({ status, body }), exits.signIn)
  if (typeof refreshToken !== 'string' || typeof seconds !== 'number') return { token }
  return {
    token,
    grant: {
      refreshToken,
      endsAtSeconds: Math.floor(nowSeconds() + seconds),
      tokenAddress,
      ...(revokeAddress ? { revokeAddress } : {}),
    },
  }
}

/** Why it was refused, in the server's sentence. */
export function reasonOf({ status, body }: FormAnswer): string {
  const { error_description: sentence, error } = body
  if (typeof sentence === 'string' && sentence !== '') return sentence
  return `Signing in was answered with ${typeof error === 'string' ? error : `the HTTP status ${status}`}.`
}

/** Gives tokens back, which ends the authorization. @throws Failure when Berth did not take them. */
export async function revoke({ grant }: Credential): Promise<void> {
  if (!grant?.revokeAddress) return
  const answer = await postForm(grant.revokeAddress, { token: grant.refreshToken })
  if (answer.status !== 200)
    throw new Failure(reasonOf(answer), answer.status >= 500 ? exits.noConnection : exits.failed)
}

/** Seconds since 1970. */
export function nowSeconds(): number {
  return (performance.timeOrigin + performance.now()) / 1000
}
