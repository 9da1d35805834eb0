/** Puts what a session brings into its VM, before its agent runs something there: its skills, and then its resources. */
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import type { Background } from '#src/platform/services.ts'
import { findMissingAttachments } from '#src/resources/agents/peers/placing.ts'
import { findMissingResources } from '#src/resources/agents/sessions/resources/placing.ts'
import { isUsedByVm } from '#src/resources/agents/sessions/rows.ts'
import { findMissingSkills } from '#src/resources/agents/skills/placing.ts'
import { putEach, type Placing, type PlacingNote } from '#src/resources/agents/tools/guest-placing.ts'

const underWay = createBoundedMap<string, Promise<void>>({ entriesMax: 10_000 })

/**
 * Puts what is not there yet into the VM. Calls of tools that come at once wait for the same work.
 * @returns what is to be said of it, to the first of them.
 * @throws the signal's reason.
 */
export async function placeInVm(services: Background, placing: Placing): Promise<PlacingNote[]> {
  const key = `${placing.session.id} ${placing.vm.id}`
  for (let others = underWay.peek(key); others; others = underWay.peek(key)) await others
  const { promise, resolve } = Promise.withResolvers<void>()
  underWay.set(key, promise)
  try {
    const skills = await findMissingSkills(services, placing)
    const missing = [
      ...skills,
      ...(await findMissingResources(services, placing)),
      ...(await findMissingAttachments(services, placing)),
    ]
    const { environmentId } = placing.session
    if (missing.length === 0 || environmentId === null || (await isUsedByVm(services.db, environmentId))) return []
    return await putEach(placing, missing)
  } finally {
    underWay.delete(key)
    resolve()
  }
}
