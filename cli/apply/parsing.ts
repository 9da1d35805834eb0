/** Reads YAML and JSON as what JSON can say, and nothing else: what is dropped or read otherwise in silence could delete what it named. */
import type { Document, LineCounter, Pair, YAMLMap } from 'yaml'
import { UsageError } from '../errors.ts'

/** The value of a text. JSON is YAML too. @throws UsageError with the place in the file, and nothing of its text. */
export async function parseFile(file: string, text: string): Promise<unknown> {
  const { parseDocument, visit, LineCounter: Counter } = await import('yaml')
  const lineCounter = new Counter()
  // `!!set` and other types of YAML 1.1 are no JSON, also where the file says that it is of that version.
  const options = {
    schema: 'core',
    resolveKnownTags: false,
    merge: false,
    uniqueKeys: false,
    prettyErrors: false,
  } as const
  const document = parseDocument(text, { ...options, lineCounter, logLevel: 'error' })
  const [problem] = [...document.errors, ...document.warnings]
  if (problem) throw refused(file, `${problem.message.replace(/;.*/s, '')}${placeOf(lineCounter, problem.pos[0])}`)
  visit(document, {
    Map(_key, map) {
      const wrong = wrongPairOf(map)
      if (wrong) throw refused(file, `${wrong.sentence}${placeOf(lineCounter, startOf(wrong.pair))}`)
    },
  })
  return valueOf(file, document)
}

function valueOf(file: string, document: Document): unknown {
  try {
    const value: unknown = document.toJS() ?? {}
    JSON.stringify(value) // fails where an alias is part of what it stands for
    return value
  } catch {
    throw refused(file, 'its aliases (*name) stand for too much, or for what they are part of')
  }
}

/** The first pair whose key is no text, or one that the map has already; keys that become the same text are the same. */
function wrongPairOf({ items }: YAMLMap): { pair: Pair; sentence: string } | undefined {
  const seen = new Set<string>()
  for (const pair of items) {
    const { value = {} } = (pair.key ?? { value: null }) as { value?: string | number | boolean | null | object } // a scalar has one
    if (typeof value === 'object' && value !== null) return { pair, sentence: 'A key must be a text' }
    const name = String(value ?? '')
    if (seen.has(name)) return { pair, sentence: 'Map keys must be unique' }
    seen.add(name)
  }
  return undefined
}

function startOf({ key }: Pair): number {
  return (key as { range?: [number, number, number] } | null)?.range?.[0] ?? 0 // a node that was read has one
}

function placeOf(lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset)
  return ` at line ${line}, column ${col}`
}

function refused(file: string, why: string): UsageError {
  return new UsageError(`${file} cannot be read as YAML or JSON: ${why}.`)
}
