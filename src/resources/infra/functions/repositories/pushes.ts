/**
 * Pushes to linked repositories. A push is built at its own commit, with the rights and the account that whoever linked the
 * repository has at that moment. Pushes are in the order of receipt; an older one is never deployed over a newer one.
 */
import { readDeliveryHeader } from '#src/drivers/code-host/deliveries.ts'
import { allow } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { pushLimits } from '#src/platform/limits/pushes.ts'
import { change, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { isSignedBy } from '#src/platform/secrets/webhook-signatures.ts'
import type { Call, Services } from '#src/platform/services.ts'
import { findMember } from '#src/resources/identity/memberships.ts'
import { spendSubmission, submitBuild } from '#src/resources/infra/builds.ts'
import { findOwnLink } from '#src/resources/infra/code-host/rows.ts'
import { lockFunctionRow, type StoredFunction } from '#src/resources/infra/functions/rows.ts'
import { addFunctionNote } from '#src/resources/infra/functions/states.ts'
import { specOfFunction } from '../repositories.ts'
import { readPushPayload, type PushPayload } from './payloads.ts'
import { cancelWaiting } from './removal.ts'
import { findLinkedRepository, lockLinkedRepository, placeOfSecret, placeOfSpec } from './rows.ts'
import type { LinkedRepository, Push } from './rows.ts'

/** A request of a code host, not believed yet. */
export type Delivery = {
  repositoryId: string
  signature: string | undefined
  event: string | undefined
  delivery: string | undefined
  body: Buffer
}

/** What became of it, as a sentence; the stored id of the build that it is built by. */
export type PushAnswer = { message: string; buildId: string | null }

/** A push that is to be recorded. */
type Given = PushPayload & { delivery: string }

/** In place of the secret of a link that is not there: the answer takes as long. */
const nobodysSecret = 'a link that is not there has no secret'
const overtaken = 'A newer push came first.'

/**
 * Takes what a code host sends; only its signature lets it in. A push is answered once its build is committed.
 * @returns null for events that are no push.
 * @throws BerthError unauthorized, the same whatever is wrong; invalid_request; rate_limited; what keeps the push from being
 * built, which `Function.repository` then shows too.
 */
export async function receivePush(services: Services, given: Delivery): Promise<PushAnswer | null> {
  const repository = await findSigned(services, given)
  if (given.event === 'ping') return { message: `Pushes to ${repository.branch} will be deployed.`, buildId: null }
  if (given.event !== 'push') return null
  const delivery = readDeliveryHeader('X-GitHub-Delivery', given.delivery, ' that no other push has, such as a UUID')
  const payload = await readPushPayload(given.body)
  const ignored = whyIgnored(repository, payload)
  if (ignored !== null) return { message: ignored, buildId: null }
  return takePush(services, repository, { ...payload, delivery })
}

/**
 * Refuses a request for a link that is not there before its body takes a place; that one is there tells only who has its address.
 * @throws BerthError unauthorized.
 */
export async function checkPushAddress({ db }: Pick<Services, 'db'>, repositoryId: string): Promise<void> {
  const found = await findAddressed(db, repositoryId)
  if (!found || found.removedAt !== null) throw notSigned()
}

async function findAddressed(db: Db, repositoryId: string): Promise<LinkedRepository | undefined> {
  const id = decodeId('functionRepository', repositoryId)
  return id ? findLinkedRepository(db, id) : undefined
}

async function findSigned(services: Services, given: Delivery): Promise<LinkedRepository> {
  const found = await findAddressed(services.db, given.repositoryId)
  const secret = found ? services.sealer.open(found.sealedSecret, placeOfSecret(found.id)) : nobodysSecret
  const isSigned = isSignedBy(secret, given.body, given.signature)
  if (!found || !isSigned || found.removedAt !== null) throw notSigned()
  return found
}

function notSigned(): BerthError {
  return new BerthError(
    'unauthorized',
    'X-Hub-Signature-256 is not the signature of this body with the secret of a linked repository. Check the address and the secret of the webhook, or link the repository again.',
  )
}

/** Why a push leads to nothing; null when it does. */
function whyIgnored(repository: LinkedRepository, push: PushPayload): string | null {
  if (push.repositoryId !== null && push.repositoryId !== repository.repositoryId)
    return `Ignored: this is a push to another repository than ${repository.fullName}.`
  if (push.ref !== `refs/heads/${repository.branch}`)
    return `Ignored: only pushes to ${repository.branch} are deployed.`
  return push.isDeletion ? 'Ignored: the branch was deleted.' : null
}

async function takePush(services: Services, repository: LinkedRepository, given: Given): Promise<PushAnswer> {
  try {
    await services.limiter.spend(`pushes:${repository.id}`, pushLimits.pushesPerMinute)
    await spendSubmission(services, repository) // before the transaction, in which it would take a second connection
    return await transaction(services.db, (tx) => inOrder(services, tx, repository, given))
  } catch (error) {
    if (error instanceof BerthError && error.code !== 'unauthorized')
      await transaction(services.db, (tx) => noteRefusal(tx, repository, given, error.message))
    throw error
  }
}

/** One push after the other: the function is locked, then its link. */
async function inOrder(
  services: Services,
  tx: Tx,
  { id, functionId }: LinkedRepository,
  given: Given,
): Promise<PushAnswer> {
  const one = await lockFunctionRow(tx, functionId)
  const repository = await lockLinkedRepository(tx, id)
  if (!one || one.status === 'deleting' || one.status === 'deleted' || !repository || repository.removedAt !== null)
    throw notSigned()
  const known = await findPush(tx, id, given)
  if (known?.buildId)
    return { message: `This push is built already, by ${encodeId('build', known.buildId)}.`, buildId: known.buildId }
  if (await isOvertaken(tx, id, given, known)) {
    if (known) await recordPush(tx, repository, given, known, { reason: overtaken })
    return { message: `Not built: ${overtaken}`, buildId: null }
  }
  await cancelWaiting(services, tx, id, 'A newer push came before its build began.')
  const buildId = await buildPush(services, tx, one, repository, given)
  await recordPush(tx, repository, given, known, { buildId })
  const build = encodeId('build', buildId)
  await addFunctionNote(tx, one.id, `Commit ${given.commitSha.slice(0, 12)} was pushed; ${build} builds it.`)
  return { message: `The push is built by ${build}, and then deployed.`, buildId }
}

/** The same push, received before: by its id; or by its commit and moment, where two webhooks tell of it. */
async function findPush(
  tx: Tx,
  repositoryId: string,
  { delivery, commitSha, pushedAt }: Given,
): Promise<Push | undefined> {
  return findOne<Push>(
    tx,
    sql`
    select * from function_pushes where repository_id = ${repositoryId}
      and (delivery = ${delivery} or (pushed_at = ${pushedAt}::bigint and commit_sha = ${commitSha}))
    order by delivery = ${delivery} desc, position desc limit 1`,
  )
}

/** Whether a newer push is built, or one is known that the code host says was made later. */
async function isOvertaken(tx: Tx, id: string, { pushedAt }: Given, known: Push | undefined): Promise<boolean> {
  const newer = await findOne(
    tx,
    sql`
    select 1 from function_pushes where repository_id = ${id}
      and ((position > ${known?.position ?? null}::integer and build_id is not null) or pushed_at > ${pushedAt}::bigint) limit 1`,
  )
  return newer !== undefined
}

/** Queues the build, as whoever linked the repository. @throws BerthError as submitBuild; forbidden, provider_not_connected. */
async function buildPush(
  services: Services,
  tx: Tx,
  one: StoredFunction,
  repository: LinkedRepository,
  { commitSha }: Given,
): Promise<string> {
  const { config, database, jobs, pubsub, sealer, limiter, idempotency } = services
  const caller = await findMember(tx, repository, 'push')
  if (!caller)
    throw new BerthError(
      'forbidden',
      'Whoever linked the repository has left the organization. Another member must link it again.',
    )
  const call: Call = { config, database, db: tx, jobs, pubsub, sealer, limiter, idempotency, caller, requestId: 'push' }
  const scope = allow(caller, 'functions:write')
  allow(caller, 'builds:write')
  const account = await findOwnLink(tx, config, scope)
  if (!account || account.url !== repository.url)
    throw new BerthError(
      'provider_not_connected',
      'Whoever linked the repository has disconnected their account at the code host. They must connect it again, or another member link the repository.',
    )
  const spec = JSON.parse(sealer.open(repository.sealedSpec, placeOfSpec(repository.id))) as object // sealed when it was linked
  const source = { repoUrl: repository.cloneUrl, gitRef: repository.branch, commitSha }
  const build = await submitBuild(call, scope, { ...source, spec: specOfFunction(one, spec) })
  return build.id
}

async function recordPush(
  tx: Tx,
  { id, pushesReceived }: LinkedRepository,
  { delivery, commitSha, pushedAt }: Given,
  known: Push | undefined,
  { buildId = null, reason = null }: { buildId?: string | null; reason?: string | null },
): Promise<void> {
  if (known) {
    const at = sql`repository_id = ${id} and position = ${known.position}`
    await change(tx, sql`update function_pushes set build_id = ${buildId}, reason = ${reason} where ${at}`)
    return
  }
  await change(tx, sql`update function_repositories set pushes_received = ${pushesReceived + 1} where id = ${id}`)
  await change(
    tx,
    sql`
    insert into function_pushes (repository_id, position, delivery, commit_sha, pushed_at, build_id, reason)
    values (${id}, ${pushesReceived + 1}, ${delivery}, ${commitSha}, ${pushedAt}, ${buildId}, ${reason})`,
  )
}

/** Records why a push is not built, for whoever looks at the function. The same push is built once it is sent again and nothing stands in the way. */
async function noteRefusal(tx: Tx, { id, functionId }: LinkedRepository, given: Given, message: string): Promise<void> {
  const one = await lockFunctionRow(tx, functionId)
  const repository = await lockLinkedRepository(tx, id)
  if (!one || !repository || repository.removedAt !== null) return
  const known = await findPush(tx, id, given)
  if (known?.buildId) return
  await recordPush(tx, repository, given, known, { reason: message.slice(0, pushLimits.reasonLength) })
  await addFunctionNote(tx, one.id, `Commit ${given.commitSha.slice(0, 12)} was pushed, and is not built. ${message}`)
}
