/** Where the lines of a log stand, in rows of the screen: a line each, or as many as it takes when lines are wrapped. */
import type { LogLines } from './log-lines.ts'

/** Rows are counted from the first line that is held. */
export type Places = {
  /** Rows of all lines that are held. */
  total: number
  /** Rows of the lines that are left out, which were above. */
  left: number
  /** Rows above a line. */
  above: (line: number) => number
  /** The line that has a row; the last one for a row below all. */
  lineAt: (row: number) => number
}

/** The places of lines that are not wrapped. */
export function straightPlaces({ count, first }: LogLines): Places {
  return {
    total: count - first + 1,
    left: first - 1,
    above: (line) => line - first,
    lineAt: (row) => Math.max(first, Math.min(count, first + row)),
  }
}

/** The places of wrapped lines: rows are guessed from the length of a line until it has been drawn, and then known. */
export class WrappedPlaces implements Places {
  readonly #lines: LogLines
  #columns = 0
  #first = 1
  #left = 0
  #rows: number[] = []
  #above: number[] = [0] // rows above each line, and above what follows the last one
  #summed = 0 // so many of them are right
  #lastLength = 0 // characters of the last line when its rows were guessed

  constructor(lines: LogLines) {
    this.#lines = lines
  }

  /** Takes up what has come and what was left out since. @param columns characters in a row; another number is a new guess for all. */
  follow(columns: number): this {
    const { count, first } = this.#lines
    if (columns !== this.#columns) {
      this.#columns = columns
      this.#rows = []
      this.#summed = 0
    }
    if (first !== this.#first) {
      this.#left += this.#rows.splice(0, first - this.#first).reduce((sum, rows) => sum + rows, 0)
      this.#first = first
      this.#summed = 0
    }
    const kept = Math.max(0, this.#rows.length - 1) // the last line may have grown
    const fresh = this.#lines.read(first + kept, count - first - kept + 1)
    const [last] = fresh
    if (last && fresh.length === 1 && this.#rows.length === kept + 1 && last.text.length === this.#lastLength)
      return this
    this.#lastLength = fresh.at(-1)?.text.length ?? 0
    this.#rows.length = kept
    for (const { text } of fresh) this.#rows.push(Math.max(1, Math.ceil(text.length / columns)))
    this.#summed = Math.min(this.#summed, kept)
    return this
  }

  /** Says how many rows a line has, as it was drawn. @returns whether another number was thought. */
  know(line: number, rows: number): boolean {
    const at = line - this.#first
    if (rows === (this.#rows[at] ?? rows)) return false
    this.#rows[at] = rows
    this.#summed = Math.min(this.#summed, at)
    return true
  }

  get total(): number {
    return this.#upTo(this.#rows.length)
  }

  get left(): number {
    return this.#left
  }

  above(line: number): number {
    return this.#upTo(Math.max(0, Math.min(this.#rows.length, line - this.#first)))
  }

  lineAt(row: number): number {
    this.#upTo(this.#rows.length)
    let [low, high] = [0, Math.max(0, this.#rows.length - 1)]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.#above[middle] ?? 0) <= row) low = middle
      else high = middle - 1
    }
    return this.#first + low
  }

  #upTo(place: number): number {
    for (; this.#summed < place; this.#summed++)
      this.#above[this.#summed + 1] = (this.#above[this.#summed] ?? 0) + (this.#rows[this.#summed] ?? 0)
    return this.#above[place] ?? 0
  }
}
