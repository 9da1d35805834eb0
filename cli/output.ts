/** What a command prints: data to stdout, all else to stderr. */
import { styleText } from 'node:util'
import { jsonOf, lineOf, printedOf, widthOf } from './text.ts'

/** A column: its heading, and what a row has there. */
export type Column<Row> = readonly [heading: string, value: (row: Row) => string | number | null | undefined]

/** How to print. */
export type OutputOptions = { json: boolean; quiet: boolean; colours: boolean }

const styles: Record<string, 'green' | 'yellow' | 'red' | 'gray'> = {
  running: 'green',
  active: 'green',
  succeeded: 'green',
  ready: 'green',
  completed: 'green',
  verified: 'green',
  creating: 'yellow',
  starting: 'yellow',
  stopping: 'yellow',
  queued: 'yellow',
  pending: 'yellow',
  error: 'red',
  failed: 'red',
  stopped: 'gray',
  paused: 'gray',
  idle: 'gray',
}

/** Where a command prints. */
export class Output {
  readonly #options: OutputOptions

  constructor(options: OutputOptions) {
    this.#options = options
  }

  /** Whether data is to be JSON. */
  get isJson(): boolean {
    return this.#options.json
  }

  /** Rows as a table; with `--json` as a list of them as they are. */
  table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): void {
    if (this.#options.json) return this.json(rows)
    if (rows.length === 0) return this.note('None.')
    const cells = rows.map((row) => columns.map(([, value]) => lineOf(String(value(row) ?? '-'))))
    const widths = columns.map(([heading], at) =>
      Math.max(heading.length, ...cells.map((line) => widthOf(line[at] ?? ''))),
    )
    const print = (line: readonly string[], style: (cell: string) => string): void =>
      this.line(
        line
          .map((cell, at) => style(cell) + ' '.repeat(at === line.length - 1 ? 0 : (widths[at] ?? 0) - widthOf(cell)))
          .join('  ')
          .trimEnd(),
      )
    print(
      columns.map(([heading]) => heading),
      (cell) => this.#style('bold', cell),
    )
    for (const line of cells) print(line, (cell) => this.state(cell))
  }

  /** One object, a line for each field; with `--json` as it is. */
  object(value: Record<string, unknown>): void {
    if (this.#options.json) return this.json(value)
    const entries = Object.entries(value).filter(([, one]) => one !== null && one !== undefined)
    const width = Math.max(...entries.map(([name]) => name.length))
    for (const [name, one] of entries) {
      const text = typeof one === 'string' ? lineOf(one) : jsonOf(one)
      this.line(`${this.#style('gray', name.padEnd(width))}  ${this.state(text)}`)
    }
  }

  /** A value as JSON. */
  json(value: unknown): void {
    this.line(jsonOf(value, process.stdout.isTTY ? 2 : undefined))
  }

  /** A result: a line of it, or with `--json` the value. */
  result(value: unknown, line: string): void {
    if (this.#options.json) this.json(value)
    else this.line(line)
  }

  /** A line of data. What of it is others' text must have gone through `lineOf`. */
  line(text: string): void {
    process.stdout.write(`${text}\n`)
  }

  /** What a program printed: as it is in a pipe, without what acts on a terminal. */
  printed(text: string, to: NodeJS.WriteStream = process.stdout): void {
    to.write(to.isTTY ? printedOf(text) : text)
  }

  /** A line for the reader, unless `--quiet`. */
  note(text: string): void {
    if (!this.#options.quiet) process.stderr.write(`${text}\n`)
  }

  /** A line that the reader must have to go on, also with `--quiet`. */
  ask(text: string): void {
    process.stderr.write(`${text}\n`)
  }

  /** A state in its colour. */
  state(text: string): string {
    const style = styles[text.toLowerCase()]
    return style ? this.#style(style, text) : text
  }

  #style(style: 'bold' | 'green' | 'yellow' | 'red' | 'gray', text: string): string {
    return this.#options.colours ? styleText(style, text, { validateStream: false }) : text
  }
}

/** How long ago, as `5m`; `-` for never. */
export function ageOf(moment: string | null | undefined): string {
  if (!moment) return '-'
  const seconds = Math.max(0, Math.round((performance.timeOrigin + performance.now() - Date.parse(moment)) / 1000))
  if (seconds < 120) return `${seconds}s`
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)}m`
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

/** Bytes as `3.1 MB`. */
export function sizeOf(bytes: number | string | null | undefined): string {
  if (bytes === null || bytes === undefined) return '-'
  let value = Number(bytes)
  for (const unit of ['B', 'kB', 'MB', 'GB', 'TB']) {
    if (value < 1000 || unit === 'TB') return `${unit === 'B' ? value : value.toFixed(1)} ${unit}`
    value /= 1000
  }
  return `${value}`
}

/** A word of an enum as people write it. */
export function word(value: string | null | undefined): string {
  return value ? value.toLowerCase().replaceAll('_', ' ') : '-'
}
