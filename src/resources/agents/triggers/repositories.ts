/**
 * Who may have a trigger for a repository. All repositories deliver to one receiver with one secret, so what a delivery
 * says belongs to whoever may write to its repository: the code host itself is asked, with the person's connected
 * account, when the trigger is made, and again when it fires.
 */
import type { Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { momentAt, nowMs } from '#src/platform/clock.ts'
import { change, findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Services } from '#src/platform/services.ts'
import { readRepository, type CodeHostRepository } from '#src/drivers/code-host.ts'
import { findOwnLink, type CodeHostLink } from '#src/resources/infra/code-host/rows.ts'
import { spendCodeHost, withToken } from '#src/resources/infra/code-host/tokens.ts'
import { triggerLimits } from './limits.ts'
import { readRepo, type RepositoryName } from './orders.ts'
import type { Trigger } from './rows.ts'

/** A repository that somebody may have a trigger for; `repositoryId` null: by its name alone. */
export type ProvenRepository = { repo: string; repositoryId: number | null }

type AccessServices = Pick<Services, 'config' | 'database' | 'db' | 'sealer' | 'limiter'>

/**
 * The repository, if this person may have a trigger for it.
 * @throws BerthError invalid_request, provider_not_connected; as the driver.
 */
export async function proveRepository(
  services: AccessServices,
  scope: Pick<Scope, 'organizationId' | 'userId' | 'vmId'>,
  name: RepositoryName,
): Promise<ProvenRepository> {
  if (await isTrusted(services, scope.organizationId)) return { repo: `${name.owner}/${name.repo}`, repositoryId: null }
  const link = await findOwnLink(services.db, services.config, scope)
  if (!link)
    throw new BerthError(
      'provider_not_connected',
      services.config.codeHostClientId === null
        ? 'This installation has no app at a code host, so nobody can prove that they may write to a repository. Ask its operator to set BERTH_CODEHOST_CLIENT_ID, or to name your organization in GITHUB_WEBHOOK_ORGANIZATIONS.'
        : 'You have not connected an account at the code host. Connect one that may write to the repository first.',
    )
  const found = await lookUp(services, link, name)
  if (!found?.canPush)
    throw new BerthError(
      'invalid_request',
      'The connected account may not write to such a repository. Check repo; the app may have to be installed for it.',
      { field: 'repo' },
    )
  return { repo: found.fullName, repositoryId: found.id }
}

/**
 * Why the owner of a trigger may no longer see what happens in its repository, as a sentence; null while they may.
 * @throws BerthError when the code host does not answer.
 */
export async function whyNoAccess(services: AccessServices, trigger: Trigger): Promise<string | null> {
  const { organizationId, ownerUserId: userId, repositoryId } = trigger
  if (repositoryId === null)
    return (await isTrusted(services, organizationId))
      ? null
      : 'The operator no longer lets your organization have triggers for any repository. Connect an account that may write to it, and create the trigger again.'
  if (isFresh(trigger)) return null
  const link = await findOwnLink(services.db, services.config, { userId, vmId: null })
  if (!link) return 'Your account at the code host is no longer connected. Connect it again.'
  const found = await lookUp(services, link, readRepo(trigger.repo)).catch((error: unknown) => {
    if (error instanceof BerthError && error.code === 'provider_token_invalid') return null
    throw error
  })
  if (found?.id !== repositoryId || !found.canPush)
    return 'Your connected account may no longer write to this repository. Ask its owner, or connect the account again.'
  await change(
    services.db,
    sql`
      update triggers
      set access_checked_at = now(), repo = ${found.fullName}, repo_key = ${found.fullName.toLowerCase()}
      where id = ${trigger.id} and repository_id = ${repositoryId}`,
  )
  return null
}

async function lookUp(
  services: AccessServices,
  link: CodeHostLink,
  name: RepositoryName,
): Promise<CodeHostRepository | null> {
  await spendCodeHost(services, link.userId)
  return withToken(services, link, (access) => readRepository(access, name))
}

function isFresh({ accessCheckedAt }: Pick<Trigger, 'accessCheckedAt'>): boolean {
  return (
    accessCheckedAt !== null && momentAt(accessCheckedAt).getTime() > nowMs() - triggerLimits.accessMinutes * 60_000
  )
}

/** Whether the operator trusts everybody in this organization with every repository that delivers here. */
async function isTrusted({ config, db }: { config: Services['config']; db: Db }, id: string): Promise<boolean> {
  const { githubWebhookOrganizations: names } = config
  if (names.length === 0) return false
  const organization = await findOne<Pick<Row<'organizations'>, 'name'>>(
    db,
    sql`select name from organizations where id = ${id}`,
  )
  return organization !== undefined && names.includes(organization.name)
}
