/** The plan: what must be made, changed and deleted so that Berth has what a file describes. */
import { isDeepStrictEqual } from 'node:util'
import type { Berth } from '../../src/client/berth.ts'
import { exits, Failure, UsageError } from '../errors.ts'
import { lineOf } from '../text.ts'
import { differencesOf, isSame, patchOf, type Difference } from './comparing.ts'
import { pathOf } from './json-schema.ts'
import { didYouMean } from './nearest.ts'
import type { Described } from './reading.ts'
import { textAt, type Row } from './values.ts'
import type { Fields, Section } from './section.ts'
import { sectionOf, sections } from './sections.ts'
import { nameOf, referencesIn, type World } from './world.ts'

/** A step: one object that is made, changed or deleted. */
export type Step = {
  section: string
  name: string
  /** What is different; of new ones, what the file says. */
  differences: Difference[]
} & (
  | { action: 'create'; fields: Fields }
  | { action: 'change'; row: Row; fields: Fields; all: Fields }
  | { action: 'delete'; row: Row }
)

/** A plan: steps in the order in which they are done, how many entries are as they are, and what stays although unnamed. */
export type Plan = { steps: Step[]; unchanged: number; notes: string[] }

/** Which rows are deleted that the file does not name: of the file's project, or of all of its sections. */
export type Pruning = 'none' | 'project' | 'all'

/**
 * Makes the plan. Nothing is changed by it.
 * @throws UsageError for names that lead nowhere; Failure for what cannot be changed.
 */
export async function makePlan(berth: Berth, described: Described, world: World, pruning: Pruning): Promise<Plan> {
  refuse(problemsOfNames(described, world), UsageError)
  const steps: Step[] = []
  const refused: string[] = []
  let unchanged = 0
  const { project } = described
  if (
    project !== null &&
    !described.sections.get('projects')?.has(project) &&
    'isNew' in world.find('projects', project)
  )
    steps.push({ action: 'create', section: 'projects', name: project, fields: {}, differences: [] })
  for (const section of Object.keys(sections))
    for (const [name, fields] of described.sections.get(section) ?? []) {
      const [row] = world.rowsOfEntry(section, name, fields)
      if (!row) {
        steps.push({
          action: 'create',
          section,
          name,
          fields: given(fields),
          differences: newFields(section, name, fields),
        })
        continue
      }
      const step = await changeOf(berth, world, { section, name, fields, row })
      refused.push(...step.refused)
      if (step.differences.length === 0) unchanged++
      else
        steps.push({
          action: 'change',
          section,
          name,
          row,
          fields: step.fields,
          all: fields,
          differences: step.differences,
        })
    }
  if (refused.length > 0) throw new Failure(refused.map((one) => lineOf(one)).join('\n'), exits.conflict)
  const { deletes, notes } = pruned(described, world, pruning)
  return { steps: [...steps, ...deletes], unchanged, notes }
}

/** Whether two plans do the same, to the same rows. */
export function isSamePlan(one: Plan, other: Plan): boolean {
  const work = ({ steps }: Plan): unknown[] =>
    steps.map(({ row, action, section, name, differences }: Step & { row?: Row }) => [
      row?.id,
      action,
      section,
      name,
      differences,
    ])
  return isDeepStrictEqual(work(one), work(other))
}

function refuse(problems: readonly string[], kind: new (message: string) => Error): void {
  if (problems.length > 0) throw new kind(problems.map((one) => lineOf(one)).join('\n'))
}

/** Names that several rows have, and names that nothing has. */
function problemsOfNames(described: Described, world: World): string[] {
  const problems: string[] = []
  for (const [section, entries] of described.sections)
    for (const [name, fields] of entries) {
      const path = pathOf(section, name)
      const rows = world.rowsOfEntry(section, name, fields)
      if (rows.length > 1)
        problems.push(
          severalSentence(
            path,
            section,
            rows.map(({ id }) => id),
          ),
        )
      for (const { field, section: other, name: named } of referencesIn(fields)) {
        const found = world.find(other, named)
        if (!('problem' in found)) continue
        const { one } = sectionOf(other)
        const meant = didYouMean(named, world.namesOf(other))
        if (found.problem === 'several') problems.push(severalSentence(`${path}.${field}`, other, found.ids))
        else
          problems.push(
            `${path}.${field}: there is no ${one} ${JSON.stringify(named)}, neither in the file nor in the organization.${meant}`,
          )
      }
    }
  return [...new Set(problems)]
}

