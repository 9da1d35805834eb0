/** The repository that a function is linked to: a push to its branch is built and deployed. */
import { allow, allowAnywhere, owned, userTokenRequired, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid, randomToken } from '#src/platform/ids.ts'
import { codeHostLimits } from '#src/platform/limits/code-host.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import { change, sql, transaction } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { readRepository, type CodeHostRepository } from '#src/drivers/code-host.ts'
import { createPushHook } from '#src/drivers/code-host/hooks.ts'
import { checkBuildSecrets } from '#src/resources/infra/builds/secrets.ts'
import { readSource } from '#src/resources/infra/builds/sources.ts'
import { readSpec } from '#src/resources/infra/builds/specs.ts'
import { checkName, ownLink, withAccount } from '#src/resources/infra/code-host.ts'
import type { CodeHostLink } from '#src/resources/infra/code-host/rows.ts'
import {
  findRepositoriesOf,
  partsOf,
  placeOfSecret,
  placeOfSpec,
  webhookUrl,
  type LinkedRepository,
  type ShownRepository,
} from './repositories/rows.ts'
import { keepHook, removeRepository } from './repositories/removal.ts'
import { functionRows, lockFunction, type ShownFunction, type StoredFunction } from './rows.ts'
import { addFunctionNote } from './states.ts'

/** The input to link a repository; `branch` is its default one when absent. */
export type RepositoryOrder = { repository: string; branch?: string | null; spec?: object | null }

/** A function that was linked. The secret is shown here only, and only if the webhook is to be added by hand: `reason` says why. */
export type LinkedFunction = {
  function: StoredFunction
  webhookUrl: string
  webhookSecret: string | null
  webhookReason: string | null
}

const secretBytes = 32

/**
 * Links a function to a repository that the caller's account sees, in place of the one before, and lets the code host tell
 * of pushes.
 * @throws BerthError not_found, provider_not_connected, invalid_request, invalid_spec; as the driver.
 */
export async function linkRepository(call: Call, publicId: string, order: RepositoryOrder): Promise<LinkedFunction> {
  const scope = allow(call.caller, 'functions:write')
  if (scope.userId === null) throw userTokenRequired()
  const name = readFullName(order.repository)
  await checkStorage(call, scope.organizationId, 'definitions')
  const before = await functionRows.read(
    call.db,
    publicId,
    sql`${owned(scope)} and status not in ('deleting', 'deleted')`,
  )
  const spec = readLinkedSpec(before, order.spec ?? {})
  await checkBuildSecrets(call.db, scope.organizationId, scope.role ?? 'member', spec.secrets)
  const account = await ownLink(call, scope)
  const found = await withAccount(call, account, (access) => readRepository(access, name))
  if (!found) throw unseen()
  const branch = readBranch(call, order.branch ?? found.defaultBranch, found)
  const secret = randomToken(secretBytes)
  const id = newUuid()
  const linked = await transaction(call.db, async (tx) => {
    const one = await lockFunction(tx, scope, publicId)
    await removeRepository(call, tx, one.id)
    await insertRepository(call, tx, { id, one, scope, account, found, branch, spec: order.spec ?? {}, secret })
    return addFunctionNote(tx, one.id, `Pushes to ${branch} of ${found.fullName} are deployed from now on.`)
  })
  const url = webhookUrl(call.config, { id })
  const reason = await makeHook(call, account, { id, fullName: found.fullName }, { url, secret })
  return {
    function: linked,
    webhookUrl: url,
    webhookSecret: reason === null ? null : secret,
    webhookReason: reason,
  }
}

/** Unlinks the repository of a function, if there is one: what waits to be built is cancelled. @throws BerthError not_found. */
export async function unlinkRepository(call: Call, publicId: string): Promise<StoredFunction> {
  const scope = allow(call.caller, 'functions:write')
  return transaction(call.db, async (tx) => {
    const one = await lockFunction(tx, scope, publicId)
    const removed = await removeRepository(call, tx, one.id)
    return removed ? addFunctionNote(tx, one.id, `Pushes to ${removed.fullName} are no longer deployed.`) : one
  })
}

