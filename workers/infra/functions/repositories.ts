/** Removes the webhooks of repositories that were unlinked from their functions, as far as the code host lets us. */
import { deletePushHook, findPushHook } from '#src/drivers/code-host/hooks.ts'
import { pushLimits } from '#src/platform/limits/pushes.ts'
import { patiently } from '#src/platform/patience.ts'
import type { Services } from '#src/platform/services.ts'
import { findOwnLink } from '#src/resources/infra/code-host/rows.ts'
import { withToken } from '#src/resources/infra/code-host/tokens.ts'
import { forgetHook, removeHookJob } from '#src/resources/infra/functions/repositories/removal.ts'
import { findLinkedRepository, partsOf, webhookUrl } from '#src/resources/infra/functions/repositories/rows.ts'

/** Handles the jobs that remove webhooks. */
export async function handlePushHooks(services: Services): Promise<void> {
  await services.jobs.handle(removeHookJob, { concurrency: pushLimits.removalsAtOnce }, ({ data }) =>
    removeHook(services, data.repositoryId),
  )
}

/**
 * Removes the webhook of an unlinked repository. One whose id was not stored, because a process died after it was made, is
 * found by its address. May be repeated. @throws BerthError when it should be tried again.
 */
async function removeHook(services: Services, id: string): Promise<void> {
  const { db, config } = services
  const repository = await patiently(() => findLinkedRepository(db, id))
  if (!repository || repository.removedAt === null) return
  const account = await patiently(() => findOwnLink(db, config, { userId: repository.userId, vmId: null }))
  if (!account || account.url !== repository.url) return // without the account it cannot be removed; what it sends is refused
  const name = partsOf(repository)
  await withToken(services, account, async (access) => {
    const hookId = repository.hookId ?? (await findPushHook(access, name, webhookUrl(config, repository)))
    if (hookId !== null) await deletePushHook(access, name, hookId)
  })
  await patiently(() => forgetHook(db, id))
}
