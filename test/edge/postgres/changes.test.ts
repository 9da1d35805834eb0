/** What happens to clients when their database changes: closed to them, asleep, unreachable, full; and when the proxy ends. */
import { setTimeout as pause } from 'node:timers/promises'
import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PostgresRefusal } from '#src/edge/postgres/refusals.ts'
import { cancelPacket, errorMessage } from '#src/edge/postgres/protocol/messages.ts'
import { setLogLevel } from '#src/platform/log.ts'
import { until } from '../../support/until.ts'
import { openProxyWorld, type ProxyWorld } from '../proxy-world.ts'
import { connectRaw } from '../raw-client.ts'

let world: ProxyWorld
setLogLevel('error') // what cannot be reached here is warned of, as it should be
const times = { idleMs: 60_000, pressMs: 0, patienceMs: 1_000, queueMs: 300 }
beforeEach(async () => {
  world = await openProxyWorld({ plainText: true, iterations: 1, backendsShared: 1, backendsMax: 3, times })
})
afterEach(() => world.close())

/** The error with which the client's connection ends. */
const endOf = (client: pg.Client): Promise<{ code?: string; message: string }> =>
  new Promise((resolve) => client.once('error', resolve))
const one = async (client: pg.Client): Promise<unknown> => (await client.query('select 1 as one')).rows
const shown = [{ one: 1 }]

describe('a database that is closed', () => {
  const refusal = new PostgresRefusal('admin_shutdown', 'client access was switched off')

  test('ends all its clients, with the reason: resting, working, reading, waiting', async () => {
    const resting = await world.client()
    const detached = await world.client() // takes the only shared backend from the one before
    await one(detached)
    await one(resting)
    const working = await world.client()
    const worked = working.query('select pg_sleep(60)').then(
      () => null,
      (error: { code: string }) => error.code,
    )
    const reading = await world.client()
    const read = reading.query(`select repeat('x', 1000) from generate_series(1, 1000000)`).then(() => null, String)
    const keeper = await world.direct()
    const active = `select from pg_stat_activity where state = 'active' and datname = current_database() and pid <> pg_backend_pid()`
    await until('they are at work', async () => (await keeper.query(active)).rowCount === 2)
    await keeper.end()
    const ends = [endOf(resting), endOf(detached)]
    world.change({ databaseId: world.databaseId, change: 'closed', refusal })
    for (const end of await Promise.all(ends)) expect(end).toMatchObject({ code: '57P01', message: refusal.message })
    expect(await worked).toMatch(/57P01|57014/)
    expect(await read).not.toBeNull()
    await until('all are gone', () => world.proxy.totals().clients === 0)
    await until('their backends too', () => world.connections.size === 0)
  })

  test('to some kinds of clients leaves the others alone', async () => {
    const owner = await world.client()
    world.admission.kind = 'anonymous'
    const anonymous = await world.client()
    world.admission.kind = 'owner'
    await one(owner)
    const end = endOf(anonymous)
    world.change({ databaseId: world.databaseId, change: 'closed', kinds: ['anonymous', 'authenticated'], refusal })
    expect(await end).toMatchObject({ code: '57P01' })
    expect(await one(owner)).toEqual(shown)
    await owner.end()
  })

  test('is not noticed by clients of another', async () => {
    const client = await world.client()
    world.change({ databaseId: 'another', change: 'closed', refusal })
    expect(await one(client)).toEqual(shown)
    await client.end()
  })
})

