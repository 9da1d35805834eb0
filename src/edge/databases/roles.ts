/** The verifiers of roles that owners have made: asked of the server, or while that sleeps what is stored of it, which nobody can change then. */
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { askForVerifier, findStoredRoles, isAwake } from '#src/resources/infra/databases/roles.ts'
import type { Database } from '#src/resources/infra/databases/rows.ts'
import { WriteFailed, type Writers } from './writers.ts'

/** How roles log in. */
export type Roles = {
  /** The verifier of a role that may log in; null where there is none, or it cannot be found out now. Wakes nobody. */
  verifierOf(database: Database, role: string): Promise<string | null>
  /** Has the server let the role in, which it may never have been told to; wakes it. @throws Error; PostgresRefusal */
  letIn(database: Database, role: string): Promise<void>
}

/** Those who have proved nothing yet ask one server for so many at a time; more are answered as if they were not there. */
const waitingMax = 64
/** The function that answers, or its schema, is not there: the server was set up by an earlier version, or its owner has dropped the database. */
const absent: readonly string[] = ['42883', '3F000']

/** Begins without any. @param setUpAgain has a server set up by this version */
export function createRoles(
  { db, sealer }: Pick<Services, 'db' | 'sealer'>,
  writers: Pick<Writers, 'write'>,
  setUpAgain: (databaseId: string) => Promise<boolean>,
): Roles {
  const waiting = new Map<string, number>()

  async function ask(database: Database, role: string): Promise<string | null> {
    try {
      return await writers.write(database, askForVerifier, [role])
    } catch (error) {
      if (!(error instanceof WriteFailed) || !absent.includes(error.sqlState) || !(await setUpAgain(database.id)))
        throw error
      return writers.write(database, askForVerifier, [role])
    }
  }

  async function look(database: Database, role: string): Promise<string | null> {
    const isOpen = database.status === 'active' || database.status === 'updating'
    if (isOpen && (await isAwake(db, database.id))) return ask(database, role)
    const stored = await findStoredRoles({ db, sealer }, database.id)
    return stored.find(({ name, canLogin }) => canLogin && name === role)?.verifier ?? null
  }

  return {
    async verifierOf(database, role) {
      const before = waiting.get(database.id) ?? 0
      if (before >= waitingMax) return null
      waiting.set(database.id, before + 1)
      try {
        return await look(database, role)
      } catch (error) {
        log.debug({ err: error, database: database.id }, 'a role of a database could not be looked up')
        return null
      } finally {
        const left = (waiting.get(database.id) ?? 1) - 1
        if (left > 0) waiting.set(database.id, left)
        else waiting.delete(database.id)
      }
    },
    async letIn(database, role) {
      await ask(database, role)
    },
  }
}
