/** The lines of a log as it comes: each piece is read once, and the first lines go when there are too many. */

/** Lines that are held; of a longer log the first are left out. */
const linesMax = 100_000
/** Lines over that before the first are left out: at once, because each time moves all others. */
const spareLines = 10_000
/** Characters of one line; what a program prints without a line break goes on in the next. */
const lineCharactersMax = 10_000
/** Characters that are held, for lines that are long. */
const charactersMax = 64 * 1024 * 1024

/** A line. @property atMs when it began, in ms of the epoch; undefined where nobody knows. */
export type LogLine = { number: number; text: string; atMs: number | undefined }

/** A log, as its program printed it. */
export class LogLines {
  #lines: string[] = []
  #times: (number | undefined)[] = [] // when each began
  #openSinceMs: number | undefined
  #open = '' // the last line, whose line break has not come
  #characters = 0
  #left = 0 // out, of the first

  /** @param text what follows. @param atMs when it was printed, in ms of the epoch; undefined where nobody knows. */
  add(text: string, atMs?: number): void {
    const pieces = (this.#open + text).split('\n')
    const beganMs = this.#open ? this.#openSinceMs : atMs
    this.#open = ''
    for (const [at, piece] of pieces.entries()) {
      let rest = piece
      for (; rest.length > lineCharactersMax; rest = rest.slice(lineCharactersMax))
        this.#put(rest.slice(0, lineCharactersMax), at === 0 ? beganMs : atMs)
      if (at < pieces.length - 1) this.#put(rest, at === 0 ? beganMs : atMs)
      else {
        this.#open = rest
        this.#openSinceMs = at === 0 ? beganMs : atMs
      }
    }
    this.#leaveOut()
  }

  /** How many lines there have been, with those that are left out. */
  get count(): number {
    return this.#left + this.#lines.length + (this.#open ? 1 : 0)
  }

  /** The first line that is held, from 1. */
  get first(): number {
    return this.#left + 1
  }

  /** Up to `count` lines from the line `from` on, each with its number, and when it began where that is known. */
  read(from: number, count: number): LogLine[] {
    const start = Math.max(from, this.first)
    const lines: LogLine[] = []
    for (let number = start; number < start + count && number <= this.count; number++)
      lines.push({ number, text: this.#at(number), atMs: this.#timeOf(number) })
    return lines
  }

  /** The next line after `from` (or the one before it) that has these words, in whatever case; after the last comes the first. */
  find(words: string, from: number, step: 1 | -1): number | undefined {
    const wanted = words.toLowerCase()
    const held = this.count - this.#left
    for (let tried = 1; tried <= held; tried++) {
      const place = (from - this.first + step * tried) % held
      const number = this.first + (place < 0 ? place + held : place)
      if (this.#at(number).toLowerCase().includes(wanted)) return number
    }
    return undefined
  }

  /** All that is held. */
  text(): string {
    return [...this.#lines, this.#open].join('\n')
  }

  #at(number: number): string {
    return this.#lines[number - this.first] ?? this.#open
  }

  #timeOf(number: number): number | undefined {
    const at = number - this.first
    return at < this.#lines.length ? this.#times[at] : this.#openSinceMs
  }

  #put(line: string, atMs: number | undefined): void {
    this.#lines.push(line)
    this.#times.push(atMs)
    this.#characters += line.length
  }

  #leaveOut(): void {
    let leaving = this.#lines.length > linesMax + spareLines ? this.#lines.length - linesMax : 0
    for (let at = 0; at < leaving; at++) this.#characters -= this.#lines[at]?.length ?? 0
    for (; this.#characters > charactersMax; leaving++) this.#characters -= this.#lines[leaving]?.length ?? 0
    if (leaving === 0) return
    this.#lines.splice(0, leaving)
    this.#times.splice(0, leaving)
    this.#left += leaving
  }
}
