/** What a file is about in an organization: its own entries, and the rows that they are or name. */
import type { Berth } from '../../src/client/berth.ts'
import type { Described } from './reading.ts'
import { readRows } from './rows.ts'
import type { Fields, Section } from './section.ts'
import { sectionOf, withReferences } from './sections.ts'
import { textAt, type Row } from './values.ts'

/** What a name leads to: a row, an entry of the file that is to be made, or nothing for this reason. */
export type Named = { row: Row } | { isNew: true } | { problem: 'none' | 'several'; ids: string[] }

/** The rows of a file's sections, and of those that these name. */
export class World {
  readonly #described: Described
  readonly #rows: ReadonlyMap<string, Row[]>

  constructor(described: Described, rows: ReadonlyMap<string, Row[]>) {
    this.#described = described
    this.#rows = rows
  }

  rowsOf(section: string): readonly Row[] {
    return this.#rows.get(section) ?? []
  }

  /** The names that a section has, here or there. */
  namesOf(section: string): string[] {
    const own = [...(this.#described.sections.get(section)?.keys() ?? [])]
    return [...new Set([...own, ...this.rowsOf(section).map((row) => nameOf(sectionOf(section), row))])]
  }

  /** The rows that an entry of the file is: one, none when it is new, or several of one name. */
  rowsOfEntry(section: string, name: string, fields: Fields): Row[] {
    const spec = sectionOf(section)
    return this.rowsOf(section).filter(
      (row) =>
        nameOf(spec, row) === name &&
        (!spec.isNamedInProject || (textAt(row, 'project', 'name') ?? null) === (fields['project'] ?? null)),
    )
  }

  /** What a name in the file leads to: an entry of the file before others. */
  find(section: string, name: string): Named {
    const entry = this.#described.sections.get(section)?.get(name)
    const isProject = section === 'projects' && name === this.#described.project
    const rows = entry
      ? this.rowsOfEntry(section, name, entry)
      : this.rowsOf(section).filter((row) => nameOf(sectionOf(section), row) === name)
    const [row] = rows
    if (rows.length > 1) return { problem: 'several', ids: rows.map(({ id }) => id) }
    if (row) return { row }
    return entry || isProject ? { isNew: true } : { problem: 'none', ids: [] }
  }

  /** The name of a row as the file would have it; with its id where the name leads to something else. */
  readonly shownName = (section: string, id: unknown, name: unknown): string | null => {
    if (typeof id !== 'string') return null
    const found = this.find(section, String(name))
    return 'row' in found && found.row.id === id ? String(name) : `${String(name)} (${id})`
  }
}

/** The name of a row. Schedules and triggers may have none. */
export function nameOf(section: Section, row: Row): string {
  return textAt(row, section.nameIn) ?? ''
}

/** Reads all that a file is about. @throws Failure when there is too much; BerthError. */
export async function readWorld(berth: Berth, described: Described): Promise<World> {
  const rows = new Map<string, Row[]>()
  for (const name of withReferences([
    ...described.sections.keys(),
    ...(described.project === null ? [] : ['projects']),
  ]))
    rows.set(name, await readRows(berth, sectionOf(name)))
  return new World(described, rows)
}

/** What fields name in other sections: where in the entry, in which section, and which name. */
export function referencesIn(fields: Fields): { field: string; section: string; name: string }[] {
  const found: { field: string; section: string; name: string }[] = []
  const add = (field: string, section: string, name: unknown): void => {
    if (typeof name === 'string') found.push({ field, section, name })
  }
  const { agent, vm, vaults } = fields
  add('project', 'projects', fields['project'])
  add('function', 'functions', fields['function'])
  add('deployment', 'deployments', fields['deployment'])
  add('environment', 'environments', fields['environment'])
  if (typeof vm === 'string') add('vm', 'vms', vm.slice(0, vm.lastIndexOf(':')))
  if (typeof agent === 'object' && agent !== null) add('agent.name', 'agents', (agent as { name?: unknown }).name)
  else add('agent', 'agents', agent)
  if (Array.isArray(vaults)) vaults.forEach((name, at) => add(`vaults[${at}]`, 'vaults', name))
  return found
}
