/** The walks of docs/databases.md and docs/databases-roles.md, run as they are printed, on a whole `npm start` with the clients that people use. */
import { mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startInstallation, type Installation } from './support/installation.ts'
import { paste, shellBlocks } from './support/paste.ts'

const limitMs = 400_000
const page = 'docs/databases.md'
let berth: Installation
let folder: string
let token: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-walk-'))
  berth = await startInstallation({ BERTH_VM_POOL: '0' })
  token = await berth.token()
}, limitMs)
afterAll(async () => {
  await berth.stop()
  rmSync(folder, { recursive: true, force: true })
}, limitMs)

/** The block of SQL of the page, as a command for the shell. */
async function sqlBlock(): Promise<string> {
  const [, sql = ''] = /```sql\n([^]*?)```/.exec(await readFile(new URL(`../${page}`, import.meta.url), 'utf8')) ?? []
  return `psql "$ADDRESS" -v ON_ERROR_STOP=1 <<'SQL'\n${sql}SQL\n`
}

test(
  'the README’s database is there at once, and answers psql',
  async () => {
    const printed = await paste(
      shellBlocks('README.md', 'A database').map((block) => block.replace('psql', 'echo "$ADDRESS"; psql')),
      { url: berth.url, folder, env: { TOKEN: await berth.token('readers') } },
    )
    expect(printed.join('\n')).toMatch(/postgresql:.*PostgreSQL 17/s)
  },
  limitMs,
)

test(
  'a database is created, used, moved into a project, opened to clients, backed up, restored and deleted',
  async () => {
    const blocks = shellBlocks(page)
    const enable = blocks.findIndex((block) => block.includes('/client-access/enable'))
    const gone = blocks.findIndex((block) => block.includes('-X DELETE'))
    expect([enable, gone].every((at) => at > 0)).toBe(true)
    const count = 'psql "$ADDRESS" -Atc "select count(*) from orders"\n'
    const walk = [
      ...blocks.slice(0, enable),
      ...shellBlocks('docs/databases-roles.md'),
      await sqlBlock(),
      ...blocks.slice(enable, gone),
      count,
      ...blocks.slice(gone),
    ]
    const printed = await paste(
      walk.map((block) => block.replaceAll(/(:|port=)5432/g, `$1${berth.postgresPort}`)),
      { url: berth.url, folder, env: { TOKEN: token, PGPORT: String(berth.postgresPort) } },
    )
    const said = (part: string): string => printed[walk.findIndex((block) => block.includes(part))] ?? ''
    expect(said('create table orders')).toContain('INSERT 0 1')
    expect(said('create role reader')).toContain('ALTER DEFAULT PRIVILEGES')
    expect(said('user=reader.app_')).toMatch(/a hat\n\(1 row\)/)
    expect(said('create database app_test')).toMatch(/ app_test\n\(1 row\)\n\nDROP DATABASE/)
    expect(said('create extension vector')).toMatch(/Index Scan using passages_embedding_idx.*a hat, a cap/s)
    expect(said('create extension pg_stat_statements')).toMatch(
      /1 \| +[0-9.]+ \| insert into orders \(item\) values \(\$1\)/,
    )
    expect(JSON.parse(said('-X PATCH'))).toMatchObject({ name: 'shop', native_credential_generation: 2 })
    expect(said('create policy')).toContain('CREATE POLICY')
    expect(JSON.parse(said('/client-access/enable'))).toMatchObject({ client_mode_enabled: true, status: 'active' })
    expect(JSON.parse(said('?org_id='))).toEqual([expect.objectContaining({ name: 'shop', status: 'active' })])
    expect(JSON.parse(said('a scarf'))).toMatchObject({ command: 'INSERT', rowCount: 1 })
    expect(JSON.parse(said('select item, owner'))).toMatchObject({
      rows: [{ item: 'a scarf', owner: expect.stringMatching(/^usr_/) }],
    })
    expect(said('user=authenticated')).toMatch(/a scarf\n\(1 row\)/)
    expect(said(count).trim()).toBe('2')
    expect(JSON.parse(said('-X DELETE'))).toEqual({ message: 'Database deleted' })
  },
  limitMs,
)