function severalSentence(path: string, section: string, ids: readonly string[]): string {
  const shown = ids.length > 5 ? `${ids.slice(0, 5).join(', ')} and others` : ids.join(', ')
  return `${path}: ${ids.length} ${section} have this name: ${shown}. Delete all but one, or give them other names.`
}

/** Fields without those that say nothing of a new one. */
function given(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))
}

function newFields(section: string, name: string, fields: Fields): Difference[] {
  const { hidden = [] } = sectionOf(section)
  return Object.entries(given(fields)).map(([field, to]) => ({
    path: pathOf(pathOf(section, name), field),
    from: null,
    to,
    ...(hidden.includes(field) ? { isHidden: true as const } : {}),
  }))
}

type Entry = { section: string; name: string; fields: Fields; row: Row }

/** What must change in a row: the fields to send, what is different, and what cannot be changed. */
async function changeOf(
  berth: Berth,
  world: World,
  { section, name, fields, row }: Entry,
): Promise<{ fields: Fields; differences: Difference[]; refused: string[] }> {
  const spec = sectionOf(section)
  const current = { ...spec.shown(row, world.shownName), ...(await lateFields(berth, spec, fields, row)) }
  const changes: Fields = {}
  const differences: Difference[] = []
  const refused: string[] = []
  for (const [field, wanted] of Object.entries(fields)) {
    if (spec.onlyNew?.includes(field) || (spec.isNamedInProject && field === 'project')) continue
    if (spec.isSame?.(field, wanted, row) ?? isSame(field, wanted, current[field])) continue
    const path = pathOf(pathOf(section, name), field)
    const problem = unchangeable(spec, field, wanted, current[field], row)
    if (problem !== undefined)
      refused.push(
        `${path}: it is ${JSON.stringify(current[field] ?? null)}, not ${JSON.stringify(wanted)}. ${problem}`,
      )
    changes[field] = spec.patched?.includes(field) ? patchOf(wanted, current[field]) : wanted
    const isHidden = spec.hidden?.includes(field) ? { isHidden: true as const } : {}
    differences.push(...differencesOf(path, field, wanted, current[field]).map((one) => ({ ...one, ...isHidden })))
  }
  return { fields: changes, differences, refused }
}

function unchangeable(spec: Section, field: string, wanted: unknown, current: unknown, row: Row): string | undefined {
  if (spec.fixed?.[field] !== undefined) return spec.fixed[field]
  if (spec.grows?.includes(field) && typeof wanted === 'number' && wanted < Number(current))
    return 'A disk only grows: give what it has, or more.'
  if (spec.one === 'domain' && field === 'path' && !textAt(row, 'vm', 'id') && !textAt(row, 'function', 'id'))
    return 'Only a domain that leads somewhere gets another path: give vm or function.'
  return undefined
}

/** What is read only because the file names it. */
async function lateFields(berth: Berth, spec: Section, fields: Fields, { id }: Row): Promise<Fields> {
  const found: Fields = {}
  for (const [field, { select, shown }] of Object.entries(spec.late ?? {})) {
    if (!(field in fields)) continue
    const answer = await berth.query(`query Described($id: ID!) { one: ${select} }`, { id })
    found[field] = shown(answer['one'] as Row) // as the query says
  }
  return found
}

/** What is deleted: rows in the file's sections that it does not name. Sections that the file has not are left alone. */
function pruned(described: Described, world: World, pruning: Pruning): { deletes: Step[]; notes: string[] } {
  const deletes: Step[] = []
  const notes: string[] = []
  if (pruning === 'none') return { deletes, notes }
  for (const section of Object.keys(sections).reverse()) {
    const entries = described.sections.get(section)
    const spec = sectionOf(section)
    if (!entries || (pruning === 'project' && !spec.hasProject)) continue
    const named = new Set(
      [...entries].flatMap(([name, fields]) => world.rowsOfEntry(section, name, fields).map(({ id }) => id)),
    )
    for (const row of world.rowsOf(section)) {
      if (
        named.has(row.id) ||
        isOutside(spec, row, described) ||
        (section === 'projects' && row['name'] === described.project)
      )
        continue
      const name = nameOf(spec, row)
      const reason = name === '' ? 'it has no name, so no file describes it' : spec.staysBecause?.(row)
      if (reason === undefined) deletes.push({ action: 'delete', section, name, row, differences: [] })
      else notes.push(`${pathOf(section, name || row.id)} stays: ${reason}.`)
    }
  }
  return { deletes, notes }
}

/** Whether it is in another project than the file's; where the file has none, in any. */
function isOutside(spec: Section, row: Row, { project }: Described): boolean {
  return spec.hasProject === true && (textAt(row, 'project', 'name') ?? null) !== project
}
