/** The tables of a database, with their columns. */
import type { ReactNode } from 'react'
import { useMutation } from 'urql'
import { useKeptQuery } from '../app/kept.ts'
import { RunSqlDocument, TablesDocument } from '../generated/documents.ts'
import { bytesOf } from '../parts/age.tsx'
import { Button } from '../parts/button.tsx'
import { plain } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { wordOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Failure, Rows } from './sql.tsx'

const firstRows = 50

/** The tab. */
export function Tables({ id }: { id: string }): ReactNode {
  const [{ data, error, fetching }, again] = useKeptQuery({
    query: TablesDocument,
    variables: { id },
    requestPolicy: 'network-only',
  })
  if (error) return <Problem error={error} onRetry={() => again({ requestPolicy: 'network-only' })} />
  const tables = data?.database?.tables
  if (fetching || !tables)
    return <p className="soft">{fetching ? 'Asking the database…' : 'Only admins see its tables.'}</p>
  if (tables.nodes.length === 0)
    return (
      <div className="empty">
        <p>It has no tables yet.</p>
      </div>
    )
  return (
    <>
      {tables.nodes.map((table) => (
        <details key={`${table.schema}.${table.name}`} className="tablebox">
          <summary>
            <code>{plain(`${table.schema}.${table.name}`)}</code>{' '}
            <small>
              {wordOf(table.kind)}
              {table.estimatedRows !== null && `, some ${table.estimatedRows} rows`}
              {table.sizeBytes !== null && table.sizeBytes !== undefined && `, ${bytesOf(table.sizeBytes)}`}
            </small>
          </summary>
          <FirstRows id={id} schema={table.schema} name={table.name} />
          {table.comment && <p>{plain(table.comment)}</p>}
          <Table label={`Columns of ${plain(table.name)}`} heads={['Column', 'Type', 'May be null', 'Default']}>
            {table.columns.map((column) => (
              <tr key={column.name}>
                <td>
                  {plain(column.name)} {column.isPrimaryKey && <small>key</small>}
                </td>
                <td>
                  <code>{plain(column.type)}</code>
                </td>
                <td>{column.isNullable ? 'yes' : 'no'}</td>
                <td>{column.default && <code>{plain(column.default)}</code>}</td>
              </tr>
            ))}
          </Table>
        </details>
      ))}
      {tables.pageInfo.hasNextPage && <p className="soft">It has {tables.totalCount} tables; these are the first.</p>}
    </>
  )
}

function FirstRows({ id, schema, name }: { id: string; schema: string; name: string }): ReactNode {
  const [{ data, error, fetching }, run] = useMutation(RunSqlDocument)
  const statement = `select * from ${quoted(schema)}.${quoted(name)} limit ${firstRows}`
  const answer = data?.runSql
  return (
    <>
      <div className="buttons">
        <Button isBusy={fetching} onClick={() => void run({ input: { databaseId: id, statement, isReadOnly: true } })}>
          Show its first {firstRows} rows
        </Button>
      </div>
      {error && <Problem error={error} />}
      {answer?.failure && <Failure failure={answer.failure} />}
      {answer?.result && <Rows result={answer.result} />}
    </>
  )
}

/** A name as SQL takes it, whatever is in it. */
function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
