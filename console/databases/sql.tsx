/** SQL that one runs in a database, and the rows that it answers. */
import { useState, type KeyboardEvent, type ReactNode } from 'react'
import { useMutation } from 'urql'
import { useMay } from '../app/desk.tsx'
import { RunSqlDocument, type RunSql } from '../generated/documents.ts'
import { Button } from '../parts/button.tsx'
import { plain } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { Table } from '../parts/table.tsx'

type Answer = NonNullable<RunSql['runSql']>
type Result = NonNullable<Answer['result']>

/** The tab. */
export function Sql({ id }: { id: string }): ReactNode {
  const [statement, setStatement] = useState('select now(), version()')
  const [isReadOnly, setIsReadOnly] = useState(true)
  const [{ data, error, fetching }, run] = useMutation(RunSqlDocument)
  const { may, why } = useMay('ADMIN')
  function send(): void {
    if (!fetching && may) void run({ input: { databaseId: id, statement, isReadOnly } })
  }
  function onKey(event: KeyboardEvent): void {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send()
  }
  const answer = data?.runSql
  return (
    <>
      <textarea
        aria-label="SQL"
        className="sql"
        rows={6}
        spellCheck={false}
        value={statement}
        onChange={({ target }) => setStatement(target.value)}
        onKeyDown={onKey}
      />
      <div className="buttons">
        <Button isPrimary why={why} isBusy={fetching} onClick={send}>
          {fetching ? 'Running…' : 'Run'}
        </Button>
        <kbd>Ctrl Enter</kbd>
        <label className="check">
          <input type="checkbox" checked={isReadOnly} onChange={({ target }) => setIsReadOnly(target.checked)} /> Change
          nothing
        </label>
        {why && <small>{why}</small>}
      </div>
      {error && <Problem error={error} />}
      {!fetching && answer?.failure && <Failure failure={answer.failure} />}
      {!fetching && answer?.result && <Rows result={answer.result} />}
    </>
  )
}

/** Why there is no answer, in Postgres' words. */
export function Failure({ failure }: { failure: NonNullable<Answer['failure']> }): ReactNode {
  return (
    <div role="alert" className="problem">
      <p>{plain(failure.message)}</p>
      {failure.detail && <p>{plain(failure.detail)}</p>}
      {failure.hint && <p>{plain(failure.hint)}</p>}
      {ownHint(failure) && <p>{ownHint(failure)}</p>}
      <small>
        {failure.sqlState && <code>{failure.sqlState}</code>}
        {failure.position !== null && failure.position !== undefined && ` at character ${failure.position}`}
      </small>
    </div>
  )
}

/** What Postgres cannot know: how it was asked here. */
function ownHint({ sqlState, message }: NonNullable<Answer['failure']>): string | undefined {
  if (sqlState === '25006') return 'Untick “Change nothing”, and run it again.'
  return message.includes('multiple commands') ? 'Run one statement at a time here.' : undefined
}

/** What a statement answered. */
export function Rows({ result }: { result: Result }): ReactNode {
  const rows = Array.isArray(result.rows) ? (result.rows as unknown[]) : []
  return (
    <>
      <p role="status" className="soft">
        {result.command ?? 'Done'}
        {result.columns.length > 0 || result.rowCount ? `, ${countOf(result.rowCount ?? rows.length)}` : ''}
      </p>
      {result.columns.length > 0 && (
        <Table label="Rows" heads={result.columns.map(({ name }) => plain(name))}>
          {rows.map((row, at) => (
            <tr key={at}>
              {result.columns.map((_, column) => (
                <td key={column}>{cell(Array.isArray(row) ? (row as unknown[])[column] : undefined)}</td>
              ))}
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}

function countOf(rows: number): string {
  return rows === 1 ? '1 row' : `${rows} rows`
}

function cell(value: unknown): ReactNode {
  if (value === null || value === undefined) return <span className="soft">null</span>
  return plain(typeof value === 'string' ? value : JSON.stringify(value))
}
