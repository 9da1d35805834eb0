/** The token of a context: the stored one, or the next when it has ended. One command gets it, and all others read what it wrote. */
import { BerthError } from '../src/client/berth.ts'
import type { Credential, CredentialStore } from './credentials.ts'
import { exits, Failure } from './errors.ts'
import { uninterrupted } from './interrupts.ts'
import { credentialIn, nowSeconds, postForm } from './sign-in/server.ts'

/** A token that ends within this many seconds is not sent any more: it would end on its way. */
const marginSeconds = 30

/** The source of a context's token. It throws a BerthError that says to sign in again when there is no next one. */
export function tokenSourceOf(
  credentials: CredentialStore,
  name: string,
  url: string,
): (wasRefused: boolean) => Promise<string> {
  let held = credentials.find(name)
  let refreshing: Promise<string> | undefined
  const refresh = async (refused: string | undefined): Promise<string> => {
    const { after } = await uninterrupted(() => credentials.change(name, (stored) => nextOf(stored, refused, url)))
    held = after
    return after.token
  }
  return async (wasRefused) => {
    if (held && !wasRefused && !isEnding(held)) return held.token
    refreshing ??= refresh(wasRefused ? held?.token : undefined).finally(() => (refreshing = undefined))
    return refreshing
  }
}

/** What is stored, unless that is what was refused or has ended; then what it is exchanged for. */
async function nextOf(stored: Credential | undefined, refused: string | undefined, url: string): Promise<Credential> {
  if (stored && stored.token !== refused && !isEnding(stored)) return stored
  if (!stored?.grant) throw signInAgain(url)
  const { refreshToken, ...addresses } = stored.grant
  try {
    const answer = await postForm(addresses.tokenAddress, { grant_type: 'refresh_token', refresh_token: refreshToken })
    const { error } = answer.body
    if (answer.status === 400 || answer.status === 401) throw signInAgain(url)
    if (answer.status === 429 || answer.status >= 500 || error === 'temporarily_unavailable')
      throw new Failure(`${new URL(url).origin} gives no token at the moment. Try again soon.`, exits.noConnection)
    return credentialIn(answer, addresses)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new BerthError({ code: 'CONNECTION_FAILED', message: error.message }, { cause: error })
  }
}

function isEnding({ grant }: Credential): boolean {
  return grant !== undefined && grant.endsAtSeconds - nowSeconds() < marginSeconds
}

function signInAgain(url: string): BerthError {
  return new BerthError({
    code: 'UNAUTHORIZED',
    status: 401,
    message: `Your sign-in has ended. Sign in again: berth login ${url}`,
  })
}
