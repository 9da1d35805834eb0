/** Writes one build's log, together with the build's progress. */
import { limits } from '#src/platform/limits.ts'
import { patiently } from '#src/platform/patience.ts'
import { findFullRoom } from '#src/platform/metrics/rooms.ts'
import type { Services } from '#src/platform/services.ts'
import { appendBuildLog, createNumbering, lastLines, type LogLine } from '#src/resources/infra/builds/logs.ts'
import { BuildClaimLost, type BuildProgress, type ClaimedBuild } from '#src/resources/infra/builds/runs.ts'
import { createLogWriter, type LogWriter } from '../logs/writers.ts'

const tooLong = `\n[… the log is longer than ${limits.buildLogBytes / 1024 / 1024} MiB; the rest of it is not kept …]\n`

/** The writer of a build's log and progress, used by its run only. */
export type BuildLogWriter = LogWriter<BuildProgress>

/** @param onLost called when another worker has the build, or it has ended: then nothing more is stored. */
export async function createBuildLogWriter(
  { db, config }: Pick<Services, 'db' | 'config'>,
  { claim, build: { organizationId }, progress: from }: Pick<ClaimedBuild, 'claim' | 'build' | 'progress'>,
  onLost: () => void,
): Promise<BuildLogWriter> {
  const [last] = await lastLines(db, claim.buildId, 1)
  const nextPosition = createNumbering(last)
  return createLogWriter({
    from,
    store(outputs, reached) {
      const lines = outputs.map((output): LogLine => ({ ...nextPosition(), output }))
      return patiently(() => appendBuildLog(db, claim, lines, reached))
    },
    lost() {
      onLost()
      return new BuildClaimLost()
    },
    findFull: () => patiently(() => findFullRoom({ db, config }, organizationId, 'logs')),
    most: { bytes: limits.buildLogBytes, sentence: tooLong },
  })
}
