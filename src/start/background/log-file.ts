/** A log in a file of limited size: when it is full it becomes `<file>.1`, in place of the one before. Only its owner may read it. */
import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'

/** What one of the two files may have, in bytes. */
const logBytesMax = 16 * 1024 * 1024

/** An open log. */
export class LogFile {
  readonly #path: string
  readonly #bytesMax: number
  #file: number
  #bytes: number
  #linesLost = 0

  /** @throws the error of the file system when it cannot be opened. */
  constructor(path: string, bytesMax: number = logBytesMax) {
    this.#path = path
    this.#bytesMax = bytesMax
    this.#file = openSync(path, 'a', 0o600)
    this.#bytes = fstatSync(this.#file).size
  }

  /** Adds a line. On a full disk it is lost, which the next line that finds room says. */
  write(line: string): void {
    const missing = this.#linesLost > 0 ? `${this.#linesLost} lines were lost: there was no room for them.\n` : ''
    try {
      const text = Buffer.from(`${missing}${line}\n`)
      if (this.#bytes > 0 && this.#bytes + text.length > this.#bytesMax) this.#turnOver()
      writeSync(this.#file, text)
      this.#bytes += text.length
      this.#linesLost = 0
    } catch {
      this.#linesLost++
    }
  }

  #turnOver(): void {
    renameSync(this.#path, `${this.#path}.1`)
    closeSync(this.#file)
    this.#file = openSync(this.#path, 'a', 0o600)
    this.#bytes = fstatSync(this.#file).size
  }
}
