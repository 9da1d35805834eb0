/** What the program of a function finds in its environment. */
import { sql, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { replaceInstance } from './instances.ts'
import { lockFunctionRow, type StoredFunction } from './rows.ts'
import { changeFunction } from './states.ts'
import { maskedValues, openVariables } from './variables.ts'

/** The variables of an instance, and which values its log must not show. */
export type Environment = { variables: Record<string, string>; masked: string[] }

/** What the programs of a function need of a database that is linked to it. */
export type LinkedDatabase = Pick<Row<'databases'>, 'name' | 'pgDatabase' | 'pgUser'> & { password: string }

/** Where a function's VM finds its databases: a port of its own loopback address leads to them. */
const host = 'localhost'
const port = '5432'

/** The variables of an instance. Those of its user go before those of Berth. @param linked those of the function, the oldest first */
export function environmentOf(
  { sealer }: Pick<Background, 'sealer'>,
  one: StoredFunction,
  linked: readonly LinkedDatabase[],
): Environment {
  const own = openVariables(sealer, one)
  return {
    variables: { ...variablesOf(linked), ...own },
    masked: [...maskedValues(own), ...linked.map(({ password }) => password)],
  }
}

/** The address of each database under its name; and that of the oldest as clients of Postgres look for it. */
function variablesOf(linked: readonly LinkedDatabase[]): Record<string, string> {
  const [first] = linked
  const named = linked.map(
    (one) => [`${one.name.toUpperCase().replaceAll('-', '_')}_DATABASE_URL`, urlOf(one)] as const,
  )
  if (!first) return {}
  return {
    ...Object.fromEntries(named),
    DATABASE_URL: urlOf(first),
    PGHOST: host,
    PGPORT: port,
    PGUSER: first.pgUser,
    PGPASSWORD: first.password,
    PGDATABASE: first.pgDatabase,
  }
}

function urlOf({ pgUser, password, pgDatabase }: LinkedDatabase): string {
  return `postgresql://${pgUser}:${password}@${host}:${port}/${pgDatabase}`
}

/** Puts an instance with the variables of now in the place of a function's, after a change of its databases. */
export async function renewFunction(services: Background, tx: Tx, functionId: string | null): Promise<void> {
  const one = functionId === null ? undefined : await lockFunctionRow(tx, functionId)
  if (!one || one.status === 'deleting' || one.status === 'deleted') return
  await replaceInstance(services, tx, await changeFunction(tx, one.id, sql`generation = generation + 1`))
}
