/**
 * A hostile day for a database: a whole `npm start`, clients that commit all the time, and kill -9 of edge, worker, Berth's
 * own Postgres and QEMU, under load and in the middle of dumps and restores. What was acknowledged is there, no half of a
 * backup is completed, a restore happens wholly or not at all, and everything comes back by itself.
 */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  settledMs,
  startDatabase,
  type BackupAnswer,
  type RunningDatabase,
} from './infra/databases/running-database.ts'
import { until } from './support/until.ts'

const rowCount = 60_000
const clientCount = 4
/** So many more commits of each client show that it goes on. */
const commitsMore = 10
const betweenCommitsMs = 20
const betweenConnectionsMs = 200
const betweenLooksMs = 10 // a dump is short
/** A machine that was killed boots under emulation, and replays what was logged. */
const recoveryMs = 120_000

let database: RunningDatabase
let load: Load

beforeAll(async () => {
  database = await startDatabase()
  await database.query(`
    create table accounts (id bigint primary key, balance integer, filler text);
    insert into accounts select n, n % 997, md5(n::text) || md5((n * 7)::text) from generate_series(1, ${rowCount}) n;
    create index on accounts (balance);
    create table commits (number bigint primary key)`)
  load = startLoad()
}, 800_000)
afterAll(async () => {
  await load?.stop()
  await database?.berth.stop()
}, 60_000)

/** Clients that commit a row each, one after the other, and connect again whenever they are cut. */
type Load = {
  /** The numbers whose commit was acknowledged, in that order. */
  acknowledged: number[]
  /** How often somebody had to connect. */
  connections: () => number
  /** Waits until every client has committed some more. */
  goesOn: (after: string) => Promise<void>
  stop: () => Promise<void>
}

function startLoad(): Load {
  const acknowledged: number[] = []
  const commits = Array.from({ length: clientCount }, () => 0)
  let next = 1
  let connections = 0
  let going = true

  async function commitUntilCut(client: pg.Client, which: number): Promise<void> {
    while (going) {
      const number = next++ // one whose answer was lost is never sent again, so it may be there or not
      await client.query('insert into commits values ($1)', [number])
      acknowledged.push(number)
      commits[which] = (commits[which] ?? 0) + 1
      await pause(betweenCommitsMs)
    }
  }
  async function work(which: number): Promise<void> {
    while (going) {
      try {
        const client = await database.connect()
        connections++
        try {
          await commitUntilCut(client, which)
        } finally {
          await client.end().catch(() => undefined) // it was cut
        }
      } catch {
        await pause(betweenConnectionsMs) // cut off, or not let in yet: that is what this test does to it
      }
    }
  }
  const working = commits.map((_, which) => work(which))
  return {
    acknowledged,
    connections: () => connections,
    async goesOn(after) {
      const before = [...commits]
      await until(
        `every client commits after ${after}`,
        () => commits.every((count, which) => count >= (before[which] ?? 0) + commitsMore),
        recoveryMs,
      )
    },
    async stop() {
      going = false
      await Promise.all(working)
    },
  }
}

/** Kills a part of the installation, which must be there. */
function kill(victim: string): void {
  expect(database.berth.kill(victim), `there is a ${victim}`).toBe(true)
}

/** Everything that was acknowledged is there. While Berth's own Postgres starts, nobody new is let in. */
async function expectNothingLost(): Promise<void> {
  const due = [...load.acknowledged]
  expect(due.length).toBeGreaterThan(0)
  let there = new Set<number>()
  const read = async (): Promise<boolean> => {
    const rows = await database.query<{ number: string }>('select number from commits')
    there = new Set(rows.map(({ number }) => Number(number)))
    return true
  }
  await until('somebody new is let in', () => read().catch(() => false), recoveryMs, betweenConnectionsMs)
  expect(due.filter((number) => !there.has(number))).toEqual([])
}

/** The content of the large table, as one line, as soon as somebody new is let in. */
async function sum(): Promise<unknown> {
  let rows: unknown[] = []
  const read = async (): Promise<boolean> => {
    rows = await database.query('select count(*), sum(hashtextextended(a::text, 0)) from accounts a')
    return true
  }
  await until('somebody new is let in', () => read().catch(() => false), recoveryMs, betweenConnectionsMs)
  return rows[0]
}

