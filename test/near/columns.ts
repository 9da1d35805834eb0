/**
 * The columns of the house: a noun's files on every floor have its name, such as `src/resources/infra/vms/states.ts`,
 * `schema/infra/vms.ts`, `rest-compat/infra/vms.ts`, `workers/infra/vms.ts` and `test/infra/vms.test.ts`. So the path of
 * a changed file says which tests look at what it can break.
 */
import { readFileSync } from 'node:fs'
import { readSources, root, type Source } from '../architecture/sources.ts'

/** Where the routes of an area are mounted: the names of contract tests have whole paths. The agents service has models too. */
export const mounts: Readonly<Record<string, readonly string[]>> = { agents: ['/agents'], llm: ['/llm', '/agents'] }

/** A noun, or a folder of a floor that has no nouns. */
export type Column = { area: string; name: string }

/** What a change asks for. */
export type NearTests = {
  columns: Column[]
  /** Parts of paths of test files, as vitest takes them. */
  files: string[]
  /** Operations of REST, mounted, and root fields of GraphQL whose rows of the contract tests are run; those of the columns. */
  operations: string[]
  /** Changed files for which no rule says what to run; without those that `test/architecture` looks at, which always runs. */
  unknown: string[]
}

const areas = /^(?:src\/resources|schema|rest-compat|workers|test)\/(infra|agents|llm|identity)\/([a-z-]+)/
/** Floors without nouns: their tests have the same path below `test`. */
const floors =
  /^(?:src\/)?(platform|drivers|edge|gateway|identity|start|backup|rest-compat|test\/[a-z]+)\b\/?(.*?)(?:\.test)?\.ts$/

/** Lists, migrations, and what is generated from them. */
const seenByArchitecture =
  /^(?:schema\/(?:schema\.graphql|schema\.ts|node-ids\.ts)|src\/platform\/(?:limits\.ts|tables\.sql|postgres\/tables\.ts|migrations\/.*))$/

/** Root fields that are no single noun's; the words stand in many files. */
const ofAllNouns: readonly string[] = ['node', 'nodes']

/** The column of a file; undefined if it belongs to none. */
export function columnOf(path: string): Column | undefined {
  const [, area, name] = areas.exec(path) ?? []
  return area && name ? { area, name } : undefined
}

/** The tests near these files, which are given by their paths from the root. */
export function nearTests(changed: readonly string[], tests: readonly string[]): NearTests {
  const columns = new Map<string, Column>()
  const files = new Set<string>()
  const unknown: string[] = []
  for (const path of changed) {
    const column = columnOf(path)
    if (column) columns.set(`${column.area}/${column.name}`, column)
    const ofFloor = column ? [] : testsOfFloor(path, tests)
    for (const file of ofFloor) files.add(file)
    const isKnown = column || ofFloor.length > 0 || path.endsWith('.md') || seenByArchitecture.test(path)
    if (!isKnown) unknown.push(path)
  }
  for (const column of columns.values()) for (const file of testsOfColumn(column, tests)) files.add(file)
  const operations = operationsOf([...columns.values()], readSources(['schema', 'rest-compat']), rootFields())
  return { columns: [...columns.values()], files: [...files].sort(), operations, unknown }
}

/** `vms` has `test/infra/vms.test.ts`, `test/infra/vms/…`, `test/infra/vms-….test.ts` and `test/infra/vm-….test.ts`. */
function testsOfColumn({ area, name }: Column, tests: readonly string[]): string[] {
  const base = `test/${area}/${name}`
  const begins = [`${base}.`, `${base}/`, `${base}-`, `test/${area}/${singularOf(name)}-`]
  return tests.filter((path) => begins.some((begin) => path.startsWith(begin)))
}

/** The test of that name, or those of the nearest folder that has any. */
function testsOfFloor(path: string, tests: readonly string[]): string[] {
  if (tests.includes(path)) return [path]
  const [, floor, rest = ''] = floors.exec(path) ?? []
  if (!floor) return []
  const parts = rest.split('/').filter((part) => part !== '')
  for (let count = parts.length; count > 0; count--) {
    const base = ['test', floor.replace(/^test\//, ''), ...parts.slice(0, count)].join('/')
    const found = tests.filter((test) => test.startsWith(`${base}.`) || test.startsWith(`${base}/`))
    if (found.length > 0) return found
  }
  return []
}

/** The routes that these columns' own files serve, as keys or as the path of the usual ones, and the root fields that they define. */
export function operationsOf(
  columns: readonly Column[],
  sources: readonly Source[],
  roots: ReadonlySet<string>,
): string[] {
  const own = sources.filter(({ path }) => {
    const column = columnOf(path)
    return columns.some(({ area, name }) => column?.area === area && column.name === name)
  })
  const found = own.flatMap(({ path: file, text }) => {
    const keys = [...text.matchAll(/'((?:GET|POST|PUT|PATCH|DELETE) \/[^']*)'|^ {2}path: '(\/[^']*)'/gm)]
    const whole = (mount: string): string[] =>
      keys.map(([, key, path = '']) => key?.replace(' ', ` ${mount}`) ?? mount + path)
    const names = [...text.matchAll(/'(\w+)'|^ {2}(\w+): /gm)].map(([, name, field]) => name ?? field ?? '')
    const ofNouns = [...text.matchAll(/\b(?:nounOf|queryOf|listOf)(?:<[^>]*>)?\(\s*'(\w)(\w+)'/g)].flatMap(
      ([, head = '', tail = '']) => [head.toLowerCase() + tail, `${head.toLowerCase()}${tail}s`],
    )
    return [
      ...(mounts[columnOf(file)?.area ?? ''] ?? ['']).flatMap(whole),
      ...[...names, ...ofNouns].filter((name) => roots.has(name) && !ofAllNouns.includes(name)),
    ]
  })
  return [...new Set(found)].sort()
}

/** A whole name of an operation, wherever it stands in the name of a test. */
export function patternOf(operations: readonly string[]): string {
  const escaped = operations.map((one) => one.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return `(?:^|[ :])(?:${escaped.join('|')})(?:$|[ ,:/])`
}

/** The fields of Query, Mutation and Subscription. */
export function rootFields(): Set<string> {
  const types = readFileSync(`${root}/schema/schema.graphql`, 'utf8').matchAll(
    /^type (?:Query|Mutation|Subscription) \{\n([^]*?)\n\}/gm,
  )
  return new Set(
    [...types].flatMap(([, fields = '']) => [...fields.matchAll(/^ {2}(\w+)[(:]/gm)].map(([, name = '']) => name)),
  )
}

function singularOf(name: string): string {
  return name.replace(/ies$/, 'y').replace(/s$/, '')
}
