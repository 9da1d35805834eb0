/** Files made of what Berth has, which `berth apply` finds unchanged. */
import type { Berth } from '../../src/client/berth.ts'
import { exits, Failure } from '../errors.ts'
import { lineOf } from '../text.ts'
import { pathOf } from './json-schema.ts'
import { readRows } from './rows.ts'
import type { Fields, Section } from './section.ts'
import { sectionOf, sections, withReferences } from './sections.ts'
import { textAt, type Row } from './values.ts'
import { nameOf, referencesIn } from './world.ts'

/** A file, and what it could not say. */
export type Exported = { file: Fields; notes: string[] }

/** Describes these sections, of one project or of all. @throws Failure for no such project; BerthError. */
export async function exportFile(
  berth: Berth,
  names: readonly string[],
  project: string | undefined,
): Promise<Exported> {
  const all = Object.keys(sections)
  const wanted =
    names.length > 0 ? names : project === undefined ? all : all.filter((name) => sectionOf(name).hasProject)
  const rows = new Map<string, Row[]>()
  for (const name of withReferences([...wanted, ...(project === undefined ? [] : ['projects'])]))
    rows.set(name, await readRows(berth, sectionOf(name)))
  if (project !== undefined && !rows.get('projects')?.some((row) => row['name'] === project))
    throw new Failure(`There is no project '${lineOf(project)}'.`, exits.notFound)
  const notes: string[] = []
  const file: Fields = project === undefined ? {} : { project }
  for (const name of all) {
    if (!wanted.includes(name)) continue
    const entries = entriesOf(name, rows, project, notes)
    if (Object.keys(entries).length > 0) file[name] = entries
  }
  return { file, notes: [...new Set(notes)] }
}

function entriesOf(
  section: string,
  rows: ReadonlyMap<string, Row[]>,
  project: string | undefined,
  notes: string[],
): Fields {
  const spec = sectionOf(section)
  const chosen = (rows.get(section) ?? []).filter(
    (row) => project === undefined || !spec.hasProject || textAt(row, 'project', 'name') === project,
  )
  const counts = countOf(chosen.map((row) => nameOf(spec, row)))
  const entries = new Map<string, Fields>() // a name may be one of an object's own, such as __proto__
  for (const row of [...chosen].sort((one, other) => (nameOf(spec, one) < nameOf(spec, other) ? -1 : 1))) {
    const name = nameOf(spec, row)
    const problem = whyNot(spec, row, name, counts, rows)
    if (problem !== undefined)
      notes.push(`${lineOf(pathOf(section, name === '' ? row.id : name))} is left out: ${problem}.`)
    else entries.set(name, fieldsOf(section, row, project, notes))
  }
  return Object.fromEntries(entries)
}

function countOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** Why a file cannot have a row. */
function whyNot(
  spec: Section,
  row: Row,
  name: string,
  counts: ReadonlyMap<string, number>,
  rows: ReadonlyMap<string, Row[]>,
): string | undefined {
  if (name === '') return 'it has no name'
  if ((counts.get(name) ?? 0) > 1)
    return `${counts.get(name)} have this name${spec.isNamedInProject ? ': pass --project, or rename them' : ''}`
  if (spec.one === 'VM') return spec.staysBecause?.(row)
  const unnamed = referencesIn(
    spec.shown(row, (_section, id, own) => (typeof id === 'string' ? String(own) : null)),
  ).find(
    ({ section, name: named }) =>
      (rows.get(section) ?? []).filter((one) => nameOf(sectionOf(section), one) === named).length !== 1,
  )
  return unnamed && `its ${unnamed.field} is not the only one named ${lineOf(unnamed.name)}, or is gone`
}

function fieldsOf(section: string, row: Row, project: string | undefined, notes: string[]): Fields {
  const spec = sectionOf(section)
  const shown = spec.shown(row, (_section, id, own) => (typeof id === 'string' ? String(own) : null))
  if ('kickoff' in shown && shown['kickoff'] === undefined)
    notes.push(`${lineOf(pathOf(section, nameOf(spec, row)))}.kickoff is left out: it has images or files.`)
  const own = spec.isNamedInProject ? { project: textAt(row, 'project', 'name') } : {}
  const fields = Object.entries({ ...own, ...shown }).filter(
    ([field]) => !spec.unexported?.includes(field) && !(field === 'project' && project !== undefined),
  )
  return compact(Object.fromEntries(fields)) as Fields // fields stay fields
}

/** Without what says nothing: null, and what is empty. */
function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compact)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
    .map(([key, one]) => [key, key === 'inputSchema' || key === 'metadata' ? one : compact(one)] as const)
    .filter(([, one]) => !saysNothing(one))
  return Object.fromEntries(entries)
}

function saysNothing(value: unknown): boolean {
  if (value === null || value === undefined) return true
  return typeof value === 'object' && Object.keys(value).length === 0
}
