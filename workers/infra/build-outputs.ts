/** Keeps what a build leaves behind: a path of the checkout as a .tar.gz in the object store, or the machine's disk as a template. */
import { Readable } from 'node:stream'
import { keptTemplatesFolder } from '#src/drivers/compute/places.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { log as processLog } from '#src/platform/log.ts'
import { patiently } from '#src/platform/patience.ts'
import type { BuildOutput } from '#src/resources/infra/build-rows.ts'
import { checkFileRoom, filesHeld, isBelowFloor } from '#src/resources/infra/file-room.ts'
import { addBuiltTemplate } from '#src/resources/infra/templates.ts'
import { noRoom } from './build-room.ts'
import { ask, BuildEnd, checkoutFolder, failed, insideCheckout, startStep, untilOver, type BuildRun } from './build-runs.ts'

/** gzip's quickest: under emulation it is the slowest part, and a file is stored once and fetched a few times. */
const packScript = `if [ -d "$1" ]; then cd "$1" && set -- .; else cd "$(dirname "$1")" && set -- "$(basename "$1")"; fi
tar -cf - -- "$1" | gzip -1`

/** Keeps it. @throws BuildEnd saying why that is not possible. */
export async function keepOutput(run: BuildRun): Promise<BuildOutput> {
  return run.spec.output.type === 'template' ? keepDisk(run) : keepFiles(run)
}

async function keepFiles(run: BuildRun): Promise<BuildOutput> {
  const { build, spec: { output }, log } = run
  const place = output.path === null ? checkoutFolder : await insideCheckout(run, output.path, 'output path')
  log.say(`Keeping ${output.path ?? 'the checkout'} as ${output.name}`)
  // Asked first: packing gigabytes only to throw them away would take an emulated machine many minutes.
  const { stdout } = await ask(run, 'du -sb -- "$1" | cut -f1', [place])
  if (Number(stdout.trim()) > limits.buildOutputBytes) throw tooLarge()
  await checkRoom(run, Number(stdout.trim()))
  const step = await startStep(run, '/', ['/bin/bash', '-o', 'pipefail', '-c', packScript, 'pack', place])
  const { channel } = step
  channel.stdin.end()
  const told = log.pour(channel.stderr as AsyncIterable<Buffer>)
  told.catch(() => undefined) // thrown below when nothing else went wrong
  /** The store takes a stream whole or not at all: one that does not end well throws. */
  async function* packed(): AsyncIterableIterator<Buffer> {
    yield* channel.stdout as AsyncIterable<Buffer>
    const { exitCode } = await channel.exit
    if (exitCode !== 0) throw failed('The output could not be packed; the log says why.')
  }
  const key = `builds/${encodeId('organization', build.organizationId)}/${encodeId('build', build.id)}/${output.name}.tar.gz`
  const storing = objectStore(run.work.services).put(key, Readable.from(packed(), { objectMode: false }), limits.buildOutputBytes)
  try {
    const { sizeBytes, sha256 } = await untilOver(run, step, storing)
    await told
    return { type: output.type, name: output.name, key, templateId: null, sizeBytes, sha256 }
  } catch (error) {
    channel.close()
    if (error instanceof BerthError && error.code === 'request_too_large') throw tooLarge()
    throw error
  }
}

/** Before it is packed: what the organization may store, and what the disk has room for. @throws BuildEnd. */
async function checkRoom({ work: { services }, build }: BuildRun, sizeBytes: number): Promise<void> {
  try {
    await checkFileRoom(services.config, await filesHeld(services.db, build.organizationId), sizeBytes)
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    throw error.code === 'capacity_unavailable' ? new BuildEnd(noRoom) : failed(error.message)
  }
}

function tooLarge(): Error {
  return failed(`The output is larger than ${limits.buildOutputBytes / 1024 / 1024} MiB, which is the most. Set output.path to what is needed.`)
}

async function keepDisk({ work, build, spec: { output }, machine, log, over }: BuildRun): Promise<BuildOutput> {
  log.say(`Keeping the disk as the template ${output.name}`)
  if (await isBelowFloor(work.services.config, keptTemplatesFolder(work.services.config.dataDir))) throw new BuildEnd(noRoom)
  await work.compute.stop(machine.id)
  over.throwIfAborted()
  const templateId = newUuid()
  const { sizeBytes } = await work.compute.keepTemplate(machine.id, templateId)
  try {
    over.throwIfAborted()
    await patiently(() => addBuiltTemplate(work.services.db, {
      id: templateId, organizationId: build.organizationId, name: output.name, nodeId: work.nodeId, buildJobId: build.id, sizeBytes,
      description: build.repoUrl ? `Built from ${build.repoUrl}` : 'Built from an upload',
    }))
  } catch (error) {
    await work.compute.removeTemplate(templateId).catch((reason: Error) => processLog.warn({ reason: reason.message }, 'a template that nobody needs was not removed'))
    throw error
  }
  return { type: 'template', name: output.name, key: null, templateId, sizeBytes, sha256: null }
}
