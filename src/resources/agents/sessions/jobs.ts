/** The slow work of sessions, as jobs. */
import { job } from '#src/platform/jobs.ts'

/**
 * Takes one step of a session: the next pending work of its log. Enqueued in the transaction that starts a session,
 * answers its tool uses or interrupts it. So there may be two such jobs, and then one finds nothing to do.
 */
export const stepJob = job<{ sessionId: string }>('sessions-step', { retryLimit: 5, expireInSeconds: 2 * 3600 })
