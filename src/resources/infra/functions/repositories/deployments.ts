/** Deploying what was built of a push: only as long as no newer one is deployed, and the repository is still linked. */
import { change, findOne, sql, type Tx } from '#src/platform/postgres.ts'
import { lockFunctionRow, type StoredFunction } from '#src/resources/infra/functions/rows.ts'
import type { LinkedRepository, Push } from './rows.ts'

/** The push that a build builds. */
export type BuiltPush = Push & Pick<LinkedRepository, 'functionId'>

/** The push that this build builds; undefined for one that somebody ordered. */
export async function findBuiltPush(tx: Tx, buildId: string): Promise<BuiltPush | undefined> {
  return findOne<BuiltPush>(
    tx,
    sql`
    select p.*, r.function_id from function_pushes p join function_repositories r on r.id = p.repository_id where p.build_id = ${buildId}`,
  )
}

/**
 * Locks the function that a push is deployed to, and records that it is. The lock keeps deployments of one function in
 * order.
 * @returns undefined when it must not be deployed; the push then says why.
 */
export async function lockTargetOfPush(tx: Tx, push: BuiltPush): Promise<StoredFunction | undefined> {
  const one = await lockFunctionRow(tx, push.functionId)
  const reason = one && (await whyNot(tx, push))
  const at = sql`repository_id = ${push.repositoryId} and position = ${push.position}`
  if (one && reason === null && one.status !== 'deleting' && one.status !== 'deleted') {
    await change(tx, sql`update function_pushes set deployed_at = now(), reason = null where ${at}`)
    return one
  }
  await change(tx, sql`update function_pushes set reason = ${reason ?? 'The function is deleted.'} where ${at}`)
  return undefined
}

async function whyNot(tx: Tx, { repositoryId, position }: BuiltPush): Promise<string | null> {
  const { isLinked, isOvertaken } = (await findOne<{ isLinked: boolean; isOvertaken: boolean }>(
    tx,
    sql`
    select removed_at is null as is_linked,
      exists (select from function_pushes where repository_id = ${repositoryId} and position > ${position} and deployed_at is not null) as is_overtaken
    from function_repositories where id = ${repositoryId}`,
  )) ?? { isLinked: false, isOvertaken: false }
  if (!isLinked) return 'The repository was unlinked before its build ended.'
  return isOvertaken ? 'A newer push is deployed already.' : null
}
