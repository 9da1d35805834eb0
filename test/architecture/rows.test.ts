/** Rows know their tables: the types of what queries answer are made from the schema that the migrations make. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { productFolders, readSources, root } from './sources.ts'

const tablesFile = 'src/platform/postgres/tables.ts'

/** The compiler's findings in the folders that read rows, as `path:line`, were each column of each table renamed. */
let found: Set<string>
let copy: string
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'berth-rows-'))
  for (const folder of ['src', 'schema', 'rest-compat', 'workers'])
    cpSync(`${root}/${folder}`, `${copy}/${folder}`, { recursive: true })
  cpSync(`${root}/package.json`, `${copy}/package.json`)
  symlinkSync(`${root}/node_modules`, `${copy}/node_modules`)
  const settings = JSON.parse(readFileSync(`${root}/tsconfig.json`, 'utf8')) as Record<string, unknown>
  writeFileSync(`${copy}/tsconfig.json`, JSON.stringify({ ...settings, include: ['src/resources', 'workers'] }))
  const tables = readFileSync(`${copy}/${tablesFile}`, 'utf8')
  writeFileSync(`${copy}/${tablesFile}`, tables.replaceAll(/\b(\w+): (?=\w)/g, '$1Renamed: '))
  found = new Set(findingsOf(copy))
}, 120_000)
afterAll(() => rmSync(copy, { recursive: true, force: true }))

test('a column that is renamed is a type error at every type of a row that has it', () => {
  const sources = readSources(productFolders).filter(({ path }) => path !== 'src/platform/postgres/rows.ts')
  const types = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/(?:Pick<\s*)?\bRow<\s*'(\w+)'/g)].map((match) => ({
      place: `${path}: ${match[1]}`,
      path,
      first: lineOf(text, match.index),
      last: lineOf(text, endOfType(text, match.index)),
    })),
  )
  expect(types.length).toBeGreaterThan(60)
  const unnoticed = types.filter(({ path, first, last }) => {
    for (let line = first; line <= last; line++) if (found.has(`${path}:${line}`)) return false
    return true
  })
  expect(unnoticed.map(({ place }) => place)).toEqual([])
})

/** Nouns, the file that holds their rows, and their table. */
const nouns = [
  ['agents/rows.ts', 'agents'],
  ['builds/rows.ts', 'build_jobs'],
  ['credentials/rows.ts', 'vault_credentials'],
  ['backup-schedules/rows.ts', 'backup_schedules'],
  ['database-backups/rows.ts', 'database_backups'],
  ['database-restores/rows.ts', 'database_restores'],
  ['databases/rows.ts', 'databases'],
  ['environments/rows.ts', 'environments'],
  ['memories/rows.ts', 'memories'],
  ['sessions/rows.ts', 'sessions'],
  ['sessions/rows.ts', 'session_events'],
  ['vaults/rows.ts', 'vaults'],
  ['vms/rows.ts', 'vms'],
  ['identity/api-keys.ts', 'api_keys'],
  ['identity/members.ts', 'memberships'],
  ['infra/folders.ts', 'folders'],
  ['infra/nodes.ts', 'nodes'],
  ['infra/projects.ts', 'projects'],
  ['infra/templates.ts', 'templates'],
  ['infra/usage.ts', 'usage_sessions'],
  ['vms/process-records.ts', 'vm_processes'],
] as const
test.each(nouns)('the rows of %s are made from the table %s', (file, table) => {
  const holding = readSources(['src/resources']).filter(({ path }) => path.endsWith(`/${file}`))
  expect(holding).toHaveLength(1)
  expect(holding[0]?.text).toMatch(new RegExp(`\\bRow<\\s*'${table}'`))
})

/** What the compiler says of a tree, as `path:line`. */
function findingsOf(folder: string): string[] {
  try {
    execFileSync(process.execPath, [`${root}/node_modules/typescript/bin/tsc`, '--noEmit', '--pretty', 'false'], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    })
    return []
  } catch (error) {
    const said = error instanceof Error && 'stdout' in error ? String(error.stdout) : ''
    return [...said.matchAll(/^(\S+?)\((\d+),\d+\): error/gm)].map(([, path, line]) => `${path}:${line}`)
  }
}

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}

/** Where the type that begins here ends: after as many `>` as it opened. */
function endOfType(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    if (text[at] === '<') depth++
    else if (text[at] === '>' && --depth === 0) return at
  }
  return text.length
}
