/** Messages of the extended protocol in any order: through the proxy, on a connection that others take away, each is answered as by the server itself. */
import fc from 'fast-check'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBackend } from '#src/edge/postgres/backend.ts'
import { int32, message, queryMessage, syncMessage } from '#src/edge/postgres/protocol/messages.ts'
import { clientDatabase, clientUser, openProxyWorld, type ProxyWorld } from '../proxy-world.ts'
import { ask, connectRaw, rawClient, startup, type Answer, type RawClient } from '../raw-client.ts'

let shared: ProxyWorld
let plain: ProxyWorld
beforeAll(async () => {
  const times = { idleMs: 60_000, pressMs: 0, patienceMs: 1_000, queueMs: 10_000 }
  shared = await openProxyWorld({ plainText: true, backendsShared: 1, backendsMax: 8, times })
  plain = await openProxyWorld({ plainText: true })
  for (const world of [shared, plain]) {
    const keeper = await world.direct()
    await keeper.query('create table t (a int primary key)')
    await keeper.end()
  }
})
afterAll(async () => {
  await shared.close()
  await plain.close()
})

async function enter(world: ProxyWorld): Promise<RawClient> {
  world.found = () => ({ by: 'nothing', admission: world.admission })
  const client = await connectRaw(world.port)
  client.send(startup({ user: clientUser, database: clientDatabase }))
  await client.until('Z')
  return client
}
/** The server itself, without a proxy. */
async function enterServer(world: ProxyWorld): Promise<RawClient> {
  const { stream } = await openBackend(world.admission, new Map(), '')
  return rawClient(stream as Socket) // the world connects by sockets
}

const of = (type: string, ...content: (string | Buffer)[]): Buffer => message(type.charCodeAt(0), ...content)
const names = fc.oneof({ weight: 12, arbitrary: fc.constant('') }, { weight: 1, arbitrary: fc.constant('named') })
const texts = fc.constantFrom(
  'select 1',
  'select $1::int + 1',
  'select a from t order by a',
  'insert into t values ($1)',
  'select 1 / 0',
  'select nonsense',
  'begin',
  'commit',
  'rollback',
  'set work_mem = 4321',
  'show work_mem',
  '',
)
const parse = fc.tuple(names, texts).map(([name, text]) => of('P', `${name}\0${text}\0\0\0`))
const bind = fc
  .tuple(names, names, fc.boolean())
  .map(([portal, name, filled]) =>
    of(
      'B',
      `${portal}\0${name}\0\0\0`,
      filled ? Buffer.concat([Buffer.from([0, 1]), int32(1), Buffer.from('7')]) : Buffer.from([0, 0]),
      '\0\0',
    ),
  )
const describeOne = fc.tuple(fc.constantFrom('S', 'P'), names).map(([what, name]) => of('D', `${what}${name}\0`))
const close = fc.tuple(fc.constantFrom('S', 'P'), names).map(([what, name]) => of('C', `${what}${name}\0`))
const execute = fc.tuple(names, fc.constantFrom(0, 1)).map(([portal, rows]) => of('E', `${portal}\0`, int32(rows)))
/** Messages up to a Sync, or one simple query: after either there is one ReadyForQuery. */
const batch = fc.oneof(
  // What prepares in one batch and executes in the next, as several drivers do.
  fc
    .tuple(parse, fc.boolean())
    .map(([one, described]) => Buffer.concat([one, ...(described ? [of('D', 'S\0')] : []), syncMessage])),
  fc.tuple(bind, execute).map((parts) => Buffer.concat([...parts, syncMessage])),
  fc
    .array(fc.oneof(parse, bind, execute, describeOne, close, fc.constant(of('H'))), { maxLength: 6 })
    .map((parts) => Buffer.concat([...parts, syncMessage])),
  fc
    .constantFrom(
      'select 2',
      'begin',
      'commit',
      'rollback',
      'select 1 / 0',
      'insert into t values (1) on conflict do nothing',
      'discard all',
    )
    .map(queryMessage),
)

/** What was answered, as far as it does not tell one server from another. */
const shownOf = (answers: readonly Answer[]): string[] =>
  answers
    .filter(({ type }) => type !== 'S' && type !== 'N')
    .map(
      ({ type, content }) =>
        `${type} ${type === 'E' ? /C(\w{5})/.exec(content.toString('latin1'))?.[1] : type === 'T' ? content.length : content.toString('latin1')}`,
    )

test('batches of messages are answered as by the server, whoever has had the connection meanwhile', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(batch, fc.boolean(), fc.integer({ min: 1, max: 50 })), { minLength: 4, maxLength: 20 }),
      async (script) => {
        const [ours, rival, theirs] = [await enter(shared), await enter(shared), await enterServer(plain)]
        for (const [bytes, taken, cut] of script) {
          ours.send(bytes.subarray(0, cut))
          ours.send(bytes.subarray(cut))
          theirs.send(bytes)
          expect(shownOf(await ours.until('Z'))).toEqual(shownOf(await theirs.until('Z')))
          if (taken) expect((await ask(rival, 'select 3')).map(({ type }) => type).join('')).toBe('TDCZ')
        }
        for (const client of [ours, theirs]) await ask(client, 'rollback')
        for (const client of [ours, theirs]) await ask(client, 'delete from t')
        for (const { socket } of [ours, rival, theirs]) socket.destroy()
      },
    ),
    { numRuns: 40, endOnFailure: true },
  )
}, 60_000)

test('an unnamed statement that an earlier error kept from being replaced is still the one before', async () => {
  const times = { idleMs: 60_000, pressMs: 0, patienceMs: 1_000, queueMs: 10_000 }
  const world = await openProxyWorld({ plainText: true, backendsShared: 1, times })
  const [one, rival] = [await enter(world), await enter(world)]
  const run = Buffer.concat([of('B', '\0\0\0\0\0\0\0\0'), of('E', '\0', int32(0)), syncMessage])
  one.send(of('P', '\0select 1\0\0\0'), syncMessage)
  await one.until('Z')
  one.send(of('P', 'named\0select nonsense\0\0\0'), of('P', '\0select 2\0\0\0'), syncMessage)
  expect((await one.until('Z')).map(({ type }) => type).join('')).toBe('EZ')
  await ask(rival, 'select 3')
  one.send(run)
  expect(
    (await one.until('Z'))
      .find(({ type }) => type === 'D')
      ?.content.toString('latin1')
      .at(-1),
  ).toBe('1')
  for (const { socket } of [one, rival]) socket.destroy()
})
