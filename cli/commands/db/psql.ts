/** `berth db psql`: the psql of this machine where you have the password, and statements without it otherwise. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { exits, Failure, UsageError } from '../../errors.ts'
import type { Cli, Verb } from '../../grammar.ts'
import { isInteractive, readStdin } from '../../prompts.ts'
import { lineOf } from '../../text.ts'
import { findDatabaseOf } from './names.ts'
import { versionOf } from './programs.ts'
import { statementsOf } from './statements.ts'

/** What ends typing, as in psql. */
const leaving = ['\\q', 'quit', 'exit']

/** `psql`. */
export const psqlVerb: Verb = {
  name: 'psql',
  args: '<database> [words...]',
  about: "run SQL as its owner: -- -c 'select 1', from stdin, or typed; with PGPASSWORD by psql",
  async run(cli, [text], _options, words) {
    const databaseId = await findDatabaseOf(cli, text)
    if (cli.env['PGPASSWORD'] && !cli.out.isJson && (await versionOf(cli, 'psql')) !== undefined)
      return realPsql(cli, databaseId, words)
    const at = words.indexOf('-c')
    if (at >= 0) return runStatements(cli, databaseId, words[at + 1] ?? '')
    if (words.length > 0)
      throw new UsageError(
        "Without psql and PGPASSWORD, only -c and a statement are taken: berth db psql shop -- -c 'select 1'",
      )
    if (!isInteractive()) return runStatements(cli, databaseId, await readStdin())
    return converse(cli, databaseId)
  },
}

/** Its own words and its own exit code. Ctrl-C is psql's. */
async function realPsql(cli: Cli, id: string, words: readonly string[]): Promise<number> {
  const { connectionUri } = await (await cli.berth()).databases.get(id)
  const held = process.listeners('SIGINT')
  process.removeAllListeners('SIGINT').on('SIGINT', () => undefined)
  try {
    const child = spawn('psql', ['--dbname', connectionUri, ...words], { env: cli.env, stdio: 'inherit' })
    return await new Promise<number>((resolve, reject) => {
      child.once('error', (error) => reject(new Failure(`psql does not run: ${error.message}`)))
      child.once('close', (code) => resolve(code ?? exits.interrupted))
    })
  } finally {
    process.removeAllListeners('SIGINT')
    for (const one of held) process.on('SIGINT', one)
  }
}

/** Statements as they are typed, each up to its semicolon. A failed one does not end it. */
async function converse(cli: Cli, databaseId: string): Promise<void> {
  cli.out.note('Each statement runs by itself, and ends with a semicolon. \\q or Ctrl-D leaves.')
  const lines = createInterface({ input: process.stdin, output: process.stderr, prompt: 'sql> ' })
  lines.on('SIGINT', () => lines.close())
  let statement = ''
  lines.prompt()
  for await (const line of lines) {
    if (statement === '' && leaving.includes(line.trim().replace(/;$/, ''))) break
    statement += `${line}\n`
    if (statement.trim() === '') statement = ''
    else if (/;\s*$/.test(line) || /^\s*\\/.test(statement)) {
      await runStatements(cli, databaseId, statement).catch((error: Error) => cli.out.note(lineOf(error.message)))
      statement = ''
    }
    lines.setPrompt(statement ? '...> ' : 'sql> ')
    lines.prompt()
  }
}

/** One after another, up to the first that fails. @throws UsageError for what only psql knows. */
async function runStatements(cli: Cli, databaseId: string, text: string): Promise<void> {
  const statements = statementsOf(text)
  if (statements.length === 0) throw new UsageError('There is no statement.')
  const ofPsql = statements.find((statement) => statement.startsWith('\\'))
  if (ofPsql !== undefined)
    throw new UsageError(
      `'${lineOf(ofPsql)}' is a command of psql, which needs psql here and the password in PGPASSWORD. Tables are listed by: berth db tables`,
    )
  for (const statement of statements) await runStatement(cli, databaseId, statement)
}

async function runStatement(cli: Cli, databaseId: string, statement: string): Promise<void> {
  const { result, failure } = await (await cli.berth()).databases.runSql({ databaseId, statement })
  if (failure) {
    const more = [failure.detail, failure.hint].filter(Boolean).map((one) => ` ${one}`)
    throw new Failure(`${failure.message}.${more.join('')}${failure.sqlState ? ` (${failure.sqlState})` : ''}`)
  }
  if (!result) return
  if (cli.out.isJson) return cli.out.json(result)
  const rows = Array.isArray(result.rows) ? (result.rows as unknown[]) : []
  if (result.columns.length > 0)
    cli.out.table(
      rows,
      result.columns.map(({ name }, index) => [lineOf(name), (row: unknown) => cellOf(row, name, index)] as const),
    )
  cli.out.note(`${result.command ?? 'done'}${result.rowCount === null ? '' : ` ${result.rowCount}`}`)
}

function cellOf(row: unknown, name: string, index: number): string | null {
  const value = (Array.isArray(row) ? row[index] : (row as Record<string, unknown>)[name]) as unknown
  if (value === null || value === undefined) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}
