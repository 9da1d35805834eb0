/**
 * Stores the output of a build: a path of the checkout as a .tar.gz in the object store, or the machine's disk as a
 * template.
 */
import { Readable } from 'node:stream'
import { keptTemplatesFolder } from '#src/drivers/compute/places.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { log as processLog } from '#src/platform/log.ts'
import { patiently } from '#src/platform/patience.ts'
import type { BuildOutput, Ending } from '#src/resources/infra/builds/rows.ts'
import { BuildClaimLost } from '#src/resources/infra/builds/runs.ts'
import { checkFileRoom, filesHeld, isBelowFloor } from '#src/resources/infra/file-room.ts'
import { addBuiltTemplate } from '#src/resources/infra/templates.ts'
import { buildMachineId } from './machines.ts'
import { noRoom } from './room.ts'
import {
  ask,
  begin,
  BuildEnd,
  BuildReleased,
  checkoutFolder,
  failed,
  insideCheckout,
  machineOf,
  persevere,
  untilOver,
  type BuildRun,
} from './runs.ts'

/**
 * gzip's fastest level: under emulation compression is the slowest part, and a file is stored once and fetched a few
 * times.
 */
const packScript = `if [ -d "$1" ]; then cd "$1" && set -- .; else cd "$(dirname "$1")" && set -- "$(basename "$1")"; fi
tar -cf - -- "$1" | gzip -1`
/** How much of the packing's error output is kept. */
const complaintBytesMax = 16 * 1024

/** Stores the output. May be repeated. @throws BuildEnd with the reason when that fails. */
export async function keepOutput(run: BuildRun): Promise<BuildOutput> {
  return run.spec.output.type === 'template' ? keepDisk(run) : keepFiles(run)
}

async function keepFiles(run: BuildRun): Promise<BuildOutput> {
  const {
    spec: { output },
  } = run
  const place = output.path === null ? checkoutFolder : await insideCheckout(run, output.path, 'output path')
  await begin(run, `Storing ${output.path ?? 'the checkout'} as ${output.name}`)
  // Checked first: packing gigabytes only to discard them would take an emulated machine many minutes.
  const { stdout } = await ask(run, 'du -sb -- "$1" | cut -f1', [place])
  if (Number(stdout.trim()) > limits.buildOutputBytes) throw tooLarge()
  await checkRoom(run, Number(stdout.trim()))
  return persevere(run, () => pack(run, place))
}

async function pack(run: BuildRun, place: string): Promise<BuildOutput> {
  const {
    build,
    spec: { output },
    log,
  } = run
  const channel = await machineOf(run).run({
    argv: ['/bin/bash', '-o', 'pipefail', '-c', packScript, 'pack', place],
    workingDir: '/',
    timeoutMs: Math.max(0, run.deadlineMs - performance.now()),
  })
  channel.stdin.on('error', () => undefined) // it reads nothing
  channel.stdin.end()
  let complaint: Buffer = Buffer.alloc(0)
  channel.stderr.on('data', (bytes: Buffer) => {
    complaint = Buffer.concat([complaint, bytes]).subarray(0, complaintBytesMax)
  })
  /** The store accepts a stream completely or not at all: a failed stream throws. */
  async function* packed(): AsyncIterableIterator<Buffer> {
    yield* channel.stdout as AsyncIterable<Buffer>
    const { exitCode } = await channel.exit
    if (exitCode === 0) return
    log.say(complaint.toString('utf8').trimEnd())
    throw failed('The output could not be packed; the log says why.')
  }
  const key = `builds/${encodeId('organization', build.organizationId)}/${encodeId('build', build.id)}/${output.name}.tar.gz`
  const storing = objectStore(run.work.services).put(
    key,
    Readable.from(packed(), { objectMode: false }),
    limits.buildOutputBytes,
  )
  try {
    const { sizeBytes, sha256 } = await untilOver(run, channel, async () => channel.close(), storing)
    return { type: output.type, name: output.name, key, templateId: null, sizeBytes, sha256 }
  } catch (error) {
    channel.close()
    if (error instanceof BerthError && error.code === 'request_too_large') throw tooLarge()
    throw error
  }
}

/** Deletes the stored file of an output that nothing will name. */
export async function forgetFile(
  { services }: Pick<BuildRun['work'], 'services'>,
  { output }: Pick<Ending, 'output'>,
): Promise<void> {
  if (!output?.key) return
  await objectStore(services)
    .remove(output.key)
    .catch((reason: Error) =>
      processLog.warn({ reason: reason.message }, 'the file of an output that nobody needs was not removed'),
    )
}

/** Checks before packing that the organization may store it, and that the disk has room. @throws BuildEnd. */
async function checkRoom({ work: { services }, build }: BuildRun, sizeBytes: number): Promise<void> {
  try {
    await checkFileRoom(services.config, await filesHeld(services.db, build.organizationId), sizeBytes)
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    throw error.code === 'capacity_unavailable' ? new BuildEnd(noRoom) : failed(error.message)
  }
}

function tooLarge(): Error {
  return failed(
    `The output is larger than ${limits.buildOutputBytes / 1024 / 1024} MiB, which is the limit. Set output.path to what is needed.`,
  )
}

async function keepDisk(run: BuildRun): Promise<BuildOutput> {
  const {
    work,
    build,
    spec: { output },
    log,
    over,
  } = run
  const machineId = buildMachineId(build.id)
  if (log.progress.templateId === null) {
    machineOf(run) // from here on the machine may be gone: its disk is what is stored
    log.say(`Storing the disk as the template ${output.name}`, {
      begunBy: run.claim.workerNumber,
      templateId: newUuid(),
    })
    await log.flush()
  }
  if (await isBelowFloor(work.services.config, keptTemplatesFolder(work.services.config.dataDir)))
    throw new BuildEnd(noRoom)
  const templateId = log.progress.templateId ?? ''
  try {
    await work.compute.stop(machineId)
    over.throwIfAborted()
    const { sizeBytes } = await work.compute.keepTemplate(machineId, templateId)
    over.throwIfAborted()
    await patiently(() =>
      addBuiltTemplate(work.services.db, {
        id: templateId,
        organizationId: build.organizationId,
        name: output.name,
        nodeId: work.nodeId,
        buildJobId: build.id,
        sizeBytes,
        description: build.repoUrl ? `Built from ${build.repoUrl}` : 'Built from an upload',
      }),
    )
    return { type: 'template', name: output.name, key: null, templateId, sizeBytes, sha256: null }
  } catch (error) {
    const goesOn = error instanceof BuildReleased || error instanceof BuildClaimLost
    if (!goesOn)
      await work.compute
        .removeTemplate(templateId)
        .catch((reason: Error) =>
          processLog.warn({ reason: reason.message }, 'a template that nobody needs was not removed'),
        )
    throw error
  }
}
