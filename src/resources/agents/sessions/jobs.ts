/** The slow work of sessions, as jobs. */
import { job } from '#src/platform/jobs.ts'

/**
 * Takes one step of a session: what its log leaves to be done. Enqueued in the transaction that makes a session run,
 * that answers what it waited for, or that asks it to stop; so two may be there at once, and one finds nothing to do.
 */
export const stepJob = job<{ sessionId: string }>('sessions-step', { retryLimit: 5, expireInSeconds: 2 * 3600 })
