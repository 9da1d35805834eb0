/**
 * pg's query, which makes its rows at once as the code names them. Its own way makes a list of every row first, and copies
 * its settings, which takes longer than sending them. Hot: every statement is one.
 */
import pg from 'pg'

/** How the rows of a statement are made: for each column its type, its key in the row, and what reads its text. */
export type RowShape = {
  columns: readonly string[]
  typeIds: readonly number[]
  keys: readonly string[]
  readers: readonly ((text: string) => unknown)[]
  /** A row of nulls. A copy of it is filled faster than an empty object grows. */
  blank: Record<string, unknown>
}

/** A column as Postgres describes it. */
export type Column = { name: string; dataTypeID: number }

/** Sends one statement, with its values as parameters. */
export class RowQuery extends pg.Query {
  declare readonly text: string
  declare readonly name: string | undefined
  declare readonly values: readonly unknown[]
  readonly rowsMade: Record<string, unknown>[] = []
  shape: RowShape | null = null
  /** Where pg looks for a row that could not be read: it fails the query once Postgres is ready for the next. */
  declare _canceledDueToError: unknown
  readonly #shapeOf: (columns: readonly Column[]) => RowShape

  /**
   * @param name under which a connection prepares it once; undefined for one that is not prepared.
   * @param shapeOf says how rows of these columns are made.
   */
  constructor(
    text: string,
    name: string | undefined,
    values: readonly unknown[],
    shapeOf: (columns: readonly Column[]) => RowShape,
  ) {
    super(text)
    this.text = text
    this.name = name
    this.values = values
    this.#shapeOf = shapeOf
  }

  handleRowDescription({ fields }: { fields: readonly Column[] }): void {
    this.shape = this.#shapeOf(fields)
  }

  handleDataRow({ fields: texts }: { fields: readonly (string | null)[] }): void {
    if (this._canceledDueToError || !this.shape) return
    const { blank, keys, readers } = this.shape
    const row = { ...blank }
    try {
      for (let at = 0; at < texts.length; at++) {
        const text = texts[at]
        if (text !== null && text !== undefined) row[keys[at]!] = readers[at]!(text) // as many as there are columns
      }
    } catch (error) {
      this._canceledDueToError = error
      return
    }
    this.rowsMade.push(row)
  }
}
