/**
 * Runs the program of one instance, from when its VM runs until the VM rests or goes: it is started, its output is stored,
 * and its end is noted. The program outlives the worker; the node's next worker goes on where this one was.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { GuestRefusal, takeKept, type KeptOutput } from '#src/drivers/compute/guest/kept.ts'
import type { Exit, Machine } from '#src/drivers/compute/machine.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { log } from '#src/platform/log.ts'
import { findFullRoom } from '#src/platform/metrics/rooms.ts'
import { patiently } from '#src/platform/patience.ts'
import { findLinkedDatabases } from '#src/resources/infra/databases/links.ts'
import { appendFunctionLog, findLogTail } from '#src/resources/infra/functions/logs.ts'
import {
  claimInstance,
  isToRun,
  noteFailure,
  noteReady,
  type ClaimedInstance,
  type InstanceProgress,
} from '#src/resources/infra/functions/runs.ts'
import { environmentOf } from '#src/resources/infra/functions/environments.ts'
import { createLogWriter, type LogWriter } from '../logs/writers.ts'
import { machineId } from '../machine-specs.ts'
import { terminate } from '../builds/runs.ts'
import type { VmWork } from '../vms.ts'
import type { Places } from './places.ts'
import { prepareProgram, probe, startProgram, StartFailure } from './programs.ts'

/** A machine that was not reached is tried again after so long. */
const againMs = 200

/** Another worker has the instance, or it is gone. */
class InstanceLost extends Error {}

type Run = {
  work: VmWork
  claimed: ClaimedInstance
  writer: LogWriter<InstanceProgress>
  variables: Record<string, string>
  stopping: AbortSignal
}

/**
 * Works on an instance until there is nothing to do: its VM rests, its function sleeps or has failed, or the worker stops.
 * May be called again at any time.
 */
export async function runInstance(work: VmWork, vmId: string, places: Places, stopping: AbortSignal): Promise<void> {
  const claimed = await patiently(() => claimInstance(work.services.db, vmId, work))
  if (!claimed) return
  const { db, sealer } = work.services
  const linked = await patiently(() => findLinkedDatabases(db, sealer, claimed.one.id))
  const { variables, masked } = environmentOf(work.services, claimed.one, linked)
  const writer = writerOf(work, claimed)
  writer.hide(masked)
  const run: Run = { work, claimed, writer, variables, stopping }
  try {
    await noteUnnoted(run)
    while (!stopping.aborted && (await takeTurn(run, places)));
  } catch (error) {
    if (!(error instanceof InstanceLost)) throw error
    log.info({ vm: encodeId('vm', vmId) }, 'another worker has an instance, or it is gone')
  }
}

function writerOf({ services }: VmWork, { claim, progress, one }: ClaimedInstance): LogWriter<InstanceProgress> {
  const { db } = services
  let { batch } = progress
  return createLogWriter<InstanceProgress>({
    from: progress,
    async store(outputs, reached) {
      const numbered = { ...reached, batch: batch + 1 }
      const isStored = await patiently(() => appendFunctionLog(db, claim, outputs, numbered))
      batch++
      return isStored
    },
    lost: () => new InstanceLost('another worker has this instance'),
    findFull: () => patiently(() => findFullRoom(services, one.organizationId, 'logs')),
  })
}

/** The worker before may have stored the end of the program, and died before it was noted. */
async function noteUnnoted(run: Run): Promise<void> {
  const { attempt } = run.writer.progress
  if (attempt - 1 > run.claimed.instance.failedAttempts) await fail(run, attempt - 1, await endInLog(run))
}

/** Starts or follows the program once, to its end. @returns whether there may be more to do */
async function takeTurn(run: Run, places: Places): Promise<boolean> {
  const { work, claimed } = run
  const isDue = await patiently(() => isToRun(work.services.db, claimed.claim))
  const machine = work.compute.find(machineId({ id: claimed.claim.vmId }))
  if (!isDue || !machine) return false
  try {
    if (!run.writer.progress.isPrepared)
      await places(claimed.one.organizationId, async () => {
        if (!run.stopping.aborted) await prepare(run, machine)
      })
    if (run.stopping.aborted) return false // the node's next worker goes on
    await follow(run, machine)
  } catch (error) {
    if (error instanceof StartFailure || error instanceof GuestRefusal) {
      await endAttempt(run, error.message, false)
      return true
    }
    if (!(error instanceof BerthError) || error.code !== 'vm_unreachable') throw error
    await pause(againMs, undefined, { signal: run.stopping }).catch(() => undefined) // its VM rests, or was hard to reach
  }
  return true
}

