/** Terminals: programs in a VM on a pty, to which clients attach by a ticket (terminals/attaching.ts). */
import { allow, allowAnywhere } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { terminalLimits } from '#src/platform/limits/terminals.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import type { PagesOf, PageWindow } from '#src/platform/pages.ts'
import { getOne, sql, transaction } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { TerminalSize } from '#src/drivers/node/terminal-frames.ts'
import { startOf } from '#src/platform/texts.ts'
import { checkWords } from './vm-commands.ts'
import { reachVm, type RunningVm } from './vms/access.ts'
import { knownVms } from './vms/rows.ts'
import { endLostTerminals, finishTerminal, type Terminal, type TerminalStatus } from './terminals/records.ts'
import { makeTicket, type Ticket } from './terminals/tickets.ts'

const terminals = rowsOf<Terminal>('terminal', 'terminals', 'terminal')
/** For the guest to start Python, and for the program to end. */
const openSilenceMs = 45_000
const closeSilenceMs = 45_000

/** A terminal, and the ticket by which a client attaches. */
export type OpenedTerminal = Ticket & { terminal: Terminal }

/** What is to be opened; `command` is a line for bash, and a login shell without it. Sizes in characters. */
export type TerminalInput = TerminalSize & { vmId: string; command?: string | null }

/**
 * Opens a terminal in a running VM; one that sleeps is woken.
 * @throws BerthError invalid_request, not_found, vm_unreachable, rate_limited.
 */
export async function openTerminal(call: Call, input: TerminalInput): Promise<OpenedTerminal> {
  const vm = await reachVm(call, input.vmId, 'vms:write')
  const { columns, rows } = readSize(input)
  const command = input.command ?? null
  if (command !== null) {
    if (command.trim() === '') throw new BerthError('invalid_request', 'command must not be empty; leave it out.')
    if (command.includes('\0')) throw new BerthError('invalid_request', 'command must not contain NUL characters.')
    checkWords([command])
  }
  await call.limiter.spend(`exec:${vm.id}`, limits.execsPerMinute)
  const terminal = await record(call, vm, { columns, rows, command })
  try {
    await vm.node.call(
      'openTerminal',
      { vmId: vm.id, envGeneration: vm.envGeneration, terminalId: terminal.id, columns, rows, command },
      { silenceMs: openSilenceMs },
    )
  } catch (error) {
    await finishTerminal(call.db, terminal.id, null)
    throw error
  }
  return { terminal, ...(await makeTicket(call.db, call.caller, terminal.id)) }
}

/** Writes the record, before there is a terminal: a crash leaves none without one. @throws BerthError rate_limited. */
async function record(
  call: Call,
  { id: vmId, scope }: RunningVm,
  { columns, rows, command }: TerminalSize & { command: string | null },
): Promise<Terminal> {
  const { organizationId, userId } = scope
  const { runningPerVm, runningPerOrganization, commandLength } = terminalLimits
  const advice = 'Close one that nobody needs: closeTerminal.'
  return transaction(call.db, async (tx) => {
    await endLostTerminals(tx, sql`organization_id = ${organizationId}`)
    await checkCount(tx, organizationId, {
      rows: sql`terminals where organization_id = ${organizationId} and status = 'running'`,
      nouns: 'open terminals',
      most: runningPerOrganization,
      advice,
    })
    await checkCount(tx, organizationId, {
      rows: sql`terminals where vm_id = ${vmId} and status = 'running'`,
      nouns: 'open terminals in this VM',
      most: runningPerVm,
      advice,
    })
    return getOne<Terminal>(
      tx,
      sql`insert into terminals (id, organization_id, vm_id, user_id, command, columns, rows, status)
      values (${newUuid()}, ${organizationId}, ${vmId}, ${userId}, ${command && startOf(command, commandLength)},
        ${columns}, ${rows}, 'running') returning *`,
    )
  })
}

/**
 * Makes another ticket for a terminal that is open, to attach to it again.
 * @throws BerthError not_found; invalid_request when its VM is not running; invalid_transition when it has ended.
 */
