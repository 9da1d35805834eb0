/** The slow work of builds, as jobs. */
import { job } from '#src/platform/jobs.ts'

/** Dispatches queued builds. Any worker may do it. */
export const dispatchJob = job<Record<string, never>>('builds-dispatch', { retryLimit: 2, expireInSeconds: 60 })

/**
 * Runs one build from start to end, on the node that the dispatcher chose. Its time limit is longer than the longest
 * build.
 */
export const runBuildJob = job<{ buildId: string }>('builds-run', { retryLimit: 5, expireInSeconds: 3 * 3600 })
