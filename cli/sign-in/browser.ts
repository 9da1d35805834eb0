/** Signing in by the person's browser: it comes back to a port of this machine with a code, which is exchanged (RFC 8252). */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Credential } from '../credentials.ts'
import { exits, Failure } from '../errors.ts'
import { newKey } from '../keys.ts'
import { credentialIn, clientId, postForm, type SignInServer } from './server.ts'

const host = '127.0.0.1'
const path = '/callback'
const connectionsMax = 20

/** What the browser came back with. */
type Came = URLSearchParams

/**
 * Signs in. `show` is given the address that the person must open.
 * @throws Failure when they deny it, or nobody has answered in time.
 */
export async function signInByBrowser(
  server: SignInServer,
  { scope, timeoutSeconds, show }: { scope: string; timeoutSeconds: number; show(address: URL): Promise<void> },
): Promise<Credential> {
  const verifier = newKey() + newKey()
  const state = newKey()
  const listening = await listen(state)
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(lateFailure(timeoutSeconds)), timeoutSeconds * 1000)
    })
    const address = new URL(server.authorizeAddress)
    const asked = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: listening.address,
      scope,
      state,
      code_challenge: await challengeOf(verifier),
      code_challenge_method: 'S256',
    }
    for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value)
    await show(address)
    const came = await Promise.race([listening.came, late])
    const code = codeIn(came, server.issuer)
    const form = { grant_type: 'authorization_code', code, redirect_uri: listening.address, code_verifier: verifier }
    return credentialIn(await postForm(server.tokenAddress, form), server)
  } finally {
    clearTimeout(timer)
    listening.stop()
  }
}

/** What is said when nobody has answered. */
export function lateFailure(timeoutSeconds: number): Failure {
  const time = timeoutSeconds < 120 ? `${timeoutSeconds} s` : `${Math.floor(timeoutSeconds / 60)} minutes`
  return new Failure(`Nobody has answered within ${time}. Run berth login again.`, exits.signIn)
}

/** What is said when the person does not want it. */
export function deniedFailure(): Failure {
  return new Failure('You denied it, so you are not signed in.', exits.signIn)
}

function codeIn(came: Came, issuer: string): string {
  const error = came.get('error')
  if (error === 'access_denied') throw deniedFailure()
  if (error !== null)
    throw new Failure(came.get('error_description') ?? `Signing in ended with ${error}.`, exits.signIn)
  const code = came.get('code')
  // RFC 9207: the answer of another server is not sent to this one.
  if (code === null || (came.get('iss') ?? issuer) !== issuer)
    throw new Failure(
      'What the browser came back with is no answer of this Berth. Run berth login again.',
      exits.signIn,
    )
  return code
}

async function challengeOf(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  return Buffer.from(digest).toString('base64url')
}

/** Waits at a free port of this machine for the one request that has the state; all others are told that nothing is here. */
async function listen(state: string): Promise<{ address: string; came: Promise<Came>; stop(): void }> {
  let take: (came: Came) => void
  const came = new Promise<Came>((resolve) => (take = resolve))
  let isOver = false
  const server = createServer((request, response) => {
    const found = isOver ? undefined : answerIn(request, state)
    if (!found) return answer(response, 404, 'Nothing is here.')
    isOver = true
    const isAllowed = found.has('code')
    answer(response, 200, isAllowed ? 'You are back at the command line.' : 'You are not signed in.', () => take(found))
  })
  server.maxConnections = connectionsMax
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(new Failure(`No port can be opened at ${host}: ${error.message}. Use --device.`)),
    )
    server.listen(0, host, resolve)
  })
  const { port } = server.address() as AddressInfo // it listens on a port
  return {
    address: `http://${host}:${port}${path}`,
    came,
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function answerIn({ method, url = '/' }: IncomingMessage, state: string): Came | undefined {
  const asked = `http://${host}${url}`
  if (method !== 'GET' || !URL.canParse(asked)) return undefined
  const { pathname, searchParams } = new URL(asked)
  return pathname === path && searchParams.get('state') === state ? searchParams : undefined
}

function answer(response: ServerResponse, status: number, sentence: string, done?: () => void): void {
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Berth</title><h1>${sentence}</h1><p>You may close this tab.</p></html>\n`
  response.once('close', () => done?.())
  response
    .writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'",
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      connection: 'close',
    })
    .end(page)
}
