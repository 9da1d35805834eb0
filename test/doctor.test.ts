import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCommand } from './support/command.ts'
import { freePort } from './support/ports.ts'
import { createDatabase, type TestDatabase } from './support/postgres.ts'

let folder: string
let database: TestDatabase
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-doctor-'))
  chmodSync(folder, 0o711)
  database = await createDatabase()
})
afterAll(async () => {
  await database?.drop()
  rmSync(folder, { recursive: true, force: true })
})

async function doctor(variables: Record<string, string> = {}): Promise<{ code: number | null; text: string }> {
  const command = startCommand(['src/doctor.ts'], { PORT: String(await freePort()), BERTH_DATA_DIR: join(folder, 'data'), DATABASE_URL: database.url, ...variables })
  const code = await command.ended
  return { code, text: command.lines.join('\n') }
}

test('the doctor finds a database at its newest migration, and never shows its password', async () => {
  const { text } = await doctor()
  expect(text).toMatch(/^✓ Node 26/m)
  expect(text).toMatch(/^✓ Postgres 15\.\d+, the one of DATABASE_URL$/m)
  expect(text).toMatch(/^✓ migrations$/m)
  expect(text).toMatch(/^✓ port \d+ of 127\.0\.0\.1 is free$/m)
  expect(text).not.toContain(/:([^:@/]+)@/.exec(database.url)![1]!)
})

test('a database that does not answer is a failure with a remedy, again without the password', async () => {
  const { code, text } = await doctor({ DATABASE_URL: 'postgres://alice:hunter2@127.0.0.1:1/berth' })
  expect(code).toBe(1)
  expect(text).toMatch(/^✗ Postgres, the one of DATABASE_URL: does not answer \(.*ECONNREFUSED.*\)\n {4}Start it, or correct DATABASE_URL\.$/m)
  expect(text).not.toContain('hunter2')
})

test('wrong settings are named, and are a failure', async () => {
  const { code, text } = await doctor({ PORT: 'x', BERTH_VM_POOL: 'y' })
  expect(code).toBe(1)
  expect(text).toMatch(/^✗ settings: PORT must be .*\n✗ settings: BERTH_VM_POOL must be .*\n2 things need your attention\.$/m)
})
