/** Statements for the server of a database as a whole, which may take as long as its data is large. */
import { runSql } from '#src/drivers/compute/guest/postgres.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'

const statementMs = 10 * 60_000

/** Runs statements in one database of the server; in `postgres` those that are for all of it. As `runSql`. */
export function runStatements(machine: Machine, sql: string, database = 'postgres'): Promise<string> {
  return runSql(machine, { database, sql, timeoutMs: statementMs })
}

/** Runs statements one after the other, because creating and dropping databases is not possible in a transaction. */
export async function runEach(machine: Machine, statements: readonly string[]): Promise<void> {
  for (const sql of statements) await runStatements(machine, sql)
}