/** The linked repositories of these functions, by stored ids, in the caller's organizations. */
export async function findRepositories(call: Call, functionIds: readonly string[]): Promise<ShownRepository[]> {
  const scope = allowAnywhere(call.caller, 'functions:read')
  return findRepositoriesOf(
    call.db,
    sql`select id from functions where id = any(${functionIds}::uuid[]) and ${owned(scope)}`,
  )
}

/** The spec of a push's build: the link's own, and the function as its output. */
export function specOfFunction({ name }: Pick<ShownFunction, 'name'>, spec: object): object {
  const output = 'output' in spec && typeof spec.output === 'object' ? spec.output : {}
  return { ...spec, output: { ...output, type: 'function', name } }
}

type NewRepository = {
  id: string
  one: StoredFunction
  scope: Scope
  account: CodeHostLink
  found: CodeHostRepository
  branch: string
  spec: object
  secret: string
}

async function insertRepository(
  { sealer }: Pick<Call, 'sealer'>,
  tx: Parameters<typeof lockFunction>[0],
  { id, one, scope, account, found, branch, spec, secret }: NewRepository,
): Promise<void> {
  await change(
    tx,
    sql`
    insert into function_repositories (id, function_id, organization_id, user_id, url, repository_id, full_name, clone_url, branch, sealed_spec, sealed_secret)
    values (${id}, ${one.id}, ${one.organizationId}, ${scope.userId}, ${account.url}, ${found.id}, ${found.fullName}, ${found.cloneUrl}, ${branch},
      ${sealer.seal(JSON.stringify(spec), placeOfSpec(id))}, ${sealer.seal(secret, placeOfSecret(id))})`,
  )
}

/** Has the code host make the webhook. @returns why it must be added by hand; null when it need not. */
async function makeHook(
  call: Call,
  account: CodeHostLink,
  repository: Pick<LinkedRepository, 'id' | 'fullName'>,
  hook: { url: string; secret: string },
): Promise<string | null> {
  try {
    const made = await withAccount(call, account, (access) => createPushHook(access, partsOf(repository), hook))
    if ('refusal' in made) return `The code host made no webhook: ${made.refusal} Add it there by hand.`
    await transaction(call.db, (tx) => keepHook(call, tx, repository, made.id))
    return null
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    return `${error.message} No webhook is known to be there: add it at the code host by hand, or link the repository again.`
  }
}

function readFullName(given: string): { owner: string; repo: string } {
  const [owner = '', repo = '', ...more] = given.length > codeHostLimits.nameLength * 2 + 1 ? [] : given.split('/')
  if (owner === '' || repo === '' || more.length > 0)
    throw new BerthError('invalid_request', 'repository must be the owner and the name of one: `owner/name`.', {
      field: 'repository',
    })
  checkName('the owner in repository', owner)
  checkName('the name in repository', repo)
  return { owner, repo }
}

/** Checks the spec as it will be at a push. */
function readLinkedSpec(one: Pick<ShownFunction, 'name'>, spec: object): ReturnType<typeof readSpec> {
  const given = 'output' in spec ? spec.output : undefined
  if (typeof given === 'object' && given !== null) {
    const { type = 'function', name = one.name } = given as { type?: unknown; name?: unknown } // of a spec that is not checked yet
    if (type !== 'function' || name !== one.name)
      throw new BerthError(
        'invalid_spec',
        `spec.output must have the type "function" and the name ${one.name}, or be left out: a push deploys this function.`,
      )
  }
  const read = readSpec(specOfFunction(one, spec))
  if (/^https?:\/\//.test(read.context))
    throw new BerthError('invalid_spec', 'spec.context must be a folder of the repository.')
  return read
}

/** The branch, if git and builds accept it, and the address of the repository. */
function readBranch({ sealer }: Pick<Call, 'sealer'>, branch: string | null, found: CodeHostRepository): string {
  if (branch === null)
    throw new BerthError('invalid_request', 'The repository has no default branch. Name the branch to deploy.', {
      field: 'branch',
    })
  try {
    readSource(sealer, newUuid(), { gitRef: branch, repoUrl: found.cloneUrl })
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    throw new BerthError('invalid_request', error.message.replace('git_ref', 'branch'), { field: 'branch' })
  }
  return branch
}

function unseen(): BerthError {
  return new BerthError(
    'invalid_request',
    'The connected account sees no such repository. Check repository; the app may have to be installed for it.',
    { field: 'repository' },
  )
}
