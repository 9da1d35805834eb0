/** Builds that deploy: with the output `function`, a build's success is a new version of the organization's function of that name. */
import { isSqlState, findOne, sql, sqlState, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Build, DeployedVersion, Ending } from '#src/resources/infra/builds/rows.ts'
import type { BuildClaim } from '#src/resources/infra/builds/runs.ts'
import type { BuildSpec } from '#src/resources/infra/builds/specs.ts'
import { finishBuild } from '#src/resources/infra/builds/states.ts'
import { checkDeployer } from '#src/resources/infra/builds/submitters.ts'
import { insertFunction } from '#src/resources/infra/functions.ts'
import { binaryOfBuild } from './binaries.ts'
import { findBuiltPush, lockTargetOfPush } from './repositories/deployments.ts'
import type { StoredFunction } from './rows.ts'
import { addVersion } from './versions.ts'

/** How often it is begun again because another function of that name was made meanwhile. */
const triesMax = 3

/** The build has ended, or another worker has it: what was deployed is undone. */
class AlreadyEnded extends Error {}

/** Whether a build that ends like this deploys a version. */
export function isDeployment({ status, output }: Ending): boolean {
  return status === 'succeeded' && output?.type === 'function'
}

/**
 * Deploys the output of a build and ends it, in one transaction: there is no success without its version, and a build that
 * ends twice deploys once.
 * @returns the ended build, or undefined when it had already ended, or another worker has it.
 * @throws BerthError when whoever ordered it may not deploy any more, or the organization may have no more functions; then
 * nothing is changed, and the build still runs.
 */
export async function finishDeployment(
  services: Background,
  build: Build,
  ending: Ending,
  output: BuildSpec['output'],
  claim?: BuildClaim,
): Promise<Build | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction(services.db, async (tx) => {
        const deployed = await deploy(services, tx, build, ending, output)
        const ended = ending.output && deployed && { ...ending, output: { ...ending.output, deployed } }
        const inside = { db: tx, jobs: services.jobs }
        const finished = await finishBuild(inside, build.id, ended ?? ending, ['running'], claim)
        if (!finished) throw new AlreadyEnded()
        return finished
      })
    } catch (error) {
      if (error instanceof AlreadyEnded) return undefined
      const isTaken = isSqlState(error, sqlState.uniqueViolation, 'functions_name')
      if (!isTaken || attempt === triesMax) throw error
    }
  }
}

/** The function is locked before the build, as in every other deployment. @returns undefined for a push that a newer one has overtaken. */
async function deploy(
  services: Background,
  tx: Tx,
  build: Build,
  ending: Ending,
  { name, start_command, port }: BuildSpec['output'],
): Promise<DeployedVersion | undefined> {
  await checkDeployer(tx, build)
  const { createdBy: userId } = build
  const key = ending.output?.key
  if (!key) throw new Error('a build that deploys has no file')
  const push = await findBuiltPush(tx, build.id)
  const one = push ? await lockTargetOfPush(tx, push) : await lockTarget(services, tx, build, name)
  if (!one) return undefined
  const binary = binaryOfBuild(services, build.id, key)
  const made = await addVersion(services, tx, one, userId, { ...binary, startCommand: start_command, port })
  if (made.versionId === null) throw new Error('a version was deployed and is not the current one')
  return { functionId: made.id, versionId: made.versionId, number: made.versionsMade }
}

/** The function of this name, locked until the transaction ends; it is made if there is none. */
async function lockTarget(
  services: Background,
  tx: Tx,
  { organizationId, createdBy: userId }: Build,
  name: string,
): Promise<StoredFunction> {
  return (
    (await findOne<StoredFunction>(
      tx,
      sql`
      select * from functions where organization_id = ${organizationId} and name = ${name} and status not in ('deleting', 'deleted') for no key update`,
    )) ?? (await insertFunction(services, tx, { organizationId, userId }, { name }))
  )
}
