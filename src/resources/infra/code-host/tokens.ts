/**
 * A person's token for the code host, renewed when it is about to end. A refresh token is valid for one use, so one
 * process at a time exchanges it, and the result is stored only if nothing newer was stored meanwhile.
 */
import { nowMs } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { codeHostLimits } from '#src/platform/limits/code-host.ts'
import { withLock } from '#src/platform/locks/locks.ts'
import type { Services } from '#src/platform/services.ts'
import type { CodeHostAccess } from '#src/drivers/code-host/api.ts'
import { codeHostApp, codeHostPlace } from '#src/drivers/code-host/places.ts'
import { refreshTokens, revokeToken } from '#src/drivers/code-host/tokens.ts'
import { findLink, noteRefusal, openSecrets, replaceTokens, type CodeHostLink } from './rows.ts'

/** What using a token needs of the platform. */
export type TokenServices = Pick<Services, 'config' | 'database' | 'db' | 'sealer'>

/** One person's requests must not use up what the code host grants the whole installation. */
export async function spendCodeHost({ limiter }: Pick<Services, 'limiter'>, userId: string): Promise<void> {
  await limiter.spend(`code-host:${userId}`, codeHostLimits.requestsPerMinute)
}

const underWay = new Map<string, Promise<CodeHostLink>>()

/**
 * The link's access token, renewed first if it is about to end.
 * @throws BerthError provider_token_invalid when it cannot be renewed any more; upstream_error, timeout when it has
 * ended and the code host does not answer.
 */
export async function freshToken(services: TokenServices, link: CodeHostLink): Promise<string> {
  const { accessToken, refreshToken } = openSecrets(services.sealer, link)
  const leftMs = link.expiresAt === null ? Infinity : Date.parse(link.expiresAt) - nowMs()
  if (leftMs > codeHostLimits.earlySeconds * 1000) return accessToken
  if (refreshToken === null || link.refusedGeneration === link.tokenGeneration) {
    if (leftMs > 0) return accessToken
    throw tokenRefused()
  }
  try {
    return openSecrets(services.sealer, await renew(services, link)).accessToken
  } catch (error) {
    if (leftMs > 0 && error instanceof BerthError) return accessToken // still good for a moment
    throw error
  }
}

/** A newer token after the code host refused this one; null when there is none. @throws as `freshToken`. */
async function tokenAfter(services: TokenServices, link: CodeHostLink): Promise<string | null> {
  const { refreshToken } = openSecrets(services.sealer, link)
  if (refreshToken === null || link.refusedGeneration === link.tokenGeneration) return null
  return openSecrets(services.sealer, await renew(services, link)).accessToken
}

/** Does something with the link's token; once more with a newer one if the code host refuses it. @throws as `freshToken`, and as the work. */
export async function withToken<Result>(
  services: TokenServices,
  link: CodeHostLink,
  work: (access: CodeHostAccess) => Promise<Result>,
): Promise<Result> {
  const place = codeHostPlace(services.config)
  const token = await freshToken(services, link)
  try {
    return await work({ place, token })
  } catch (error) {
    if (!(error instanceof BerthError) || error.code !== 'provider_token_invalid') throw error
    const newer = await tokenAfter(services, link)
    if (newer === null || newer === token) throw error
    return work({ place, token: newer })
  }
}

/** Renews the tokens, once for all who ask at the same time. */
async function renew(services: TokenServices, link: CodeHostLink): Promise<CodeHostLink> {
  const key = `${link.id} ${link.tokenGeneration}`
  const running = underWay.get(key)
  if (running) return running
  const renewing = withLock(services.database.url, `code_host_link:${link.id}`, () =>
    renewLocked(services, link),
  ).finally(() => underWay.delete(key))
  underWay.set(key, renewing)
  return renewing
}

async function renewLocked(services: TokenServices, seen: CodeHostLink): Promise<CodeHostLink> {
  const app = codeHostApp(services.config)
  const link = await findLink(services.db, services.config, seen.id)
  if (!link || !app) throw tokenRefused()
  if (link.tokenGeneration !== seen.tokenGeneration) return link
  const { refreshToken } = openSecrets(services.sealer, link)
  if (refreshToken === null || link.refusedGeneration === link.tokenGeneration) throw tokenRefused()
  const tokens = await refreshTokens(app, refreshToken)
  if (tokens) {
    const next = { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken }
    const kept = await replaceTokens(services.sealer, services.db, link, next)
    if (kept) return kept
  } else await noteRefusal(services.db, link)
  // Another process, which lost its lock with its connection, may have used up the refresh token before us.
  const after = await findLink(services.db, services.config, link.id)
  // Or the account was disconnected while the code host answered: then nobody else withdraws what it gave.
  if (tokens && (!after || openSecrets(services.sealer, after).accessToken !== tokens.accessToken))
    await revokeToken(app, tokens.accessToken)
  if (!after || after.tokenGeneration === link.tokenGeneration) throw tokenRefused()
  return after
}

/** The 401 for a token that the code host no longer accepts. */
function tokenRefused(): BerthError {
  return new BerthError(
    'provider_token_invalid',
    'The code host no longer accepts the stored token. Connect the account again.',
  )
}