describe('settings with which sessions begin', () => {
  test('that a client has changed are there when anybody connects next', async () => {
    const name = world.admission.server.database
    const client = await world.client()
    await client.query(`alter database ${name} set work_mem = 7777`)
    const keeps = async (): Promise<void> =>
      expect((await client.query('show work_mem')).rows).not.toEqual([{ work_mem: '7777kB' }]) // as in Postgres
    await keeps()
    const next = await world.client()
    expect((await next.query('show work_mem')).rows).toEqual([{ work_mem: '7777kB' }])
    await keeps()
    await next.end()
    await client.end()
  })

  const areFree = (): boolean => {
    const { clients, backends, free } = world.proxy.totals()
    return clients === 0 && backends === free
  }
  /** The process of the server connection that the owner gets who comes next. */
  async function processOfNext(): Promise<number | undefined> {
    world.admission.kind = 'owner'
    const owner = await world.client()
    const { rows } = await owner.query<{ pid: number }>('select pg_backend_pid() as pid')
    await owner.end()
    await until('it is free again', areFree)
    return rows[0]?.pid
  }
  /** Statements that set how sessions begin, and whether they do so; `{role}` and `{name}` are the client's role and database. */
  const statements: [text: string, lasts: boolean][] = [
    ['alter role {role} set work_mem = 1111', true],
    ['alter user current_user reset work_mem', true],
    ['alter role {role} in database {name} reset all', true],
    ['alter database {name} set work_mem = 2222', true],
    ['alter database {name} reset work_mem', true],
    ['begin; alter database {name} reset all; commit', true],
    ['begin; alter database {name} reset all; savepoint a; select 1 / 0', false],
    ['begin; alter database {name} set work_mem = 3333; rollback', false],
    ['alter database {name} set work_mem = 3333; select 1 / 0', false],
    ['alter role nobody_there set work_mem = 1', false],
    ['alter role {role} set nothing_there = 1', false],
    ['alter user nobody_there password null', false],
    ['alter database nowhere set work_mem = 1111', false],
    ['alter database {name} set work_mem = wrong', false],
    ['alter group nobody_there add user {role}', false],
    ['alter system set work_mem = wrong', false],
    ['grant nobody_there to {role}', false],
    ['create role {role}', false],
    ['drop role nobody_there', false],
    ["select 'alter role x set y to z'", false],
  ]
  test.each(['owner', 'authenticated', 'anonymous'] as const)(
    'that a client who is %s changes: other server connections afterwards only for owners whose change lasts',
    async (kind) => {
      const { user, database } = world.admission.server
      for (const [text, lasts] of statements) {
        const before = await processOfNext()
        world.admission.kind = kind
        const client = await world.client()
        await client.query(text.replaceAll('{role}', user).replaceAll('{name}', database)).catch(() => undefined)
        await client.query('rollback')
        await client.end()
        await until('it has left', areFree)
        expect([text, (await processOfNext()) !== before]).toEqual([text, kind === 'owner' && lasts])
      }
    },
  )

  test('that changed elsewhere are there after a notice, and clients that rest stay', async () => {
    const resting = await world.client()
    await one(resting)
    const keeper = await world.direct()
    await keeper.query(`alter database ${world.admission.server.database} set work_mem = 8888`)
    await keeper.end()
    world.change({ databaseId: world.databaseId, change: 'renewed' })
    await until('no backend is left', () => world.proxy.totals().backends === 0)
    const next = await world.client()
    expect((await next.query('show work_mem')).rows).toEqual([{ work_mem: '8888kB' }])
    expect(await one(resting)).toEqual(shown)
    await resting.end()
    await next.end()
  })

  test('that changed elsewhere while a client was at work are there for it once it rests', async () => {
    const working = await world.client()
    await working.query('begin')
    const keeper = await world.direct()
    await keeper.query(`alter database ${world.admission.server.database} set work_mem = 9999`)
    await keeper.end()
    world.change({ databaseId: world.databaseId, change: 'renewed' })
    expect(await one(working)).toEqual(shown)
    expect(world.proxy.totals().backends).toBe(1)
    await working.query('commit')
    await until('no backend is left', () => world.proxy.totals().backends === 0)
    expect((await working.query('show work_mem')).rows).toEqual([{ work_mem: '9999kB' }])
    await working.end()
  })
})

