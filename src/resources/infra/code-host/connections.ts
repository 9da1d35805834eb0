/** Connecting a person's account at the code host, and disconnecting it. */
import { allow, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { codeHostLimits } from '#src/platform/limits/code-host.ts'
import { transaction, type Tx } from '#src/platform/postgres.ts'
import { hook } from '#src/platform/postgres/hooks.ts'
import type { Call } from '#src/platform/services.ts'
import { readInstalled, readUser } from '#src/drivers/code-host.ts'
import { authorizationUrl, codeHostApp, type CodeHostApp } from '#src/drivers/code-host/places.ts'
import { exchangeCode, revokeToken, type CodeHostTokens } from '#src/drivers/code-host/tokens.ts'
import { lockOwnLink, openSecrets, putLink, removeLink, type CodeHostLink } from './rows.ts'
import { beginAuthorization, endAuthorization } from './states.ts'
import { spendCodeHost } from './tokens.ts'

/** A locked link to an account is removed: what uses the account leaves it. */
export const codeHostLinkRemoving = hook<[tx: Tx, linkId: string]>('link to the code host removing')

/** Where the caller authorizes the app, with a state that completes this authorization once. @throws BerthError invalid_request. */
export async function beginConnection(
  call: Call,
  { redirectUrl = null }: { redirectUrl?: string | null },
): Promise<{ authorizationUrl: string; state: string; expiresAt: string }> {
  const { userId } = person(allow(call.caller, 'codehost:write'))
  const app = appOf(call)
  if (
    redirectUrl !== null &&
    (redirectUrl.length > codeHostLimits.urlLength || !/^https?:\/\/[^\s\p{Cc}]+$/u.test(redirectUrl))
  )
    throw new BerthError(
      'invalid_request',
      `redirectUrl must be an http(s) address of at most ${codeHostLimits.urlLength} characters, one of the app’s callback URLs.`,
      { field: 'redirect_url' },
    )
  const begun = await transaction(call.db, (tx) => beginAuthorization(tx, userId))
  return { ...begun, authorizationUrl: authorizationUrl(app, { state: begun.state, redirectUrl }) }
}

/**
 * Connects the account whose authorization gave this code, in place of whichever was connected.
 * @param input.state that of `beginConnection`, if that began it.
 * @throws BerthError invalid_code, invalid_request; as the driver.
 */
export async function connectAccount(
  call: Call,
  { code, state }: { code: string; state?: string | null },
): Promise<CodeHostLink> {
  const { userId } = person(allow(call.caller, 'codehost:write'))
  const app = appOf(call)
  if (code.length > codeHostLimits.codeLength || !/^[\x21-\x7e]+$/.test(code))
    throw new BerthError('invalid_code', 'code must be the text that the code host sent after the authorization.', {
      field: 'code',
    })
  if (state !== undefined && state !== null) await endAuthorization(call.db, userId, state)
  await spendCodeHost(call, userId)
  const tokens = await exchangeCode(app, code)
  const { link, before } = await storeAccount(call, app, userId, tokens)
  if (before) await revoke(call, before, link)
  return link
}

/**
 * Disconnects the caller's account, if there is one: no VM uses it any more, and the token is withdrawn where it came from.
 * @param input.id only if it is this account.
 */
export async function disconnectAccount(call: Call, input: { id?: string | null }): Promise<{ id: string | null }> {
  const { userId } = person(allow(call.caller, 'codehost:write'))
  const link = await transaction(call.db, async (tx) => {
    const held = await lockOwnLink(tx, userId)
    const isMeant = typeof input.id !== 'string' || decodeId('codeHostLink', input.id) === held?.id
    if (!held || !isMeant) return undefined
    await unlink(tx, held)
    return held
  })
  if (link) await revoke(call, link, null)
  return { id: link?.id ?? null }
}

async function storeAccount(
  call: Call,
  app: CodeHostApp,
  userId: string,
  tokens: CodeHostTokens,
): Promise<{ link: CodeHostLink; before: CodeHostLink | undefined }> {
  const access = { place: app, token: tokens.accessToken }
  try {
    const { id: accountId, username } = await readUser(access)
    const installed = await readInstalled(access).catch((error: unknown) => {
      if (error instanceof BerthError) return false // the next look at the status finds out
      throw error
    })
    const account = { userId, url: app.url, accountId, username, installed }
    return await transaction(call.db, async (tx) => {
      const before = await lockOwnLink(tx, userId)
      const isSame = before?.accountId === accountId && before.url === app.url
      if (before && !isSame) await unlink(tx, before)
      return { before, link: await putLink(call.sealer, tx, isSame ? before.id : null, account, tokens) }
    })
  } catch (error) {
    await revokeToken(app, tokens.accessToken) // nobody has it now
    throw error
  }
}

/** Removes a link that is locked, and all that others have of it. */
async function unlink(tx: Tx, { id }: CodeHostLink): Promise<void> {
  await codeHostLinkRemoving.run(tx, id)
  await removeLink(tx, id)
}

/** Withdraws tokens that were replaced or removed, as far as the code host answers. */
async function revoke(call: Call, gone: CodeHostLink, current: CodeHostLink | null): Promise<void> {
  const app = codeHostApp(call.config)
  const token = openSecrets(call.sealer, gone).accessToken
  const isInUse = current !== null && openSecrets(call.sealer, current).accessToken === token
  if (app?.url === gone.url && !isInUse) await revokeToken(app, token)
}

function person(scope: Scope): { userId: string } {
  if (scope.userId === null) throw new Error('a permission of people was granted to a key')
  return { userId: scope.userId }
}

function appOf(call: Call): CodeHostApp {
  const app = codeHostApp(call.config)
  if (app) return app
  throw new BerthError(
    'invalid_request',
    'This installation has no app at a code host. Ask its operator to set BERTH_CODEHOST_CLIENT_ID and BERTH_CODEHOST_CLIENT_SECRET.',
  )
}
