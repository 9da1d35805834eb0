/** The records of terminals, and their end. */
import type { Retention, Upkeep } from '#src/platform/jobs/upkeep.ts'
import { terminalLimits } from '#src/platform/limits/terminals.ts'
import { change, sql, transaction, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { states, transition, transitionAll } from '#src/platform/states.ts'
import type { TerminalSize } from '#src/drivers/node/terminal-frames.ts'

/** The statuses of a terminal's record: the first reported end wins. */
export type TerminalStatus = 'running' | 'exited' | 'closed'

const terminalStates = states<TerminalStatus>('terminals', 'terminal', {
  running: ['exited', 'closed'],
  exited: [],
  closed: [],
})

/** A terminal as it is stored; ids are uuids. `command` null: a login shell. */
export type Terminal = Row<'terminals', { status: TerminalStatus }>

/** So long after it was last seen with a client, the guest has ended it: some more than it lives there. */
const lostSeconds = terminalLimits.lostClientSeconds + 120
const isLost = sql`status = 'running' and seen_at < now() - ${lostSeconds} * interval '1 second'`
const finished = sql`finished_at = now()`

/** Marks a terminal as ended; the first report wins. @param exitCode null when it did not exit by itself. */
export async function finishTerminal(db: Db, id: string, exitCode: number | null): Promise<void> {
  const status = exitCode === null ? 'closed' : 'exited'
  await transaction(db, async (tx) => {
    await transition(tx, terminalStates, id, status, sql`exit_code = ${exitCode}, ${finished}`)
  })
}

/** Ends those of a VM that stopped: their programs ended with it. */
export async function endTerminalsOf(db: Db, vmId: string): Promise<void> {
  await transitionAll(db, terminalStates, sql`vm_id = ${vmId}`, 'closed', finished)
}

/** Ends those that have been without a client for so long that the guest has ended them. @param whose of these only */
export async function endLostTerminals(db: Db, whose = sql`true`): Promise<void> {
  await transitionAll(db, terminalStates, sql`${isLost} and ${whose}`, 'closed', finished)
}

/** Notes that a client is attached, or was until now, and the size of its screen. */
export async function noteClient(db: Db, id: string, { columns, rows }: TerminalSize): Promise<void> {
  await change(db, sql`update terminals set seen_at = now(), columns = ${columns}, rows = ${rows} where id = ${id}`)
}

/** What workers do for all terminals. */
export const terminalUpkeep: readonly Upkeep[] = [
  { every: 60, doing: 'ending terminals without a client', work: ({ db }) => endLostTerminals(db) },
]

/** How long records of terminals and tickets stay. */
export const terminalRetention: readonly Retention[] = [
  {
    what: 'Records of terminals in a VM',
    until: `${terminalLimits.recordHours} hours after their end`,
    forget: ({ db }) =>
      change(
        db,
        sql`delete from terminals where finished_at < now() - ${terminalLimits.recordHours} * interval '1 hour'`,
      ),
  },
  {
    what: 'Tickets for terminals',
    until: `after ${terminalLimits.ticketSeconds} seconds`,
    forget: ({ db }) => change(db, sql`delete from terminal_tickets where expires_at < now()`),
  },
]
