/** The routes in memory: what leads where, what a change does, and what goes on while Postgres is away. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRoutes, followRoutes } from '#src/edge/http/routes.ts'
import { newUuid } from '#src/platform/ids.ts'
import { change, getOne, sql, transaction } from '#src/platform/postgres.ts'
import { putRoute, removeRoute, type Route } from '#src/resources/infra/routes.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { startTestPostgres, type TestPostgres } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const route = (host: string, path = '/', more: Partial<Route> = {}): Route => ({
  id: newUuid(),
  organizationId: newUuid(),
  kind: 'proxy',
  host,
  path,
  access: 'public',
  vmId: newUuid(),
  vmPort: 80,
  functionId: null,
  wakes: false,
  ...more,
})

describe('the table', () => {
  const given = [
    ['a.example.com', '/'],
    ['a.example.com', '/api'],
    ['a.example.com', '/api/v2/'],
    ['b.example.com', '/only'],
    ['*.example.com', '/'],
    ['*.example.com', '/deep/er'],
  ] as const
  const table = createRoutes()
  for (const [host, path] of given) table.put(route(host, path))

  test.each([
    ['a.example.com', '/', 'a.example.com /'],
    ['a.example.com', '/x?/api', 'a.example.com /'],
    ['a.example.com', '/api', 'a.example.com /api'],
    ['a.example.com', '/api?x=/v2', 'a.example.com /api'],
    ['a.example.com', '/api/', 'a.example.com /api'],
    ['a.example.com', '/api/v2', 'a.example.com /api/v2/'],
    ['a.example.com', '/api/v2/x/y', 'a.example.com /api/v2/'],
    ['a.example.com', '/api/v20', 'a.example.com /api'],
    ['a.example.com', '/apis', 'a.example.com /'],
    ['a.example.com', '*', 'a.example.com /'],
    ['b.example.com', '/other', undefined],
    ['b.example.com', '/only/x', 'b.example.com /only'],
    ['c.example.com', '/deep/er/x', '*.example.com /deep/er'],
    ['c.example.com', '/deep', '*.example.com /'],
    ['c.d.example.com', '/', undefined],
    ['example.com', '/', undefined],
    ['', '/', undefined],
  ])('%s%s leads to %s', (host, path, expected) => {
    const found = table.find(host, path)
    expect(found && `${found.host} ${found.path}`).toBe(expected)
  })

  test('a path of a thousand slashes is looked up at once', () => {
    // At each slash again it would take minutes.
    for (let at = 0; at < 1000; at++) expect(table.find('a.example.com', '/'.repeat(16_000))?.path).toBe('/')
  })

  test('a route that moves, leaves, or makes way for another is told of, and what is new has its place', () => {
    const moving = createRoutes()
    const told: string[] = []
    moving.watch(({ host }) => told.push(host))
    const one = route('one.example.com')
    moving.put(one)
    moving.put({ ...one })
    expect(told).toEqual([])
    moving.put({ ...one, host: 'two.example.com' })
    expect([told, moving.hasHost('one.example.com'), moving.hasHost('two.example.com')]).toEqual([
      ['one.example.com'],
      false,
      true,
    ])
    const taker = route('two.example.com')
    moving.put(taker) // it was heard of before the other one was gone
    moving.remove(one.id)
    expect(moving.find('two.example.com', '/')?.id).toBe(taker.id)
    moving.replace([])
    expect([moving.size, moving.hasHost('two.example.com'), told.at(-1)]).toEqual([0, false, 'two.example.com'])
  })
})

describe('what follows Postgres', () => {
  let postgres: TestPostgres
  let berth: Berth
  let organizationId: string
  const bare = (host: string): Route => route(host, '/', { organizationId, vmId: null, vmPort: null })
  beforeAll(async () => {
    postgres = await startTestPostgres()
    berth = await startBerth({ on: postgres })
    await berth.token()
    ;({ id: organizationId } = await getOne<{ id: string }>(berth.services.db, sql`select id from organizations`))
  })
  afterAll(async () => {
    await berth.stop()
    await postgres.stop()
  })

  test('it has what was there before, hears of changes, and after an outage of everything that it missed', async () => {
    const { db } = berth.services
    const [before, added] = [bare('before.example.com'), bare('added.example.com')]
    await transaction(db, (tx) => putRoute(tx, before))
    const routes = followRoutes(berth.services)
    await routes.ready
    expect(routes.hasHost('before.example.com')).toBe(true)
    await transaction(db, (tx) => putRoute(tx, added))
    await until('the new route is there', () => routes.hasHost('added.example.com'))
    await transaction(db, (tx) => removeRoute(tx, before.id))
    await until('the old one is gone', () => !routes.hasHost('before.example.com'))
    // Written without a notice, as those whose notice is on its way, or was missed.
    const write = (host: string): Promise<unknown> =>
      change(
        db,
        sql`insert into routes (id, organization_id, kind, host) values (${newUuid()}, ${organizationId}, 'proxy', ${host})`,
      )
    for (const host of ['late.example.com', '*.late.example.com']) await write(host)
    for (const host of ['late.example.com', 'any.late.example.com', 'none.example.com']) await routes.catchUp(host)
    expect(['late', 'any.late', 'none'].map((name) => routes.hasHost(`${name}.example.com`))).toEqual([
      true,
      true,
      false,
    ])
    await write('missed.example.com')
    await postgres.killPostgres()
    await postgres.backendsGone()
    await routes.catchUp('missed.example.com') // it does not wait until Postgres is back
    expect([routes.hasHost('added.example.com'), routes.hasHost('missed.example.com')]).toEqual([true, false])
    await postgres.restartPostgres()
    await until('the missed one is there', () => routes.hasHost('missed.example.com'), 10_000)
    routes.close()
  })
})
