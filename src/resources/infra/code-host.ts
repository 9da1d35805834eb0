/** A person's account at the code host: connecting it, and what its API shows and makes. */
import { allow, type Scope } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { codeHostLimits } from '#src/platform/limits/code-host.ts'
import type { Call } from '#src/platform/services.ts'
import {
  createRepository,
  listBranches,
  listRepositories,
  readInstalled,
  type CodeHostBranch,
  type CodeHostRepository,
} from '#src/drivers/code-host.ts'
import type { CodeHostAccess } from '#src/drivers/code-host/api.ts'
import { codeHostPlace, installationUrl } from '#src/drivers/code-host/places.ts'
import { findOwnLink, findOwnLinks, noteInstalled, notConnected, type CodeHostLink } from './code-host/rows.ts'
import { spendCodeHost, withToken } from './code-host/tokens.ts'

/** The app of this installation; null for what the operator has not set. */
export type CodeHostAppInfo = {
  url: string
  name: string | null
  clientId: string | null
  installationUrl: string | null
}
/** Whether an account is connected, and whether the app is installed on one that it sees. */
export type CodeHostStatus = { connected: boolean; installed: boolean; username: string | null }
/** A page of a list that the code host numbers. */
export type CodeHostPage<Item> = { page: number; perPage: number; nodes: Item[]; hasNextPage: boolean }

/** The app that people authorize, and where they install it. */
export function getCodeHostApp(call: Call): CodeHostAppInfo {
  allow(call.caller, 'codehost:read')
  const { config } = call
  return {
    url: codeHostPlace(config).url,
    name: config.codeHostApp,
    clientId: config.codeHostClientId,
    installationUrl: installationUrl(config),
  }
}

/** The caller's connected account; null when there is none, and for callers that have none. */
export async function findAccount(call: Call): Promise<CodeHostLink | null> {
  const { caller } = call
  if (caller.kind !== 'person' || caller.organizationId === null || caller.role === null) return null
  return (await findOwnLink(call.db, call.config, caller)) ?? null
}

/** The accounts of these stored ids that are the caller's. */
export async function findAccounts(call: Call, ids: readonly string[]): Promise<CodeHostLink[]> {
  return findOwnLinks(call.db, call.config, allow(call.caller, 'codehost:read'), ids)
}

/** The caller's connected account. @throws BerthError not_found. */
export async function getAccount(call: Call): Promise<CodeHostLink> {
  const link = await findOwnLink(call.db, call.config, allow(call.caller, 'codehost:read'))
  if (!link) throw notFound('connected account')
  return link
}

/** Whether the caller's account is connected. If the code host does not answer, the app counts as installed as before. @throws BerthError provider_token_invalid. */
export async function getStatus(call: Call): Promise<CodeHostStatus> {
  const link = await findOwnLink(call.db, call.config, allow(call.caller, 'codehost:read'))
  if (!link) return { connected: false, installed: false, username: null }
  let { installed } = link
  try {
    installed = await withAccount(call, link, readInstalled)
    await noteInstalled(call.db, link.id, installed)
  } catch (error) {
    if (!(error instanceof BerthError) || !unanswered.has(error.code)) throw error
  }
  return { connected: true, installed, username: link.username }
}

const unanswered: ReadonlySet<string> = new Set(['upstream_error', 'timeout', 'rate_limited', 'service_unavailable'])

/** A page of the repositories that the caller's account reaches, those that changed last first. @throws BerthError provider_not_connected, invalid_request; as the driver. */
export async function pageRepositories(
  call: Call,
  given: { page?: number | null; perPage?: number | null },
): Promise<CodeHostPage<CodeHostRepository>> {
  const scope = allow(call.caller, 'codehost:read')
  const page = readNumber('page', given.page ?? 1, codeHostLimits.pageMax)
  const perPage = readNumber('per_page', given.perPage ?? codeHostLimits.perPageDefault, codeHostLimits.perPageMax)
  const link = await ownLink(call, scope)
  const nodes = await withAccount(call, link, (access) => listRepositories(access, { page, perPage }))
  return { page, perPage, nodes, hasNextPage: nodes.length === perPage }
}

/** The branches of a repository: the first thousand. @throws BerthError provider_not_connected, invalid_request; as the driver. */
export async function listRepositoryBranches(call: Call, owner: string, repo: string): Promise<CodeHostBranch[]> {
  const scope = allow(call.caller, 'codehost:read')
  checkName('owner', owner)
  checkName('repo', repo)
  const link = await ownLink(call, scope)
  const branches: CodeHostBranch[] = []
  for (let page = 1; branches.length < codeHostLimits.branchesMax; page++) {
    const more = await withAccount(call, link, (access) => listBranches(access, { owner, repo, page }))
    if (!more)
      throw new BerthError(
        'invalid_request',
        'The connected account sees no such repository. Check owner and repo; the app may have to be installed for it.',
      )
    branches.push(...more)
    if (more.length < codeHostLimits.perPageMax) break
  }
  return branches
}

/** Creates a repository of the caller's account. @throws BerthError provider_not_connected, invalid_request; as the driver. */
export async function createAccountRepository(
  call: Call,
  input: { name: string; description?: string | null; isPrivate?: boolean | null },
): Promise<CodeHostRepository> {
  const scope = allow(call.caller, 'codehost:write')
  checkName('name', input.name)
  const description = input.description ?? null
  if (description !== null && (description.length > codeHostLimits.descriptionLength || /\p{Cc}/u.test(description)))
    throw new BerthError(
      'invalid_request',
      `description must be one line of at most ${codeHostLimits.descriptionLength} characters.`,
      { field: 'description' },
    )
  const link = await ownLink(call, scope)
  const order = { name: input.name, description, isPrivate: input.isPrivate ?? true }
  return withAccount(call, link, (access) => createRepository(access, order))
}

/** The caller's connected account. @throws BerthError provider_not_connected. */
export async function ownLink(call: Call, scope: Scope): Promise<CodeHostLink> {
  const link = await findOwnLink(call.db, call.config, scope)
  if (!link) throw notConnected()
  return link
}

/** Does something with the link's token, and counts it. @throws BerthError rate_limited; as the driver. */
export async function withAccount<Result>(
  call: Call,
  link: CodeHostLink,
  work: (access: CodeHostAccess) => Promise<Result>,
): Promise<Result> {
  await spendCodeHost(call, link.userId)
  return withToken(call, link, work)
}

function readNumber(field: string, given: number, most: number): number {
  if (Number.isInteger(given) && given >= 1 && given <= most) return given
  throw new BerthError('invalid_request', `${field} must be a whole number from 1 to ${most}.`, { field })
}

/** Checks the name of an owner or a repository: none that a path would take for a folder. @throws BerthError invalid_request. */
export function checkName(field: string, given: string): void {
  if (given.length <= codeHostLimits.nameLength && /^[A-Za-z0-9._-]+$/.test(given) && !/^\.\.?$/.test(given)) return
  throw new BerthError(
    'invalid_request',
    `${field} must have 1 to ${codeHostLimits.nameLength} letters, digits, dots, hyphens and underscores.`,
    { field },
  )
}
