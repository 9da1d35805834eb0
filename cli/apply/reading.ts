/** Reads a file that describes what an organization shall have, and refuses what is wrong in it. */
import { dirname, resolve } from 'node:path'
import { UsageError } from '../errors.ts'
import { readText } from '../inputs.ts'
import { lineOf } from '../text.ts'
import { digestOf } from './code.ts'
import { fileSchema, pathOf, problemsIn } from './json-schema.ts'
import { parseFile } from './parsing.ts'
import type { Fields } from './section.ts'
import { sectionOf } from './sections.ts'

const fileCharactersMax = 4_000_000
const entriesMax = 2000 // of all sections together
const problemsMax = 50 // that are printed

/** What a file describes: by section, the fields by name. `code` of a function is its digest, whose files are at `codeAt`. */
export type Described = {
  project: string | null
  sections: ReadonlyMap<string, ReadonlyMap<string, Fields>>
  codeAt: ReadonlyMap<string, string>
}

/** Reads it; `-` is stdin. @throws UsageError with every mistake, by its path in the file. */
export async function readDescribed(file: string): Promise<Described> {
  const text = await readText(file)
  if (text.length > fileCharactersMax) throw new UsageError(`${file} is too long: it may have 4 MB.`)
  const value = await parseFile(file, text)
  refuse(file, problemsIn(value))
  const { project = null, ...given } = value as { project?: string } & Record<
    string,
    Record<string, Fields | null> | null
  > // as the schema says
  const sections = new Map<string, ReadonlyMap<string, Fields>>()
  for (const [section, entries] of Object.entries(given)) {
    const fields = Object.entries(entries ?? {}).map(
      ([name, one]) => [name, normal(section, one ?? {}, project)] as const,
    )
    sections.set(section, new Map(fields))
  }
  const count = [...sections.values()].reduce((sum, { size }) => sum + size, 0)
  if (count > entriesMax)
    throw new UsageError(`${file} describes ${count} objects: ${entriesMax} at most. Make several files.`)
  refuse(
    file,
    [...sections].flatMap(([section, entries]) => [...entries].flatMap(([name, one]) => together(section, name, one))),
  )
  return { project, sections, codeAt: await findCode(file, sections) }
}

function refuse(file: string, problems: readonly string[]): void {
  if (problems.length === 0) return
  const more = problems.length - problemsMax
  const shown = problems.slice(0, problemsMax).map((one) => lineOf(one))
  const lines = more > 0 ? [...shown, `And ${more} more.`] : shown
  throw new UsageError(lines.length === 1 ? (lines[0] ?? '') : [`${file} is not right:`, ...lines].join('\n'))
}

/** The same fields in one form: with the project that the file says for all, and agents without a version by their names. */
function normal(section: string, fields: Fields, project: string | null): Fields {
  const { agent } = fields
  const isPlain = typeof agent === 'object' && agent !== null && (agent as Fields)['version'] == null // the schema says what it is
  return {
    ...(sectionOf(section).hasProject && project !== null ? { project } : {}),
    ...fields,
    ...(isPlain ? { agent: (agent as Fields)['name'] } : {}), // as above
  }
}

/** What is wrong with fields that do not go together, which a JSON Schema does not say well. */
function together(section: string, name: string, fields: Fields): string[] {
  const path = pathOf(section, name)
  const has = (field: string): boolean => fields[field] !== undefined && fields[field] !== null
  if (section === 'functions') {
    if (has('code') && has('buildId')) return [`${path}: give code or buildId, not both.`]
    const early = ['startCommand', 'port'].find((field) => has(field) && !has('code') && !has('buildId'))
    if (early !== undefined) return [`${path}.${early}: it belongs to what is deployed. Give code too, or buildId.`]
  }
  if (section === 'domains' && has('vm') && has('function')) return [`${path}: give vm or function, not both.`]
  return []
}

/** The code of functions: where it is, with its digest in place of the path. */
async function findCode(file: string, sections: Described['sections']): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  const folder = file === '-' ? '.' : dirname(file)
  for (const [name, fields] of sections.get('functions') ?? []) {
    if (typeof fields['code'] !== 'string') continue
    const path = resolve(folder, fields['code'])
    fields['code'] = await digestOf(path, pathOf(pathOf('functions', name), 'code'))
    found.set(name, path)
  }
  return found
}

/** The sections that there are. */
export function sectionNames(): string[] {
  return Object.keys(fileSchema.properties ?? {}).filter((name) => name !== 'project')
}
