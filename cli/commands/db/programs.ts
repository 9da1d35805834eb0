/** The programs of Postgres on this machine. They are passed the password by the variable PGPASSWORD, and never as a word. */
import { execFile } from 'node:child_process'
import { Failure } from '../../errors.ts'
import type { Cli } from '../../grammar.ts'

const answerMs = 10_000

/** The major version of a program here; undefined when there is none. */
export async function versionOf(cli: Cli, program: 'psql' | 'pg_dump' | 'pg_restore'): Promise<number | undefined> {
  return new Promise((resolve) => {
    execFile(program, ['--version'], { env: cli.env, timeout: answerMs }, (error, stdout) => {
      const [, major] = /\(PostgreSQL\) (\d+)/.exec(stdout) ?? []
      resolve(error || major === undefined ? undefined : Number(major))
    })
  })
}

/** @throws Failure when a program is not here, or is older than the database's server. */
export async function checkVersion(cli: Cli, program: 'pg_dump' | 'pg_restore', databaseId: string): Promise<void> {
  const here = await versionOf(cli, program)
  const { result } = await (await cli.berth()).databases.runSql({
    databaseId,
    statement: "select current_setting('server_version_num')::int / 10000 as major",
  })
  const [row] = Array.isArray(result?.rows) ? (result.rows as unknown[]) : []
  const there = Number(Array.isArray(row) ? row[0] : (row as { major?: unknown } | undefined)?.major)
  if (!Number.isInteger(there)) throw new Failure('The database did not say its version.')
  const install = `Install the client programs of Postgres ${there} or newer (on Debian: postgresql-client-${there}).`
  if (here === undefined) throw new Failure(`There is no ${program} here. ${install}`)
  if (here < there) throw new Failure(`${program} here is of Postgres ${here}, and the server ${there}. ${install}`)
}
