/** Inputs of mutations from files, which are JSON or YAML, and from stdin. */
import { readFile } from 'node:fs/promises'
import { UsageError, whyUnread } from './errors.ts'
import type { Given } from './grammar.ts'
import { readStdin } from './prompts.ts'

/** The text of a file; `-` is stdin. @throws UsageError. */
export async function readText(path: string): Promise<string> {
  if (path === '-') return readStdin()
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${whyUnread(error)}.`)
  }
}

/** The file that was passed; stdin without one. @throws UsageError at a terminal, where nobody would know what is waited for. */
export function fileIn(options: Given): string {
  const file = options.text('file')
  if (file === undefined && process.stdin.isTTY) throw new UsageError('Pass -f with a file, or -f - for stdin.')
  return file ?? '-'
}

/** The object in a file of JSON or YAML; `-` is stdin. @throws UsageError. */
export async function readObject(path: string): Promise<Record<string, unknown>> {
  const text = await readText(path)
  const shown = path === '-' ? 'stdin' : path
  let value: unknown
  try {
    value = /^\s*[{[]/.test(text) ? JSON.parse(text) : (await import('yaml')).parse(text)
  } catch (error) {
    throw new UsageError(`${shown} is neither JSON nor YAML: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError(`${shown} must have an object with the fields of the input.`)
  return value as Record<string, unknown>
}

/** Without the fields that are undefined: what was not passed is not sent. */
export function given<Fields extends Record<string, unknown>>(
  fields: Fields,
): { [Name in keyof Fields]: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never // as the type says
}