export async function createTerminalTicket(call: Call, publicId: string): Promise<OpenedTerminal> {
  const terminal = await find(call, publicId, 'vms:write')
  const { id: vmId } = await reachVm(call, encodeId('vm', terminal.vmId), 'vms:write')
  if (terminal.status !== 'running') throw hasEnded()
  await call.limiter.spend(`exec:${vmId}`, limits.execsPerMinute)
  return { terminal, ...(await makeTicket(call.db, call.caller, terminal.id)) }
}

/**
 * Ends a terminal: its program gets SIGHUP, and 3 s later SIGKILL. One that has ended stays as it is.
 * @throws BerthError not_found, vm_unreachable, timeout.
 */
export async function closeTerminal(call: Call, publicId: string): Promise<Terminal> {
  const terminal = await find(call, publicId, 'vms:write')
  if (terminal.status !== 'running') return terminal
  const vm = await findRunning(call, encodeId('vm', terminal.vmId))
  await vm?.node.call('closeTerminal', { vmId: vm.id, terminalId: terminal.id }, { silenceMs: closeSilenceMs })
  await finishTerminal(call.db, terminal.id, null)
  return find(call, publicId, 'vms:write')
}

/** The VM; undefined when it is not running. A paused one keeps the program until it has run for 15 minutes without a client. */
async function findRunning(call: Call, vmId: string): Promise<RunningVm | undefined> {
  try {
    return await reachVm(call, vmId, 'vms:write', { wakes: false })
  } catch (error) {
    if (error instanceof BerthError && error.code === 'invalid_request') return undefined
    throw error
  }
}

async function find(call: Call, publicId: string, permission: 'vms:write'): Promise<Terminal> {
  const scope = allow(call.caller, permission)
  return terminals.read(call.db, publicId, inVms(sql`${knownVms(scope)} and status <> 'deleted'`))
}

const inVms = (known: ReturnType<typeof sql>) => sql`vm_id in (select id from vms where ${known})`

/** The terminals of these stored ids, in VMs that the caller may know of. */
export async function findTerminals(call: Call, ids: readonly string[]): Promise<Terminal[]> {
  const reach = allowAnywhere(call.caller, 'inside-vms:read')
  return terminals.find(call.db, ids, inVms(sql`${knownVms(reach)} and status <> 'deleted'`))
}

/** Conditions of a list of terminals. */
export type TerminalFilter = { statuses?: readonly TerminalStatus[] | null }

/** A page of the terminals of each VM of these stored ids, newest first. @throws BerthError invalid_request. */
export async function pageTerminalsOfEach(
  call: Call,
  vmIds: readonly string[],
  window: PageWindow,
  filter?: TerminalFilter | null,
): Promise<PagesOf<Terminal>> {
  const scope = allow(call.caller, 'inside-vms:read')
  const statuses = filter?.statuses ?? null
  return terminals.pageOfEach(call.db, window, {
    parents: sql`select id from vms where id = any(${vmIds}::uuid[]) and ${knownVms(scope)} and status <> 'deleted'`,
    parentName: 'VM',
    chosen: sql`vm_id = parent.id and (${statuses}::text[] is null or status = any(${statuses}))`,
  })
}

/** Checks the size of a screen. @throws BerthError invalid_request. */
export function readSize({ columns, rows }: TerminalSize): TerminalSize {
  const { columnsMax, rowsMax } = terminalLimits
  const isWithin = (value: number, most: number): boolean => Number.isInteger(value) && value >= 1 && value <= most
  if (!isWithin(columns, columnsMax) || !isWithin(rows, rowsMax))
    throw new BerthError(
      'invalid_request',
      `columns and rows are whole numbers: 1 to ${columnsMax}, and 1 to ${rowsMax}.`,
    )
  return { columns, rows }
}

/** The error for a ticket of a terminal that has ended. */
function hasEnded(): BerthError {
  return new BerthError('invalid_transition', 'This terminal has ended. Open a new one: openTerminal.')
}
