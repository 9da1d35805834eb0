/** Files in YAML that operators edit: read within a size, and checked with a sentence for every problem. */
import { readFileSync, statSync } from 'node:fs'
import { LineCounter, parseDocument } from 'yaml'
import type { z } from 'zod'

/** The content of such a file; null when there are problems. */
export type FileContent<Value> = { value: Value | null; problems: string[] }

/** What is known of such a file. */
export type FileKind<Value> = {
  /** Its name in sentences: that of the setting that names it, for the operator's own. */
  name: string
  shape: z.ZodType<Value>
  /** What to do with a key whose name says that it is secret: the end of a sentence. */
  aboutSecrets: string
}

/** Reads and parses the file at a path. @param bytesMax a larger one is not read. */
export function readSettingsFile<Value>(
  kind: FileKind<Value>,
  path: string,
  { bytesMax }: { bytesMax: number },
): FileContent<Value> {
  try {
    if (statSync(path).size > bytesMax)
      return { value: null, problems: [`${kind.name} is larger than ${bytesMax} bytes.`] }
    return parseSettingsFile(kind, readFileSync(path, 'utf8'))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    return { value: null, problems: [`${kind.name} cannot be read (${code}).`] }
  }
}

/** Parses the text of such a file; empty text is an empty object. No sentence quotes a value, which may be a misplaced secret. */
export function parseSettingsFile<Value>(kind: FileKind<Value>, source: string): FileContent<Value> {
  const { name, shape } = kind
  const lines = new LineCounter()
  const document = parseDocument(source, { prettyErrors: false, lineCounter: lines, version: '1.2', schema: 'core' })
  if (document.errors.length > 0)
    return {
      value: null,
      problems: document.errors.map(
        ({ pos, code }) => `${name}: line ${lines.linePos(pos[0]).line} is not YAML (${code}).`,
      ),
    }
  let value: unknown
  try {
    value = document.toJS() ?? {}
  } catch {
    return { value: null, problems: [`${name}: its aliases expand to too much.`] }
  }
  const outcome = shape.safeParse(value)
  if (outcome.success) return { value: outcome.data, problems: [] }
  const { issues } = outcome.error
  // One problem for each place: a text instead of a list is also too long a list.
  const first = issues.filter(
    (issue, at) =>
      issue.code === 'unrecognized_keys' ||
      issues.findIndex((other) => other.path.join('.') === issue.path.join('.')) === at,
  )
  return { value: null, problems: first.flatMap((issue) => sentences(kind, issue)) }
}

function sentences({ name, aboutSecrets }: FileKind<unknown>, issue: z.core.$ZodIssue): string[] {
  const place = issue.path.join('.') || 'the file'
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map(
      (key) =>
        `${name}: ${issue.path.length > 0 ? `${place}.` : ''}${key} is not known here${/key|secret|token/i.test(key) ? `; ${aboutSecrets}` : ''}.`,
    )
  if (issue.code === 'invalid_key') return [`${name}: ${place} must be ${issue.issues[0]?.message ?? 'another name'}.`]
  return [`${name}: ${place} must be ${issue.message}.`]
}
