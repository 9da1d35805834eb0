/** Inputs of mutations from files, which are JSON or YAML, and from stdin. */
import { readFile } from 'node:fs/promises'
import { UsageError } from './errors.ts'
import { readStdin } from './prompts.ts'

/** The text of a file; `-` is stdin. @throws UsageError. */
export async function readText(path: string): Promise<string> {
  if (path === '-') return readStdin()
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The object in a file of JSON or YAML; `-` is stdin. @throws UsageError. */
export async function readObject(path: string): Promise<Record<string, unknown>> {
  const text = await readText(path)
  let value: unknown
  try {
    value = /^\s*[{[]/.test(text) ? JSON.parse(text) : (await import('yaml')).parse(text)
  } catch (error) {
    throw new UsageError(`${path} is neither JSON nor YAML: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError(`${path} must have an object with the fields of the input.`)
  return value as Record<string, unknown>
}

/** Without the fields that are undefined: what was not passed is not sent. */
export function given<Fields extends Record<string, unknown>>(
  fields: Fields,
): { [Name in keyof Fields]: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never // as the type says
}