describe('a server', () => {
  test('that wakes up keeps its first client waiting, and serves it then', async () => {
    const { connect } = world.admission
    let woken = false
    world.admission.connect = async () => {
      await pause(300)
      woken = true
      return connect()
    }
    const client = await world.client()
    expect(woken).toBe(true)
    expect(await one(client)).toEqual(shown)
    await client.end()
  })

  test('that cannot be reached is said to be so, with the sentence of whoever knows why', async () => {
    world.admission.connect = () => Promise.reject(new Error('secret of ours'))
    await expect(world.client()).rejects.toMatchObject({
      code: '57P03',
      message: expect.not.stringContaining('secret'),
    })
    const known = new PostgresRefusal('cannot_connect_now', 'the database is being restored')
    world.admission.connect = () => Promise.reject(known)
    await expect(world.client()).rejects.toMatchObject({ code: '57P03', message: known.message })
  })

  test('that does not take our own password tells the client nothing of it', async () => {
    world.admission.server.password = 'wrong'
    await expect(world.client()).rejects.toMatchObject({
      code: '57P03',
      message: expect.not.stringContaining('password'),
    })
  })

  test('that ends a connection says why to the client that has it; others live on', async () => {
    const victim = await world.client()
    const other = await world.client()
    const end = endOf(victim)
    const { rows } = await victim
      .query<{ pid: number }>('begin; select pg_backend_pid() as pid')
      .then((results) => (results as unknown as pg.QueryResult<{ pid: number }>[])[1]!)
    const keeper = await world.direct()
    await keeper.query('select pg_terminate_backend($1)', [rows[0]?.pid])
    expect(await end).toMatchObject({ code: '57P01' })
    expect(await one(other)).toEqual(shown)
    await keeper.end()
    await other.end()
  })

  test('that does not say what a resting client holds lets others wait a moment, and ends nobody', async () => {
    const resting = await world.client({ application_name: 'resting' })
    expect(await one(resting)).toEqual(shown)
    const keeper = await world.direct()
    const { rows } = await keeper.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'resting' and datname = current_database()`,
    )
    const { pid } = rows[0]!
    process.kill(pid, 'SIGSTOP') // as on a host that is very busy
    try {
      const others = await Promise.all([world.client(), world.client()]) // one of them by what the pool opens beyond those that are shared
      for (const other of others) expect(await one(other)).toEqual(shown)
      for (const other of others) await other.end()
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    expect(await one(resting)).toEqual(shown)
    for (const client of [resting, keeper]) await client.end()
  })

  test('is asked nothing in the middle of what it tells a client that reads slowly', async () => {
    const listening = await world.client()
    await listening.query('listen news')
    let heard = 0
    listening.on('notification', () => heard++)
    const { stream } = (listening as unknown as { connection: { stream: Socket } }).connection // node-postgres' own
    stream.pause()
    const keeper = await world.direct()
    await keeper.query(`select pg_notify('news', repeat('Z', 7000) || n) from generate_series(1, 3000) n`)
    await until('it cannot be told more', () => [...world.connections].some(({ bytesRead }) => bytesRead > 1_000_000))
    const others = [await world.client(), await world.client()] // who want a connection that rests
    for (const other of others) expect(await one(other)).toEqual(shown)
    stream.resume()
    await until('it has heard all', () => heard === 3000)
    expect(await one(listening)).toEqual(shown)
    for (const client of [listening, keeper, ...others]) await client.end()
  })

  test('that ends the connection of a client that has said nothing on it is not noticed', async () => {
    const quiet = await world.client()
    expect(world.connections.size).toBe(1)
    for (const connection of world.connections) connection.destroy()
    expect(await one(quiet)).toEqual(shown)
    await quiet.end()
  })

  test('that is cut off in the middle of an answer ends its client, and the next one is served', async () => {
    const client = await world.client()
    const failed = client
      .query(`select repeat('x', 1000), pg_sleep(0.001) from generate_series(1, 100000)`)
      .then(() => null, String)
    await until('it answers', () => [...world.connections].some(({ bytesRead }) => bytesRead > 50_000))
    for (const connection of world.connections) connection.destroy()
    expect(await failed).not.toBeNull()
    const next = await world.client()
    expect(await one(next)).toEqual(shown)
    await next.end()
  })

  test('whose connections are all held refuses one more after a while, and says what to do', async () => {
    const holders = [await world.client(), await world.client(), await world.client()]
    for (const holder of holders) await holder.query('begin')
    await expect(world.client()).rejects.toMatchObject({ code: '53300' })
    const waiting = world.client()
    await until('it waits', () => world.proxy.totals().waiting === 1, 1_000, 5)
    await holders[0]!.query('commit')
    expect(await one(await waiting)).toEqual(shown)
    for (const client of [...holders, await waiting]) await client.end()
  })
})

test('an organization whose databases have all their clients is refused one more, while another one is served', async () => {
  const full = await openProxyWorld({ plainText: true, iterations: 1, times, clientsPerOrganization: 2 })
  const clientOf = (organizationId: string, databaseId: string): Promise<pg.Client> => {
    Object.assign(full.admission, { organizationId, databaseId })
    return full.client()
  }
  const first = await clientOf('acme', 'one')
  const second = await clientOf('acme', 'two')
  await expect(clientOf('acme', 'three')).rejects.toMatchObject({
    code: '53300',
    message: 'too many clients are connected to the databases of this organization: close some of them',
  })
  expect(await one(await clientOf('another', 'four'))).toEqual(shown)
  await first.end()
  await until('its place is free', () => full.proxy.totals().clients === 2)
  expect(await one(await clientOf('acme', 'three'))).toEqual(shown)
  expect(await one(second)).toEqual(shown)
  await full.close()
})

test('a client waits where the server has no room for another connection, until somebody gives theirs back', async () => {
  const { connect } = world.admission
  const [holder, other] = [await world.client(), await world.client()]
  await holder.query('begin')
  await other.query('begin')
  world.admission.connect = async () => {
    const [ours, theirs] = duplexPair()
    theirs.resume().write(errorMessage(new PostgresRefusal('too_many_connections', 'sorry, too many clients already')))
    return ours
  }
  const waiting = world.client()
  await until('it waits', () => world.proxy.totals().waiting === 1, 1_000, 5)
  world.admission.connect = connect
  await other.end()
  expect(await one(await waiting)).toEqual(shown)
  for (const client of [holder, await waiting]) await client.end()
})

test('clients who are not the owner never keep the owner out, however many hold and wait', async () => {
  world.admission.kind = 'anonymous'
  const holders = [await world.client(), await world.client()]
  for (const holder of holders) await holder.query('begin')
  const refused = Promise.all(
    [world.client(), world.client()].map((one) =>
      one.then(
        () => null,
        ({ code }) => code as string,
      ),
    ),
  )
  await until('they wait', () => world.proxy.totals().waiting === 2, 1_000, 5)
  world.admission.kind = 'owner'
  const owner = await world.client()
  expect(await one(owner)).toEqual(shown)
  expect(await refused).toEqual(['53300', '53300'])
  for (const client of [...holders, owner]) await client.end()
})

describe('a cancel request', () => {
  const keyOf = (client: pg.Client): [number, number] => {
    const { processID, secretKey } = client as unknown as { processID: number; secretKey: number } // what it was told
    return [processID, secretKey]
  }
  const connectionOf = (client: pg.Client): EventEmitter =>
    (client as unknown as { connection: EventEmitter }).connection // where messages arrive
  const cancel = async ([processId, secret]: [number, number]): Promise<void> => {
    const client = await connectRaw(world.port)
    client.send(cancelPacket(processId, secret))
    await client.closed
  }

  test('ends what its client is doing; with a wrong secret nothing', async () => {
    const client = await world.client()
    const [processId, secret] = keyOf(client)
    const slept = client.query('select pg_sleep(60)').then(
      () => null,
      (error: { code: string }) => error.code,
    )
    await cancel([processId, secret ^ 1])
    await cancel([processId + 1, secret])
    expect(await Promise.race([slept, pause(200, 'still sleeping')])).toBe('still sleeping')
    await cancel([processId, secret])
    expect(await slept).toBe('57014')
    expect(await one(client)).toEqual(shown)
    await client.end()
  })

  test('never hits another client that has the same backend next', async () => {
    const [impatient, innocent] = [await world.client(), await world.client()]
    let hits = 0
    for (let round = 0; round < 40; round++) {
      const short = impatient.query(`select pg_sleep(${(round % 8) * 0.003})`).then(
        () => null,
        () => hits++,
      )
      const cancelled = Array.from({ length: 3 }, () => cancel(keyOf(impatient)))
      await short
      const { readyForQuery } = impatient as unknown as { readyForQuery: boolean } // an error is told before it is ready
      if (!readyForQuery) await new Promise((ready) => connectionOf(impatient).once('readyForQuery', ready))
      expect((await innocent.query('select pg_sleep(0.002), 1 as one')).rows).toMatchObject(shown)
      expect(world.proxy.totals().backends).toBe(1)
      await Promise.all(cancelled)
    }
    expect(hits).toBeGreaterThan(0)
    await impatient.end()
    await innocent.end()
  })
})

describe('the proxy', () => {
  test('says before each hand-over of a backend which process it is, and that its database is used', async () => {
    const told: number[] = []
    world.admission.prepare = async ({ processId }) => void told.push(processId)
    const [first, second] = [await world.client(), await world.client()]
    await one(first)
    await one(second)
    await one(first)
    expect(told.length).toBe(5)
    const { rows } = await first.query<{ pid: number }>('select pg_backend_pid() as pid')
    expect(told.at(-1)).toBe(rows[0]?.pid)
    await until('the use is told', () => world.activities > 0)
    await first.end()
    await second.end()
  })

  test('that ends tells those who rest at once, and lets the others finish', async () => {
    const [resting, working] = [await world.client(), await world.client()]
    await one(resting)
    await working.query('begin')
    const end = endOf(resting)
    const closed = world.proxy.close(20_000)
    expect(await end).toMatchObject({ code: '57P01' })
    expect(await one(working)).toEqual(shown)
    const workingEnd = endOf(working)
    await working.query('commit')
    expect(await workingEnd).toMatchObject({ code: '57P01' })
    await closed
    await expect(world.client()).rejects.toThrow('ECONNREFUSED')
  })
})

describe('the pool', () => {
  test('holds five hundred clients that rest on sixteen backends, and every one of them is served', async () => {
    const crowded = await openProxyWorld({ plainText: true, iterations: 1 })
    const clients: pg.Client[] = []
    for (let batch = 0; batch < 20; batch++)
      clients.push(...(await Promise.all(Array.from({ length: 25 }, () => crowded.client()))))
    for (const client of clients) await one(client)
    await until('the rest is closed', () => crowded.connections.size <= 16)
    expect(crowded.proxy.totals()).toMatchObject({ clients: 500, backends: 16, waiting: 0 })
    for (const client of clients) expect(await one(client)).toEqual(shown)
    for (const client of clients) await client.end()
    await crowded.close()
  }, 60_000)
})
