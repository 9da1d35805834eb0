/** The slow work of builds, as jobs. */
import { job } from '#src/platform/jobs.ts'

/** Gives queued builds their turn. Any worker. */
export const dispatchJob = job<Record<string, never>>('builds-dispatch', { retryLimit: 2, expireInSeconds: 60 })

/** Runs one build from end to end. Goes to the node that the dispatcher chose; longer than the longest build. */
export const runBuildJob = job<{ buildId: string }>('builds-run', { retryLimit: 5, expireInSeconds: 3 * 3600 })
