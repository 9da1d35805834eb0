/** Rows as they were read, and what is in them. */

/** A row as it was read. */
export type Row = { id: string; [field: string]: unknown }

/** A field inside others; undefined where one of them is not there. */
export function at(value: unknown, ...path: string[]): unknown {
  let found = value
  for (const key of path)
    found =
      typeof found === 'object' && found !== null && Object.hasOwn(found, key)
        ? (found as Record<string, unknown>)[key] // it has it
        : undefined
  return found
}

/** A text inside others; undefined where it is none. */
export function textAt(value: unknown, ...path: string[]): string | undefined {
  const found = at(value, ...path)
  return typeof found === 'string' ? found : undefined
}

/** A list inside others; empty where it is none. */
export function listAt(value: unknown, ...path: string[]): unknown[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}
