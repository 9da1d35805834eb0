/**
 * State machines: the only code that writes a status column. A move that the table does not allow changes nothing.
 */
import { change, findOne, sql, type Db, type Tx } from './postgres.ts'
import type { RawBuilder } from 'kysely'

/** Every status of a noun, and the allowed moves from each. */
export type States<Status extends string> = {
  readonly table: string
  readonly noun: string
  readonly moves: Readonly<Record<Status, readonly Status[]>>
}

/** Declares the states of a noun: its table, its name, and the moves. */
export function states<Status extends string>(
  table: string,
  noun: string,
  moves: Record<Status, readonly Status[]>,
): States<Status> {
  return { table, noun, moves }
}

/** The statuses from which this one may be reached. */
export function sourcesOf<Status extends string>(machine: States<Status>, to: Status): Status[] {
  return (Object.keys(machine.moves) as Status[]).filter((from) => machine.moves[from].includes(to))
}

/**
 * Changes the status of one row, if the move is allowed from its current status.
 * @param set further assignments, without the status: sql`started_at = now()`.
 * @returns the changed row, or undefined when the move is not allowed (another change was first).
 */
export async function transition<Row, Status extends string>(
  tx: Tx,
  machine: States<Status>,
  id: string,
  to: Status,
  set: RawBuilder<unknown> = sql`updated_at = now()`,
  from: readonly Status[] = sourcesOf(machine, to),
): Promise<Row | undefined> {
  const allowed = from.filter((status) => machine.moves[status].includes(to))
  return findOne<Row>(
    tx,
    sql`
    update ${sql.table(machine.table)} set status = ${to}, ${set}
    where id = ${id} and status = any(${allowed}) returning *`,
  )
}

/**
 * Changes the status of every matching row for which the move is allowed.
 * @param whose the condition: sql`vm_id = ${id}`.
 * @returns how many moved.
 */
export async function transitionAll<Status extends string>(
  tx: Db,
  machine: States<Status>,
  whose: RawBuilder<unknown>,
  to: Status,
  set: RawBuilder<unknown>,
): Promise<number> {
  return change(
    tx,
    sql`update ${sql.table(machine.table)} set status = ${to}, ${set} where ${whose} and status = any(${sourcesOf(machine, to)})`,
  )
}
