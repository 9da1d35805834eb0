/**
 * What a program on Node does with an address: `node node.ts <driver> <address>` connects with it as it stands, asks for 40 + 2
 * with a value of its own, and prints what it got.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { spawnSync } from 'node:child_process'

const [driver = '', address = ''] = process.argv.slice(2)
const require = createRequire(import.meta.url)

const drivers: Record<string, () => Promise<unknown>> = {
  async 'node-postgres'() {
    const { default: pg } = await import('pg')
    const client = new pg.Client(address)
    await client.connect()
    const { rows } = await client.query<{ sum: number }>('select 40 + $1::int as sum', [2])
    await client.end()
    return rows[0]?.sum
  },
  async 'postgres.js'() {
    const { default: postgres } = await import('postgres')
    const sql = postgres(address)
    const [row] = await sql<{ sum: number }[]>`select 40 + ${2}::int as sum`
    await sql.end()
    return row?.sum
  },
  async knex() {
    const { default: knex } = await import('knex')
    const db = knex({ client: 'pg', connection: address })
    const { rows } = await db.raw<{ rows: { sum: number }[] }>('select 40 + ?::int as sum', [2])
    await db.destroy()
    return rows[0]?.sum
  },
  async typeorm() {
    const { DataSource } = await import('typeorm')
    const source = await new DataSource({ type: 'postgres', url: address }).initialize()
    const [row] = await source.query<{ sum: number }[]>('select 40 + $1::int as sum', [2])
    await source.destroy()
    return row?.sum
  },
  async prisma() {
    const { PrismaPg } = await import('@prisma/adapter-pg')
    const adapter = await new PrismaPg({ connectionString: address }).connect()
    const { rows } = await adapter.queryRaw({
      sql: 'select 40 + $1::int as sum',
      args: [2],
      argTypes: [{ scalarType: 'int', arity: 'scalar' }],
    })
    await adapter.dispose()
    return rows[0]?.[0]
  },
  async 'drizzle-kit'() {
    const folder = mkdtempSync(join(tmpdir(), 'berth-drizzle-'))
    const config = join(folder, 'drizzle.config.json')
    writeFileSync(config, JSON.stringify({ dialect: 'postgresql', out: 'made', dbCredentials: { url: address } }))
    const program = join(dirname(require.resolve('drizzle-kit')), 'bin.cjs')
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'pull', `--config=${config}`], {
      cwd: folder,
      encoding: 'utf8',
    })
    rmSync(folder, { recursive: true, force: true })
    return status === 0 && stdout.includes('schema') ? 42 : `${stdout}${stderr}`
  },
}

console.log(String(await drivers[driver]?.()))
process.exit(0)
