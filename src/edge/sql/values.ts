/** The values of a statement as Postgres reads them: lists as its arrays, objects as JSON. Large lists are written in steps. */
import { setImmediate as nextTurn } from 'node:timers/promises'

const itemsBetweenTurns = 10_000

/** Each value as a text; null stays null. */
export async function writeValues(values: readonly unknown[]): Promise<(string | null)[]> {
  const written: (string | null)[] = []
  for (const value of values) {
    if (!Array.isArray(value)) {
      written.push(writeOne(value))
      continue
    }
    let text = ''
    let parts = 0
    for (const part of arrayParts(value)) {
      text += part
      if (++parts % itemsBetweenTurns === 0) await nextTurn() // clients of the proxy are waiting
    }
    written.push(text)
  }
  return written
}

function writeOne(value: unknown): string | null {
  if (value === null) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** An array of Postgres, each item in quotes so that it may be of any type. */
function* arrayParts(list: readonly unknown[]): Generator<string> {
  yield '{'
  for (const [at, item] of list.entries()) {
    if (at > 0) yield ','
    if (Array.isArray(item)) yield* arrayParts(item)
    else {
      const text = writeOne(item)
      yield text === null ? 'NULL' : /["\\]/.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : `"${text}"`
    }
  }
  yield '}'
}
