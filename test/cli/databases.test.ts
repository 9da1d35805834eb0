/** Dumps of databases, and psql, on the command line: backups of fake servers, and statements in a real Postgres. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { openDatabasesWorld, type DatabasesWorld } from '../edge/databases-world.ts'
import { startBackupWorld, type BackupWorld } from '../infra/database-backups/backup-world.ts'
import { makePerson, type Person } from './command.ts'

/** Many processes, one after another. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

/** A program of this name in a folder of its own, which says what it was given. */
function program(person: Person, name: string, script: string): string {
  const folder = join(person.home, 'programs')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return folder
}

describe('dump of a backup', () => {
  let world: BackupWorld
  let person: Person
  let id: string
  beforeAll(async () => {
    world = await startBackupWorld()
    ;({ id } = await world.database())
    person = makePerson({ BERTH_URL: world.berth.url, BERTH_TOKEN: world.token })
  })
  afterAll(async () => {
    person.leave()
    await world.stop()
  })
  const content = () => Buffer.from(world.contentOf(world.files().stored.at(-1) ?? ''), 'latin1')

  test('makes one, waits for it, and has its file for its owner only', async () => {
    const file = join(person.home, 'shop.dump')
    const { exit, out, err } = await person.run(['db', 'dump', id, '-f', file])
    expect({ exit, out }, err).toEqual({ exit: 0, out: '' })
    expect(err).toMatch(/Making backup bkp_\w+\.\n.*shop\.dump .* of backup bkp_\w+\n$/)
    expect(readFileSync(file).equals(content())).toBe(true)
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  test('takes one that is there, in a pipe, and none of another database', async () => {
    const made = await world.backUp(id)
    await world.whenBackup(id, made.id, 'completed')
    const { exit, out, err } = await person.run(['db', 'dump', id, '--backup', made.id])
    expect(exit, err).toBe(0)
    expect(out).toBe(content().toString())
    const other = await world.database()
    const wrong = await person.run(['db', 'dump', other.id, '--backup', made.id])
    expect(wrong).toMatchObject({ exit: 2, err: expect.stringContaining('another database') as string })
    expect((await person.run(['db', 'dump', id, '--format', 'tar'])).exit).toBe(2)
  })

  test('is refused to whoever may not restore it, and leaves no file', async () => {
    const made = await world.backUp(id)
    await world.whenBackup(id, made.id, 'completed')
    const member = await world.berth.token('martha', 'acme', 'member')
    const file = join(person.home, 'none.dump')
    const refused = await person.run(['db', 'dump', id, '--backup', made.id, '-f', file], '', { BERTH_TOKEN: member })
    expect(refused).toMatchObject({ exit: 1, err: expect.stringContaining('admin') as string })
    expect(existsSync(file)).toBe(false)
  })
})

describe('with the password', () => {
  let world: DatabasesWorld
  let person: Person
  let id: string
  beforeAll(async () => {
    world = await openDatabasesWorld({ BERTH_RATE_LIMIT_FACTOR: '100' })
    id = encodeId('database', world.known.row.id)
    person = makePerson({ BERTH_URL: world.berth.url, BERTH_TOKEN: await world.berth.token('alice', 'acme') })
  })
  afterAll(async () => {
    person.leave()
    await world.close()
  })
  const password = { PGPASSWORD: 'hunter2' }
  const said = (version: number, then: string): string =>
    `[ "$1" = --version ] && { echo "pg (PostgreSQL) ${version}.1"; exit 0; }\n${then}`
  const path = (folder: string): { PATH: string } => ({ PATH: [folder, '/usr/bin', '/bin'].join(delimiter) })

  test('dump is that of pg_dump here, which gets the password as a variable and never as a word', async () => {
    const folder = program(person, 'pg_dump', said(99, 'echo "$@"; echo "$PGPASSWORD" > "$HOME/seen"'))
    const file = join(person.home, 'shop.sql')
    const words = ['db', 'dump', id, '-f', file, '--format', 'plain']
    const { exit, err } = await person.run(words, '', { ...password, ...path(folder) })
    expect(exit, err).toBe(0)
    const argv = readFileSync(file, 'utf8')
    expect(argv).toContain(`--dbname postgresql://${world.known.row.pgUser}@`)
    expect(argv).toContain('--no-password --format=plain')
    expect(argv).not.toContain('hunter2')
    expect(readFileSync(join(person.home, 'seen'), 'utf8')).toBe('hunter2\n')
  })

  test('a pg_dump that is older than the server, fails, or is not there, says what to do, and leaves no file', async () => {
    const file = join(person.home, 'none.sql')
    const words = ['db', 'dump', id, '-f', file]
    const old = path(program(person, 'pg_dump', said(9, 'echo old')))
    expect(await person.run(words, '', { ...password, ...old })).toMatchObject({
      exit: 1,
      err: expect.stringMatching(
        /pg_dump here is of Postgres 9, and the server 15\. Install .*postgresql-client-15/,
      ) as string,
    })
    const failing = path(program(person, 'pg_dump', said(99, 'echo half; echo broken >&2; exit 3')))
    const failed = await person.run(words, '', { ...password, ...failing })
    expect(failed).toMatchObject({ exit: 1, err: expect.stringContaining('pg_dump failed') as string })
    const without = await person.run(words, '', { ...password, PATH: join(person.home, 'nothing') })
    expect(without).toMatchObject({ exit: 1, err: expect.stringContaining('There is no pg_dump here') as string })
    expect(existsSync(file)).toBe(false)
    expect(existsSync(`${file}.berth-part`)).toBe(false)
  })

  test('psql is the one here, with its words and its exit code; without the password, statements run', async () => {
    const folder = program(person, 'psql', said(15, 'echo "$@"; exit 3'))
    const ran = await person.run(['db', 'psql', id, '--', '-c', '\\dt'], '', { ...password, ...path(folder) })
    expect(ran.exit).toBe(3)
    expect(ran.out).toMatch(/^--dbname postgresql:\/\/\S+ -c \\dt\n$/)
    expect(ran.out).not.toContain('hunter2')
    const builtIn = await person.run(['db', 'psql', id, '--', '-c', 'select 40 + 2 as answer'], '', path(folder))
    expect(builtIn).toMatchObject({ exit: 0, out: expect.stringContaining('42') as string })
    const several = await person.run(
      ['db', 'psql', id, '--', '-c', "select 1 as one; select 'a;b' as two;"],
      '',
      path(folder),
    )
    expect(several).toMatchObject({ exit: 0, out: 'one\n1\ntwo\na;b\n' })
    const ofPsql = await person.run(['db', 'psql', id, '--', '-c', '\\d'], '', path(folder))
    expect(ofPsql).toMatchObject({ exit: 2, err: expect.stringContaining('berth db tables') as string })
  })
})