/** What is completed is whole in the store, and nothing else is there. */
async function expectWholeBackups(): Promise<void> {
  const { body: backups } = await database.call<BackupAnswer[]>('GET', '/backups')
  const completed = backups.filter(({ status }) => status === 'completed')
  expect(backups.filter(({ status }) => !['completed', 'failed'].includes(status))).toEqual([])
  for (const { id } of completed) expect(database.fileDigest(id), id).toBe(await database.digestOf(id))
  expect(database.files().toSorted()).toEqual(completed.map(({ id }) => `${id}.dump`).toSorted())
}

/** Begins a backup, and kills these as soon as some of it is stored; the backup as it ended. */
async function backUpUnderKill(...victims: string[]): Promise<BackupAnswer> {
  const { status, body } = await database.call<BackupAnswer>('POST', '/backups')
  expect(status).toBe(202)
  await until('some of it is stored', () => database.incomingBytes() > 0, settledMs, betweenLooksMs)
  victims.forEach(kill)
  return database.ended(body.id)
}

/** Begins a restore, and kills these as soon as some of it is loaded; waits until the database is active again. */
async function restoreUnderKill(backup: string, ...victims: string[]): Promise<string | undefined> {
  const { newestRestore, isActive } = database
  expect((await database.call('POST', `/backups/${backup}/restore`)).status).toBe(202)
  await until(
    'it loads',
    async () => {
      const restore = await newestRestore()
      return restore?.status === 'RUNNING' && restore.progress.loadedBytes > 0
    },
    settledMs,
  )
  victims.forEach(kill)
  const isOver = async (): Promise<boolean> => /COMPLETED|FAILED/.test((await newestRestore())?.status ?? '')
  await until('the restore is over', isOver, settledMs)
  await until('it is active again', isActive, settledMs)
  return (await newestRestore())?.status
}

// What is true of the machine is shown in the middle of a dump and of a restore: each start of one takes a minute.
test.each(['edge', 'worker', 'postgres'])(
  'what clients had committed when the %s was killed is there, and they go on',
  async (victim) => {
    await load.goesOn('the beginning')
    const before = load.connections()
    kill(victim)
    await load.goesOn(`the ${victim} was killed`)
    await expectNothingLost()
    // Berth's own Postgres is not in the way of a client that is connected.
    if (victim === 'postgres') expect(load.connections()).toBe(before)
    else expect(load.connections()).toBeGreaterThan(before)
  },
  2 * recoveryMs,
)

let backup: BackupAnswer
let numbersAtBackup: number

test('a backup is whole, or has failed and left nothing, whoever is killed in the middle of its dump', async () => {
  for (const victim of ['worker', 'qemu']) {
    const failed = await backUpUnderKill(victim)
    expect(failed, victim).toMatchObject({ status: 'failed', size_bytes: 0 })
    expect(failed.error).toBeTruthy()
    await load.goesOn(`the ${victim} was killed in a dump`)
    await expectNothingLost()
    await until('it is active', database.isActive, recoveryMs)
  }
  numbersAtBackup = load.acknowledged.length
  backup = await backUpUnderKill('edge', 'postgres')
  expect(backup).toMatchObject({ status: 'completed', error: null })
  await load.goesOn('edge and Postgres were killed in a dump')
  await expectWholeBackups()
  await expectNothingLost()
}, 600_000)

test('a restore happens wholly or not at all, whoever is killed while it loads', async () => {
  const whole = await sum()
  await database.query('delete from accounts where id % 2 = 0')
  const half = await sum()
  expect(half).not.toEqual(whole)

  expect(await restoreUnderKill(backup.id, 'qemu')).toBe('FAILED')
  expect(await sum()).toEqual(half)
  await load.goesOn('the machine was killed in a restore')
  await expectNothingLost()

  for (const victims of [['worker'], ['edge', 'postgres']]) {
    expect(await restoreUnderKill(backup.id, ...victims)).toBe('COMPLETED')
    expect(await sum()).toEqual(whole)
    load.acknowledged.splice(numbersAtBackup) // what was committed after the backup is in the data that was replaced
    await load.goesOn(`${victims.join(' and ')} were killed in a restore`)
    await expectNothingLost()
    await database.query('delete from accounts where id % 2 = 0')
  }
  await expectWholeBackups()
}, 900_000)

test('then it is as it was: ready, awake, and with backups that complete', async () => {
  await until('Berth is ready', async () => (await fetch(`${database.berth.url}/readyz`)).status === 200, recoveryMs)
  expect(await database.backUp()).toMatchObject({ status: 'completed', error: null })
  await load.stop()
  await expectNothingLost()
  expect(database.berth.qemuPids()).toHaveLength(1)
}, 300_000)
