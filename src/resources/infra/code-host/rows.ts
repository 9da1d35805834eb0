/** A person's link to their account at the code host: its row, and its queries. */
import type { Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { change, findAll, findOne, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { newUuid } from '#src/platform/ids.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import type { Config } from '#src/platform/config.ts'
import { codeHostPlace } from '#src/drivers/code-host/places.ts'
import type { CodeHostTokens } from '#src/drivers/code-host/tokens.ts'

/** A link as it is stored; times are RFC 3339 text, ids are uuids. */
export type CodeHostLink = Row<'code_host_links', { scopes: string[] }>

/** The tokens of a link. */
export type LinkSecrets = Pick<CodeHostTokens, 'accessToken' | 'refreshToken'>

/** The code host of the settings: links to another one, from before they changed, count as absent. */
function hostOf(config: Pick<Config, 'codeHostUrl'>): string {
  return codeHostPlace(config).url
}

/** The link of the person in this scope; none for keys and for the token inside a VM. @param lock such as `for key share`. */
export async function findOwnLink(
  db: Db,
  config: Pick<Config, 'codeHostUrl'>,
  { userId, vmId }: Pick<Scope, 'userId' | 'vmId'>,
  lock = sql``,
): Promise<CodeHostLink | undefined> {
  if (userId === null || vmId !== null) return undefined
  return findOne(db, sql`select * from code_host_links where user_id = ${userId} and url = ${hostOf(config)} ${lock}`)
}

/** The links of these stored ids that are this person's. */
export async function findOwnLinks(
  db: Db,
  config: Pick<Config, 'codeHostUrl'>,
  { userId }: Pick<Scope, 'userId'>,
  ids: readonly string[],
): Promise<CodeHostLink[]> {
  return findAll(
    db,
    sql`select * from code_host_links where id = any(${ids}::uuid[]) and user_id = ${userId} and url = ${hostOf(config)}`,
  )
}

/** The link of this stored id, whoever's it is: for Berth itself. */
export async function findLink(
  db: Db,
  config: Pick<Config, 'codeHostUrl'>,
  id: string,
): Promise<CodeHostLink | undefined> {
  return findOne(db, sql`select * from code_host_links where id = ${id} and url = ${hostOf(config)}`)
}

/** The link of a VM whose person still belongs to the VM's organization. */
export async function findLinkOfVm(
  db: Db,
  config: Pick<Config, 'codeHostUrl'>,
  vmId: string,
): Promise<CodeHostLink | undefined> {
  return findOne(
    db,
    sql`
    select l.* from vms v join code_host_links l on l.id = v.code_host_link_id
    where v.id = ${vmId} and v.status <> 'deleted' and l.url = ${hostOf(config)} and ${belongs(sql`v.organization_id`)}`,
  )
}

/** The same of a build. */
export async function findLinkOfBuild(
  db: Db,
  config: Pick<Config, 'codeHostUrl'>,
  buildId: string,
): Promise<CodeHostLink | undefined> {
  return findOne(
    db,
    sql`
    select l.* from build_jobs b join code_host_links l on l.id = b.code_host_link_id
    where b.id = ${buildId} and l.url = ${hostOf(config)} and ${belongs(sql`b.organization_id`)}`,
  )
}

/** A person's link, to whichever code host, locked with the person: their changes of it are made one after the other, and no VM gets it meanwhile. */
export async function lockOwnLink(tx: Tx, userId: string): Promise<CodeHostLink | undefined> {
  await change(tx, sql`select 1 from users where id = ${userId} for no key update`)
  return findOne(tx, sql`select * from code_host_links where user_id = ${userId} for update`)
}

/** Stores an account that was just authorized. @param id of the link to the same account, whose tokens these replace; null: there is none. */
export async function putLink(
  sealer: Sealer,
  tx: Tx,
  id: string | null,
  link: Pick<CodeHostLink, 'userId' | 'url' | 'accountId' | 'username' | 'installed'>,
  tokens: CodeHostTokens,
): Promise<CodeHostLink> {
  const linkId = id ?? newUuid()
  return getOne<CodeHostLink>(
    tx,
    sql`
    insert into code_host_links (id, user_id, url, account_id, username, scopes, token_preview, installed, sealed_tokens, expires_at)
    values (${linkId}, ${link.userId}, ${link.url}, ${link.accountId}, ${link.username}, ${tokens.scopes}::text[],
      ${previewOf(tokens)}, ${link.installed}, ${sealSecrets(sealer, linkId, tokens)}, ${tokens.expiresAt})
    on conflict (id) do update set username = excluded.username, scopes = excluded.scopes, token_preview = excluded.token_preview,
      installed = excluded.installed,
      sealed_tokens = excluded.sealed_tokens, expires_at = excluded.expires_at, token_generation = code_host_links.token_generation + 1, updated_at = now()
    returning *`,
  )
}

/** Stores renewed tokens, unless newer ones were stored meanwhile. @returns the row when it did. */
export async function replaceTokens(
  sealer: Sealer,
  db: Db,
  { id, tokenGeneration }: CodeHostLink,
  tokens: CodeHostTokens,
): Promise<CodeHostLink | undefined> {
  return findOne(
    db,
    sql`
    update code_host_links set sealed_tokens = ${sealSecrets(sealer, id, tokens)}, token_preview = ${previewOf(tokens)}, expires_at = ${tokens.expiresAt},
      token_generation = token_generation + 1, updated_at = now()
    where id = ${id} and token_generation = ${tokenGeneration} returning *`,
  )
}

/** Records that the code host will not accept these tokens' refresh token again. */
export async function noteRefusal(db: Db, { id, tokenGeneration }: CodeHostLink): Promise<void> {
  await change(
    db,
    sql`update code_host_links set refused_generation = ${tokenGeneration} where id = ${id} and token_generation = ${tokenGeneration}`,
  )
}

/** Records whether the app is installed. */
export async function noteInstalled(db: Db, id: string, installed: boolean): Promise<void> {
  await change(
    db,
    sql`update code_host_links set installed = ${installed}, updated_at = now() where id = ${id} and installed <> ${installed}`,
  )
}

/** Removes a link that is locked. */
export async function removeLink(tx: Tx, id: string): Promise<void> {
  await change(tx, sql`delete from code_host_links where id = ${id}`)
}

/** The tokens of a link. */
export function openSecrets(sealer: Sealer, { id, sealedTokens }: CodeHostLink): LinkSecrets {
  return JSON.parse(sealer.open(sealedTokens, placeOf(id))) as LinkSecrets // sealed below
}

/** The 400 for somebody who has connected no account. */
export function notConnected(): BerthError {
  return new BerthError(
    'provider_not_connected',
    'You have not connected an account at the code host. Connect one first.',
  )
}

/** Whether the link's person is a member of this organization now. */
function belongs(organizationId: ReturnType<typeof sql>) {
  return sql<boolean>`exists (select 1 from memberships m join organizations o on o.id = m.organization_id
    where m.user_id = l.user_id and m.organization_id = ${organizationId} and m.deactivated_at is null and o.deactivated_at is null)`
}

function sealSecrets(sealer: Sealer, id: string, { accessToken, refreshToken }: LinkSecrets): Buffer {
  return sealer.seal(JSON.stringify({ accessToken, refreshToken }), placeOf(id))
}

/** The first four characters and the last four; tokens that are too short for that show nothing of themselves. */
function previewOf({ accessToken }: LinkSecrets): string {
  return accessToken.length < shownLengthMin ? '…' : `${accessToken.slice(0, 4)}…${accessToken.slice(-4)}`
}

const shownLengthMin = 20

function placeOf(id: string): string {
  return `code_host_links.tokens:${id}`
}
