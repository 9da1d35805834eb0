/** The named limits, of nouns and of the platform, by area, as documents: read from their source, where each is commented, and from their values. */
import { readFileSync } from 'node:fs'
import { productFolders, readSources, root } from '../sources.ts'

/** Titles of areas that are not named after the file's noun. */
const titles: Readonly<Record<string, string>> = {
  'src/edge/http/limits.ts': 'Ingress',
  'src/resources/agents/files/limits.ts': 'Agent files',
  'src/resources/agents/sessions/resources/limits.ts': 'Session resources',
  'src/resources/infra/databases/limits.ts': 'Database roles',
  'src/resources/infra/databases/tables/limits.ts': 'Tables of databases',
  'src/resources/infra/vms/limits.ts': 'Idle vms',
}
const mebibyte = 1024 * 1024

/** A limit as it stands in the code: a key of an object with a number or a list of numbers. */
type Limit = { name: string; value: number | readonly number[]; what: string }
/** The limits below one heading. */
type Area = { title: string; limits: Limit[] }

/** The pages, by the name of their file, each with its title and its areas. */
const pages: Readonly<Record<string, { title: string; areas: readonly string[] }>> = {
  requests: {
    title: 'requests and streams',
    areas: [
      'Bodies',
      'Lists',
      'GraphQL',
      'Pages',
      'Requests a minute',
      'Answers',
      'Streams',
      'Organization events',
      'Browser sessions',
      'Authorizations',
      'Invitations',
      'Audit events',
      'Signed requests',
      'Webhooks',
      'Rooms',
    ],
  },
  vms: {
    title: 'VMs, functions and builds',
    areas: [
      'VMs',
      'Idle vms',
      'Vm looks',
      'Terminals',
      'Tunnels',
      'Files',
      'Functions',
      'Builds',
      'Uploads',
      'Code host',
      'Pushes',
    ],
  },
  databases: {
    title: 'databases',
    areas: [
      'Projects and databases',
      "Connections of a VM's programs to the databases of its project",
      'Backups of databases',
      'Database roles',
      'The wire proxy of databases',
      'POST /sql',
      'Tables of databases',
    ],
  },
  edge: {
    title: 'the ingress and domains',
    areas: ['Ingress', 'Small pieces', 'Proxies', 'Domains', 'Certificates', 'Connections to a VM through its node'],
  },
  agents: {
    title: 'agents and sessions',
    areas: [
      'Agents service',
      'Sessions',
      'Session resources',
      'Vaults',
      'Connectors',
      'Agent files',
      'Skills',
      'Memories',
      'Groups',
      'Peers',
      'Tasks',
    ],
  },
  automation: { title: 'what starts by itself', areas: ['Deployments', 'Schedules', 'Triggers', 'Starts'] },
  gateway: { title: 'the inference gateway', areas: ['Chats', 'Messages', 'Responses', 'Embeddings'] },
}

/** The names of the pages. */
export const limitPages = Object.keys(pages)

/** Every area that the source has and no page, and every one that only a page has. */
export async function misplacedAreas(): Promise<string[]> {
  const there = (await allAreas()).map(({ title }) => title)
  const placed = Object.values(pages).flatMap(({ areas }) => areas)
  return [...there.filter((title) => !placed.includes(title)), ...placed.filter((title) => !there.includes(title))]
}

/** The text of a page. */
export async function describeLimits(name: string): Promise<string> {
  const { title, areas } = pages[name] ?? { title: '', areas: [] }
  const all = await allAreas()
  const sections = areas.flatMap((wanted) => all.filter(({ title }) => title === wanted)).map(section)
  return `# Limits of ${title}

Written by \`npm run sizes\` from the code. What limits mean for you is in [limits](../limits.md); what a whole organization may store is in
[the table of rooms](../limits-columns.md), and settings that move a limit are in [operating](../operating.md#settings).

${sections.join('\n')}`
}

function section({ title, limits }: Area): string {
  return `## ${title}\n\n| limit | value | what |\n|---|---|---|\n${limits.map(row).join('')}`
}

async function allAreas(): Promise<Area[]> {
  const files = readSources(productFolders)
    .map(({ path }) => path)
    .filter((path) => path.endsWith('/limits.ts') || path.startsWith('src/platform/limits/'))
  return (await Promise.all(files.map(areasOf))).flat()
}

function row({ name, value, what }: Limit): string {
  const values = [value].flat().map((each) => withUnit(name, each))
  const note = what.replaceAll('|', '\\|').replace(/^characters[,;]? ?/, '')
  return `| \`${name}\` | ${values.join(', ')} | ${note} |\n`
}

/** The areas of a file: it is one, but where its comments divide it. */
async function areasOf(file: string): Promise<Area[]> {
  const exported = (await import(`${root}/${file}`)) as Readonly<Record<string, unknown>>
  const lines = readFileSync(`${root}/${file}`, 'utf8').split('\n')
  const ofFile = titles[file] ?? titleOf(/\/([\w-]+)(?:\/limits)?\.ts$/.exec(file)?.[1] ?? '')
  const isWhole = file === 'src/platform/limits.ts'
  const areas: Area[] = []
  let values: Readonly<Record<string, unknown>> = {}
  let area: Area = { title: ofFile, limits: [] }
  const open = (title: string) => areas.push((area = { title, limits: [] }))
  if (!isWhole) open(ofFile)
  for (const line of lines) {
    const begun = /^export const (\w+)(?:: [^=]+)? = \{/.exec(line)?.[1]
    if (begun) values = exported[begun] as typeof values // it is an object
    const heading = /^ {2}\/\/ (.+?)[.:]?$/.exec(line)?.[1]
    if (heading && isWhole) open(heading.replace(/[,:.] .*$/, ''))
    const [, name = '', , what = ''] = /^ {2}(\w+): ([^/]+),(?: \/\/ (.*))?$/.exec(line) ?? []
    const value = values[name]
    if (typeof value === 'number' || isNumbers(value)) area.limits.push({ name, value, what })
  }
  return areas.filter(({ limits }) => limits.length > 0)
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'number')
}

function titleOf(words: string): string {
  return (words.charAt(0).toUpperCase() + words.slice(1)).replaceAll('-', ' ')
}

/** A value with the unit that the limit's name has. */
function withUnit(name: string, value: number): string {
  const whole = Number(value.toFixed(3)).toLocaleString('en')
  if (/bytes/i.test(name)) return bytes(value) + (/bytesPerSecond/i.test(name) ? '/s' : '')
  const [, unit] = /(Seconds|Ms|Minutes|Hours|Days|Mb)(?:First|Max|Min|Default)?$/.exec(name) ?? []
  const units: Readonly<Record<string, string>> = {
    Seconds: 's',
    Ms: 'ms',
    Minutes: 'min',
    Hours: 'h',
    Days: 'days',
    Mb: 'MiB',
  }
  if (unit) return `${whole} ${units[unit]}`
  return /Length/.test(name) ? `${whole} characters` : whole
}

function bytes(value: number): string {
  const units = [
    [1024 * mebibyte, 'GiB'],
    [mebibyte, 'MiB'],
    [1024, 'KiB'],
  ] as const
  const [size, unit] = units.find(([least]) => value >= least && value % (least / 1024) === 0) ?? [1, 'bytes']
  return `${Number((value / size).toFixed(2)).toLocaleString('en')} ${unit}`
}
