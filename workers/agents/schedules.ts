/** Fires schedules in a worker: it looks often, because a session is to start within a second or two of its moment. */
import { setTimeout as pause } from 'node:timers/promises'
import { log } from '#src/platform/log.ts'
import type { Background } from '#src/platform/services.ts'
import { createScheduleFiring } from '#src/resources/agents/schedules/firing.ts'

const lookMs = 500

/** Fires schedules until the signal fires. @returns when the last look is over, which must be before the services close. */
export async function keepFiringSchedules(services: Background, stopping: AbortSignal): Promise<void> {
  const { fireDue } = createScheduleFiring(services)
  while (!stopping.aborted) {
    await fireDue(stopping).catch((error: Error) =>
      log.warn({ reason: error.message }, 'schedules could not be fired; they are due still'),
    )
    await pause(lookMs, undefined, { signal: stopping }).catch(() => undefined) // it was told to stop
  }
}