async function prepare({ work, claimed, writer, variables }: Run, machine: Machine): Promise<void> {
  await prepareProgram(work.services, machine, claimed.version, variables)
  writer.say(`Starting version ${claimed.version.number}`, { isPrepared: true })
}

/** Follows the program from where its output is stored, and notes when it listens. */
async function follow(run: Run, machine: Machine): Promise<void> {
  const { claimed, writer, stopping } = run
  const { version, one } = claimed
  const { attempt } = writer.progress
  const name = programName(claimed.claim.vmId, attempt)
  await startProgram(machine, name, version.startCommand)
  const over = new AbortController()
  const probing = probe(machine, version.port, one.startSeconds, over.signal)
  probing.found.catch(() => undefined) // awaited below
  const output = await takeKept(machine, name, writer.resumeOutput())
  writer.onStored((takenBytes) => output.taken(takenBytes))
  const leave = (): void => output.close()
  stopping.addEventListener('abort', leave, { once: true })
  try {
    const ended = pour(output, writer, probing.look)
    ended.catch(() => undefined) // awaited below
    const isListening = await Promise.race([probing.found, ended.then(() => null)])
    if (isListening) await patiently(() => noteReady(run.work.services, claimed.claim))
    if (isListening === false && !stopping.aborted) {
      await terminate(machine, name)
      await Promise.race([ended.catch(() => undefined), pause(functionLimits.endSeconds * 1000)]) // how it ended does not matter
      const late = `It did not listen at port ${version.port} within ${one.startSeconds} s.`
      return await endAttempt(
        run,
        `${late} Its program finds the port in the variable PORT; give one that starts slowly more startSeconds.`,
      )
    }
    const exit = await ended
    await endAttempt(run, sentenceOf(exit))
  } finally {
    over.abort()
    writer.onStored(() => undefined)
    stopping.removeEventListener('abort', leave)
    output.close()
  }
}

/** Stores what the program prints, to its end. */
async function pour(output: KeptOutput, writer: LogWriter<InstanceProgress>, printed: () => void): Promise<Exit> {
  for await (const piece of output.pieces) {
    if (!('bytes' in piece)) return piece
    printed()
    await writer.pour(piece.bytes)
  }
  throw new BerthError('vm_unreachable', 'The output of a program ended without saying how.')
}

/** Stores the end of a start of the program, then notes it: the next one has the next number. */
async function endAttempt(run: Run, reason: string, hasStarted = true): Promise<void> {
  const { writer } = run
  const { attempt } = writer.progress
  writer.endOutput({ attempt: attempt + 1 }, reason)
  await writer.flush()
  await fail(run, attempt, hasStarted ? await endInLog(run, reason) : reason)
}

async function fail({ work, claimed }: Run, attempt: number, reason: string): Promise<void> {
  const { services, nodeId } = work
  await patiently(() => noteFailure(services, claimed.claim, { attempt, reason, nodeId }))
  log.info({ function: encodeId('function', claimed.claim.functionId), attempt }, 'the program of a function ended')
}

/** The lines of Berth's own in a log: what is before them was printed by an earlier start. */
const ownLine = /^(?:Starting version \d+|Its program (?:ended|was ended) |It did not listen at port \d+ |Its file )/

/**
 * How the last start of the program ended, which is the last line of the log, and what it printed before.
 * @param reason the same, where it is known.
 */
async function endInLog({ work, claimed }: Run, reason?: string): Promise<string> {
  const lines = (await patiently(() => findLogTail(work.services.db, claimed.claim))).split('\n')
  const end = reason ?? lines.at(-1)
  const printed = lines.slice(lines.findLastIndex((line, at) => at < lines.length - 1 && ownLine.test(line)) + 1, -1)
  return printed.length === 0 ? end || 'Its program ended.' : `${end} Before that it printed: ${printed.join('\n')}`
}

function sentenceOf({ exitCode }: Exit): string {
  const signalBase = 128
  if (exitCode > signalBase) return `Its program was ended by signal ${exitCode - signalBase}.`
  return `Its program ended with exit code ${exitCode}.`
}

/** Names a start of a program within its VM. */
function programName(vmId: string, attempt: number): string {
  return `${machineId({ id: vmId })}-${attempt}`
}
