/** How long clients without the token of a database may work at a stretch: no setting and no statement of theirs changes it. */
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import { until } from '../support/until.ts'
import { queryMessage } from '#src/edge/postgres/protocol/messages.ts'
import { connectSecured, startup } from './raw-client.ts'
import { openDatabasesWorld, type DatabasesWorld } from './databases-world.ts'

const workMs = 1_000
let world: DatabasesWorld
let token: string
beforeAll(async () => {
  world = await openDatabasesWorld({}, { workMs })
  token = await world.berth.token('bob', 'acme', 'viewer')
  await world.change(world.known, sql`client_mode_enabled = true`)
})
afterAll(() => world.close())

const asNobody = () => world.client({ user: 'anon', password: '' })
const asMember = () => world.client({ user: 'authenticated', password: token })
const noticeTo = (client: pg.Client) =>
  new Promise<unknown>((resolve) => client.once('notice', ({ message }) => resolve(message)))
const endOf = (client: pg.Client) => new Promise<unknown>((resolve) => client.once('error', resolve))
const said = 'a statement or transaction of a client without the database’s token takes at most 1 s'
const one = { rows: [{ one: 1 }] }

test('a client that does not take its answer is ended', async () => {
  const client = await connectSecured(world.proxy.port, { servername: world.known.host })
  client.send(startup({ user: 'anon', database: 'app' }))
  await client.until('Z')
  client.socket.pause()
  client.send(queryMessage("select repeat('x', 1000000) from generate_series(1, 1000)"))
  await until('the proxy serves it', () => world.proxy.totals().clients === 1)
  await until('the proxy is without it', () => world.proxy.totals().clients === 0)
  client.socket.destroy()
})

describe.concurrent('among others', () => {
  test('a statement that takes longer is cancelled, whatever its client has set, and its client goes on', async () => {
    const follow = async (client: pg.Client): Promise<void> => {
      await client.query('set statement_timeout = 0')
      const notice = noticeTo(client)
      await expect(client.query('select pg_sleep(1e6)')).rejects.toMatchObject({ code: '57014' })
      expect(await notice).toBe(said)
      const endless = 'select count(*) from (select generate_series(1, $1::bigint)) s'
      await expect(client.query(endless, [1e12])).rejects.toMatchObject({ code: '57014' })
      expect(await client.query('select 1 as one')).toMatchObject(one)
      await client.end()
    }
    await Promise.all([follow(await asNobody()), follow(await asMember())])
  })

  test('one that catches the cancellation is ended, as is one that goes on with its transaction', async () => {
    const [stubborn, busy] = [await asNobody(), await asMember()]
    const ends = [endOf(stubborn), endOf(busy)]
    const stays = stubborn.query(`do $$ begin for times in 1..4 loop
    begin perform pg_sleep(20); exception when query_canceled then null; end; end loop; end $$`)
    const goesOn = async (): Promise<void> => {
      await busy.query('begin')
      for (;;) await busy.query('savepoint a; select pg_sleep(0.1); release savepoint a')
    }
    await Promise.all([
      expect(goesOn()).rejects.toMatchObject({ code: expect.stringMatching(/57014|25P03/) as unknown }),
      expect(stays).rejects.toMatchObject({ code: '57014', message: said }),
      ...ends,
    ])
  })

  test('a transaction that rests for longer is ended', async () => {
    const client = await asNobody()
    const end = endOf(client)
    await client.query('set idle_in_transaction_session_timeout = 0; begin')
    expect(await end).toMatchObject({ code: '25P03', message: said })
  })

  test('nobody is ended who only rests, or works for long in short pieces', async () => {
    const [resting, working] = [await asNobody(), await asMember()]
    const begunMs = performance.now()
    while (performance.now() - begunMs < 4 * workMs) await working.query('select pg_sleep(0.2)')
    for (const client of [resting, working]) {
      expect(await client.query('select 1 as one')).toMatchObject(one)
      await client.end()
    }
  })

  test('the owner works for as long as it likes', async () => {
    const owner = await world.client()
    await owner.query('select pg_sleep($1)', [(4 * workMs) / 1000])
    await owner.query('begin; select pg_sleep(2)')
    await owner.query('commit')
    await owner.end()
  })

  test('POST /sql says what was cancelled, and why', async () => {
    const answer = await fetch(`${world.berth.url}/sql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'neon-connection-string': `postgresql://anon@${world.known.host}/app`,
      },
      body: JSON.stringify({ query: 'select pg_sleep(1e6)' }),
    })
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: '57014', hint: said }])
  })
})
