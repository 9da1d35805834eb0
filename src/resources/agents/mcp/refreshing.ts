/**
 * New access tokens for stored ones. A refresh token may be valid for one use only, so one process at a time exchanges
 * it, and the result is stored only if nothing newer was stored meanwhile.
 */
import {
  exchangeRefreshToken,
  type HttpAnswer,
  type RefreshAnswer,
  type RefreshRequest,
} from '#src/drivers/oauth-tokens.ts'
import { outboundFetch } from '#src/drivers/outbound-fetch.ts'
import { withLock } from '#src/platform/locks/locks.ts'
import type { Services } from '#src/platform/services.ts'

/** What refreshing needs of the platform. */
export type RefreshServices = Pick<Services, 'config' | 'database' | 'db' | 'sealer'>

/** Tokens as they are stored. `request` null: nothing can be exchanged for newer ones. */
export type StoredTokens = { tokenGeneration: number; accessToken: string; request: RefreshRequest | null }

/** The tokens that a server granted. */
export type GrantedTokens = RefreshAnswer & { status: 'succeeded' }

/** Why a server granted none. `refused`: it will not accept this refresh token again. `clientUnknown`: nor this client. */
export type RefreshFailure = Pick<RefreshAnswer & { status: 'failed' }, 'refused' | 'clientUnknown'>

/** The row that has the tokens. `lock`: its name among locks. */
export type TokenStore<Held extends StoredTokens> = {
  lock: string
  /** The tokens as they are now; null once the row is gone or archived. */
  read: () => Promise<Held | null>
  /** Stores newer tokens if those that are held have not changed. @returns their generation. */
  keep: (held: Held, granted: GrantedTokens) => Promise<number | null>
  /** Records a failure. */
  noteFailure: (held: Held, failure: RefreshFailure) => Promise<void>
}

/**
 * How a refresh ended. `refused`: the authorization server will not accept this refresh token again. `gone`: the row was
 * archived or deleted meanwhile. `sent`: what the response may repeat.
 */
export type RefreshResult<Held> =
  | { status: 'succeeded'; accessToken: string; tokenGeneration: number }
  | { status: 'failed'; refused: boolean; answer: HttpAnswer; sent: Held }
  | { status: 'connect_error' | 'no_refresh_token' | 'gone' }

/** A newer token; null when there will be none; otherwise why there is none now, and may be one later. */
export type Renewal<Newer> = Newer | NotRenewed | null
/** `unreachable`: the token endpoint was. `undecided`: it gave none, and did not say that it never will. */
export type NotRenewed = 'unreachable' | 'undecided'

/** The newer token, if there is one now. */
export function newerOf<Newer extends object>(renewal: Renewal<Newer>): Newer | null {
  return typeof renewal === 'string' ? null : renewal
}

/** What a refresh that gave no token means for later; null when nothing will come of it. */
export function notRenewedBy(outcome: RefreshResult<unknown>): NotRenewed | null {
  if (outcome.status === 'connect_error') return 'unreachable'
  return outcome.status === 'failed' && !outcome.refused ? 'undecided' : null
}

const underWay = new Map<string, Promise<RefreshResult<never>>>()

/**
 * Gets a new access token, once for all concurrent callers.
 * @param seenGeneration the generation of the token that was refused; if the stored tokens are newer, they are
 * returned.
 */
export async function refreshOnce<Held extends StoredTokens>(
  services: RefreshServices,
  store: TokenStore<Held>,
  seenGeneration: number,
): Promise<RefreshResult<Held>> {
  const running = underWay.get(store.lock)
  if (running) return running
  const refresh = withLock(services.database.url, store.lock, () =>
    refreshLocked(services, store, seenGeneration),
  ).finally(() => underWay.delete(store.lock))
  underWay.set(store.lock, refresh as Promise<RefreshResult<never>>) // the same lock is always of the same kind of row
  return refresh
}

async function refreshLocked<Held extends StoredTokens>(
  services: RefreshServices,
  store: TokenStore<Held>,
  seenGeneration: number,
): Promise<RefreshResult<Held>> {
  const before = await store.read()
  if (!before) return { status: 'gone' }
  if (before.tokenGeneration !== seenGeneration) return current(before)
  if (!before.request) return { status: 'no_refresh_token' }
  const answer = await exchangeRefreshToken(outboundFetch(services.config), before.request)
  if (answer.status === 'connect_error') return { status: 'connect_error' }
  if (answer.status === 'succeeded') {
    const tokenGeneration = await store.keep(before, answer)
    if (tokenGeneration !== null) return { status: 'succeeded', accessToken: answer.accessToken, tokenGeneration }
  }
  // Another process, which lost its lock with its connection, may have used up the refresh token before us. Then return
  // its tokens.
  const after = await store.read()
  if (!after) return { status: 'gone' }
  if (answer.status === 'succeeded' || after.tokenGeneration !== before.tokenGeneration) return current(after)
  await store.noteFailure(before, answer)
  return { status: 'failed', refused: answer.refused, answer: answer.answer, sent: before }
}

function current({ accessToken, tokenGeneration }: StoredTokens): RefreshResult<never> & { status: 'succeeded' } {
  return { status: 'succeeded', accessToken, tokenGeneration }
}
