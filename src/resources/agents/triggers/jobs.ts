/** The slow work of triggers, as jobs. */
import { job } from '#src/platform/jobs.ts'

/**
 * Decides a fire: looks whether its event starts a session, and starts it. Enqueued in the transaction that records the
 * fire, and tried again for as long as triggerLimits.undecidedMinutes: every minute once some have failed.
 */
export const fireJob = job<{ fireId: string }>('triggers-fire', { retryLimit: 80, expireInSeconds: 300 })
