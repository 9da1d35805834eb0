/** Decides fires of triggers. */
import type { Services } from '#src/platform/services.ts'
import { decideFire } from '#src/resources/agents/triggers/fires.ts'
import { fireJob } from '#src/resources/agents/triggers/jobs.ts'

const firesAtOnce = 4

/** Handles the fires of all organizations. */
export async function handleTriggers(services: Services): Promise<void> {
  await services.jobs.handle(fireJob, { concurrency: firesAtOnce }, ({ data }) => decideFire(services, data.fireId))
}
