/** The results of `POST /sql` as JSON, in the form that `@neondatabase/serverless` reads. */
import type { SqlRequest } from './request.ts'
import type { SqlResult } from './run.ts'

/** Types of Postgres that JSON has too, by their oids. Larger integers stay text, because JSON's readers round them. */
const numbers: ReadonlySet<number> = new Set([21, 23, 26, 700, 701])
const truth = 16
const documents: ReadonlySet<number> = new Set([114, 3802])

/** One result, in parts. */
export function* shownResult(
  { fields, rows, command, rowCount }: SqlResult,
  { arrayMode, rawText }: Pick<SqlRequest, 'arrayMode' | 'rawText'>,
): Generator<string> {
  yield JSON.stringify({ command, rowCount, rowAsArray: arrayMode, fields }).replace(/\}$/, ',"rows":[')
  const names = fields.map(({ name }) => `${JSON.stringify(name)}:`)
  const types = fields.map(({ dataTypeID }) => dataTypeID)
  for (const [at, row] of rows.entries()) {
    const values = row.map((value, column) => shownValue(value, rawText ? 0 : (types[column] ?? 0)))
    const shown = arrayMode ? `[${values.join()}]` : `{${values.map((value, column) => names[column] + value).join()}}`
    yield at === 0 ? shown : `,${shown}`
  }
  yield ']}'
}

function shownValue(value: string | null, type: number): string {
  if (value === null) return 'null'
  if (type === truth) return value === 't' ? 'true' : 'false'
  if (numbers.has(type) && Number.isFinite(Number(value))) return String(Number(value))
  if (documents.has(type)) return value // it is JSON as it is, however deep
  return JSON.stringify(value)
}
