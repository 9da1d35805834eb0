/** The results of `POST /sql` as JSON, in the form that `@neondatabase/serverless` reads. */
import type { SqlRequest } from './request.ts'
import { valuesInList, type SqlResult } from './run.ts'

/** Types of Postgres that JSON has too, by their oids. Larger integers stay text, because JSON's readers round them. */
const numbers: ReadonlySet<number> = new Set([21, 23, 26, 700, 701])
const truth = 16
const documents: ReadonlySet<number> = new Set([114, 3802])

/** A value is written in parts of so many characters, so that a large one holds nobody. */
const sliceLength = 64 * 1024

/** One result, in parts. */
export function* shownResult(
  { fields, rows, lists, command, rowCount }: SqlResult,
  { arrayMode, rawText }: Pick<SqlRequest, 'arrayMode' | 'rawText'>,
): Generator<string> {
  yield JSON.stringify({ command, rowCount, rowAsArray: arrayMode, fields }).replace(/\}$/, ',"rows":[')
  const names = fields.map(({ name }) => `${JSON.stringify(name)}:`)
  const types = fields.map(({ dataTypeID }) => dataTypeID)
  let at = 0
  for (let row = 0; row < rows; row++) {
    yield `${row === 0 ? '' : ','}${arrayMode ? '[' : '{'}`
    for (const [column, name] of names.entries()) {
      yield `${column === 0 ? '' : ','}${arrayMode ? '' : name}`
      const value = lists[Math.floor(at / valuesInList)]?.[at % valuesInList] ?? null
      yield* shownValue(value, rawText ? 0 : (types[column] ?? 0))
      at++
    }
    yield arrayMode ? ']' : '}'
  }
  yield ']}'
}

function* shownValue(value: string | null, type: number): Generator<string> {
  if (value === null) yield 'null'
  else if (type === truth) yield value === 't' ? 'true' : 'false'
  else if (numbers.has(type) && Number.isFinite(Number(value))) yield String(Number(value))
  else if (documents.has(type))
    yield* slices(value) // it is JSON as it is, however deep
  else yield* shownText(value)
}

function* shownText(text: string): Generator<string> {
  yield '"'
  for (const slice of slices(text)) yield JSON.stringify(slice).slice(1, -1)
  yield '"'
}

/** An object of texts, in parts. */
export function* shownTexts(texts: Readonly<Record<string, string | null>>): Generator<string> {
  for (const [at, [name, text]] of Object.entries(texts).entries()) {
    yield `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`
    if (text === null) yield 'null'
    else yield* shownText(text)
  }
  yield '}'
}

/** A text in parts that end between characters. */
function* slices(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + sliceLength, text.length)
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to--
    yield text.slice(from, to)
    from = to
  }
}
