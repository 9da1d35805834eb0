/** Background processes in a VM: a record that outlives them, output that can be read and followed. */
import { allow, allowAnywhere } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { isParent, type ParentId, rowsOf } from '#src/platform/nouns.ts'
import type { Page, PagesOf, PageWindow } from '#src/platform/pages.ts'
import { getOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { ExecRequest, OutputChunk, ProcessReport } from '#src/drivers/node.ts'
import { reachVm, type RunningVm } from './access.ts'
import { finishProcess, type VmProcess } from './process-records.ts'
import { knownVms } from './rows.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'

/** A record with the last MiB of each output stream; empty when its VM is no longer running. */
export type VmProcessOutput = VmProcess & { stdout: string; stderr: string }

const processRows = rowsOf<VmProcess>('process', 'vm_processes', 'process')
const commandCharactersShown = 1024
const callSilenceMs = 15_000
/** What a process reads is written first: 15 s, 5 s until that is killed, and then the VM may be silent. */
const inputSilenceMs = 20_000 + limits.execSilenceSeconds * 1000

/**
 * Starts a process and returns its public id. The record is written before the process starts, so a crash leaves no
 * process without one.
 */
export async function startProcess(call: Call, vm: RunningVm, request: ExecRequest): Promise<string> {
  const id = newUuid()
  const shown = [request.command, ...(request.args ?? [])].join(' ').slice(0, commandCharactersShown)
  await checkRunning(call.db, vm.id)
  await checkStorage(call, vm.scope.organizationId, 'logs')
  const endsSeconds = request.timeoutMs === 0 ? null : request.timeoutMs / 1000
  await sql`insert into vm_processes (id, vm_id, command, status, ends_at)
    values (${id}, ${vm.id}, ${shown}, 'running', now() + ${endsSeconds}::float8 * interval '1 second')`.execute(
    call.db,
  )
  try {
    const silenceMs = callSilenceMs + (request.stdin ? inputSilenceMs : 0)
    await vm.node.call('startProcess', { ...request, processId: id }, { silenceMs })
  } catch (error) {
    await finishProcess(call.db, id, { status: 'killed', exitCode: null })
    throw error
  }
  return encodeId('process', id)
}

/** Counted without a lock, so processes that start at the same moment may exceed the limit. */
async function checkRunning(db: Db, vmId: string): Promise<void> {
  const { count } = await getOne<{ count: number }>(
    db,
    sql`select count(*) from vm_processes where vm_id = ${vmId} and status = 'running'`,
  )
  if (count >= limits.processesRunningMax)
    throw new BerthError(
      'rate_limited',
      `${limits.processesRunningMax} background processes of this VM are running, as far as is known, which is the limit. End some of them, or read them to update the ones that have ended.`,
      { retryAfterSeconds: 10 },
    )
}

/** Conditions of a list of processes. */
export type ProcessFilter = { statuses?: readonly VmProcess['status'][] | null }

/** The records of a VM of the last 24 hours, newest first: 200 at most at once. @throws BerthError not_found, invalid_request. */
export async function pageProcesses(
  call: Call,
  publicId: string,
  window: PageWindow,
  filter?: ProcessFilter | null,
): Promise<Page<VmProcess>> {
  allow(call.caller, 'inside-vms:read')
  const id = decodeId('vm', publicId)
  if (!id) throw notFound('VM')
  return (await pageProcessesOfEach(call, [id], window, filter))(id)
}

/** The same page for each VM of these stored ids. @throws BerthError invalid_request. */
export async function pageProcessesOfEach(
  call: Call,
  vmIds: readonly string[],
  window: PageWindow,
  filter?: ProcessFilter | null,
): Promise<PagesOf<VmProcess>> {
  const scope = allow(call.caller, 'inside-vms:read')
  const statuses = filter?.statuses ?? null
  return processRows.pageOfEach(call.db, window, {
    parents: sql`select id from vms where id = any(${vmIds}::uuid[]) and ${knownVms(scope)} and status <> 'deleted'`,
    parentName: 'VM',
    chosen: sql`vm_id = parent.id and (${statuses}::text[] is null or status = any(${statuses}))`,
    most: limits.processListMax,
  })
}

/** The processes of these stored ids, in VMs that the caller may know of. */
export async function findProcesses(call: Call, ids: readonly string[]): Promise<VmProcess[]> {
  const reach = allowAnywhere(call.caller, 'inside-vms:read')
  return processRows.find(
    call.db,
    ids,
    sql`exists (select from vms where vms.id = vm_id and ${knownVms(reach)} and status <> 'deleted')`,
  )
}

/** One process with its output. @throws BerthError not_found. */
export async function getProcess(call: Call, vmId: ParentId, processId: string): Promise<VmProcessOutput> {
  const record = await findRecord(call, vmId, processId)
  const report = await readFromGuest(call, record)
  if (!report) return { ...record, stdout: '', stderr: '' }
  const { stdout, stderr } = report
  if (record.status !== 'running' || report.status === 'running')
    return { ...record, exitCode: record.exitCode ?? report.exitCode, stdout, stderr }
  await finishProcess(call.db, record.id, { status: report.status, exitCode: report.exitCode })
  return { ...(await findRecord(call, vmId, processId)), stdout, stderr } // now with its end
}

/** Sends a signal to the process's whole group. One that has ended stays as it is. @throws BerthError not_found, invalid_request. */
export async function killProcess(
  call: Call,
  vmId: ParentId,
  processId: string,
  signal: string | null | undefined,
): Promise<VmProcessOutput> {
  const vm = await reachVm(call, vmId ?? vmOf(await findRecord(call, vmId, processId)), 'vms:write')
  const signalName = (signal ?? 'TERM').replace(/^SIG/, '')
  if (signalName !== 'TERM' && signalName !== 'KILL' && signalName !== 'INT')
    throw new BerthError('invalid_request', 'signal must be TERM, KILL or INT.')
  const record = await findRecord(call, vmId, processId)
  if (record.status === 'running')
    await vm.node.call(
      'killProcess',
      { vmId: vm.id, processId: record.id, signal: signalName },
      { silenceMs: callSilenceMs },
    )
  return getProcess(call, vmId, processId)
}

/** A piece of output with the cursor that resumes after it, or the end. */
export type ProcessEvent = {
  cursor: string
  stream: 'stdout' | 'stderr' | null
  text: string
  ended: boolean
  exitCode: number | null
}

/**
 * Follows a process's output from the cursor (by default from its start) until it ends. A cursor is `<stdout
 * bytes>-<stderr bytes>`; bytes that the guest's ring buffer no longer has are skipped.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor, or a VM that is not running. All
 * before the first event.
 */
export async function followProcess(
  call: Call,
  vmId: ParentId,
  processId: string,
  after: string | null | undefined,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<ProcessEvent>> {
  const record = await findRecord(call, vmId, processId)
  const position = readCursor(after)
  return outputAfter(call, await reachVm(call, vmOf(record), 'inside-vms:read'), record, position, signal)
}

async function* outputAfter(
  call: Call,
  vm: RunningVm,
  record: VmProcess,
  position: { stdout: number; stderr: number },
  signal: AbortSignal,
): AsyncIterableIterator<ProcessEvent> {
  for await (const chunk of vm.node.follow(
    { vmId: vm.id, processId: record.id, stdoutOffset: position.stdout, stderrOffset: position.stderr },
    signal,
  )) {
    yield toEvent(chunk, position)
    if ('ended' in chunk) await finishProcess(call.db, record.id, chunk)
  }
}

/** @param vmId when given, a process of another VM is not found */
async function findRecord(call: Call, vmId: ParentId, processId: string): Promise<VmProcess> {
  const scope = allow(call.caller, 'inside-vms:read')
  return processRows.read(
    call.db,
    processId,
    sql`vm_id in (select id from vms where ${isParent('vm', vmId)} and ${knownVms(scope)} and status <> 'deleted')`,
  )
}

function vmOf({ vmId }: VmProcess): string {
  return encodeId('vm', vmId)
}

/** The guest's report about a process; undefined when its VM is not running. */
async function readFromGuest(call: Call, record: VmProcess): Promise<ProcessReport | undefined> {
  try {
    const vm = await reachVm(call, vmOf(record), 'inside-vms:read', { wakes: false })
    return await vm.node.call('readProcess', { vmId: vm.id, processId: record.id }, { silenceMs: callSilenceMs })
  } catch (error) {
    if (error instanceof BerthError && (error.code === 'invalid_request' || error.code === 'not_found'))
      return undefined
    throw error
  }
}

function readCursor(after: string | null | undefined): { stdout: number; stderr: number } {
  if (after === null || after === undefined || after === '') return { stdout: 0, stderr: 0 }
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(after)
  if (!match)
    throw new BerthError('invalid_request', 'after is not a cursor of this stream; pass the id of the last event.')
  return { stdout: Number(match[1]), stderr: Number(match[2]) }
}

function toEvent(chunk: OutputChunk, position: { stdout: number; stderr: number }): ProcessEvent {
  if ('ended' in chunk)
    return {
      cursor: `${position.stdout}-${position.stderr}`,
      stream: null,
      text: '',
      ended: true,
      exitCode: chunk.exitCode,
    }
  position[chunk.stream] = chunk.offset + chunk.sizeBytes
  return {
    cursor: `${position.stdout}-${position.stderr}`,
    stream: chunk.stream,
    text: chunk.text,
    ended: false,
    exitCode: null,
  }
}
