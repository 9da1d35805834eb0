/** The events of a VM as a stream: in order, resumed from any point without gap or repeat, whatever breaks in between. */
import { connect, type AddressInfo } from 'node:net'
import { EventSource } from 'eventsource'
import { fastify } from 'fastify'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { sendStream } from '#rest-compat/stream.ts'
import { decodeId, newId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { publish } from '#src/platform/pubsub.ts'
import { deactivateMembership } from '#src/resources/identity/memberships.ts'
import type { VmStatus } from '#src/resources/infra/vms/rows.ts'
import { moveVm } from '#src/resources/infra/vms/states.ts'
import { pollUntil } from '#src/start/wait.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeVmRow } from '../support/makers.ts'
import { freePort } from '../support/ports.ts'
import { asAdmin } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { makeCallers, makeRefusingNode, type Callers } from './callers.ts'
import { openStream, type EventStream } from './event-stream.ts'
import { startSecondProcess, type SecondProcess } from './second-process.ts'

let berth: Berth
let second: SecondProcess
let callers: Callers
let node: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  second = await startSecondProcess(berth)
  callers = await makeCallers(berth)
  node = await makeRefusingNode(berth)
})
afterAll(async () => {
  await second.stop()
  await berth.stop()
})

const makeVm = (): Promise<string> => makeVmRow(berth.services.db, callers.owner, node)
const open = (
  vm: string,
  {
    url = berth.url,
    token = callers.owner,
    lastEventId,
  }: { url?: string; token?: string | undefined; lastEventId?: string | undefined } = {},
): Promise<EventStream> => openStream(`${url}/api/v1/vms/${vm}/events`, { token, lastEventId })

const round: readonly VmStatus[] = [
  'stopping',
  'stopped',
  'starting',
  'running',
  'pausing',
  'paused',
  'resuming',
  'running',
]
/** Moves the VM so many times, round and round through its states. */
async function move(vm: string, times: number, first = 0): Promise<void> {
  for (let step = first; step < first + times; step++)
    expect(
      await moveVm(berth.services.db, berth.services, decodeId('vm', vm) ?? '', round[step % round.length] ?? 'error', {
        reason: `step ${step}`,
      }),
    ).toBeDefined()
}

/** Everything that happened after a position, as the table has it. */
async function written(vm: string, after = 0): Promise<{ id: string; status: string }[]> {
  const { rows } = await berth.services.database.pool.query<{ id: string; status: string }>(
    'select position::text as id, status from vm_events where vm_id = $1 and position > $2 order by position',
    [decodeId('vm', vm), after],
  )
  return rows
}

/** Reads until the event of this position, or to the end. */
async function readUntil(stream: EventStream, last: string): Promise<{ id: string; status: string }[]> {
  const read: { id: string; status: string }[] = []
  for (;;) {
    const event = await stream.next()
    if (!event) return read
    read.push({ id: event.id ?? '', status: String(event.data['status']) })
    if (event.id === last) return read
  }
}

test('starts with the current status, continues live and in order, and has cursors to resume from', async () => {
  const vm = await makeVm()
  const stream = await open(vm)
  expect([
    stream.status,
    stream.headers.get('content-type'),
    stream.headers.get('cache-control'),
    stream.headers.get('x-accel-buffering'),
  ]).toEqual([200, 'text/event-stream; charset=utf-8', 'no-cache, no-transform', 'no'])
  expect(stream.headers.get('x-request-id')).toMatch(/^req_/)
  expect(await stream.next()).toEqual({
    id: '1',
    name: null,
    data: { id: '1', vm_id: vm, status: 'running', status_reason: null, at: expect.stringMatching(/Z$/) },
  })
  expect(stream.retryMs).toBe(2000)
  await move(vm, 4)
  expect(await readUntil(stream, '5')).toEqual(await written(vm, 1))
  stream.close()
})

test('resumed again and again at any point while events are written, it has every event once', async () => {
  const vm = await makeVm()
  const total = 120
  const writing = move(vm, total)
  const seen: { id: string; status: string }[] = []
  for (let turn = 0; seen.at(-1)?.id !== String(total + 1); turn++) {
    const stream = await open(vm, { url: turn % 2 === 0 ? berth.url : second.url, lastEventId: seen.at(-1)?.id ?? '0' })
    const events = ((turn * 7) % 11) + 1
    for (let count = 0; count < events && seen.at(-1)?.id !== String(total + 1); count++) {
      const event = await stream.next()
      if (event) seen.push({ id: event.id ?? '', status: String(event.data['status']) })
    }
    stream.close()
  }
  await writing
  expect(seen).toEqual(await written(vm))
})

test('many readers of one VM all get every event, also those that join late', async () => {
  const vm = await makeVm()
  const early = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      open(vm, { url: index % 2 === 0 ? berth.url : second.url, lastEventId: '0' }),
    ),
  )
  const writing = move(vm, 40)
  const late = await Promise.all(Array.from({ length: 4 }, () => open(vm, { lastEventId: '0' })))
  const all = await Promise.all([...early, ...late].map((stream) => readUntil(stream, '41')))
  await writing
  const truth = await written(vm)
  for (const read of all) expect(read).toEqual(truth)
  for (const stream of [...early, ...late]) stream.close()
})

test('while the connection for notices is cut again and again, no event is lost', async () => {
  const vm = await makeVm()
  const listens = (connected: boolean) =>
    until(`the line is ${connected ? 'there' : 'missed'}`, () => berth.services.pubsub.connected === connected)
  const stream = await open(vm, { lastEventId: '0' })
  const reading = readUntil(stream, '31')
  for (let step = 0; step < 30; step++) {
    await move(vm, 1, step)
    if (step % 10 !== 4) continue
    await listens(true)
    const missed = listens(false) // or the next cut might find only a line that is dead already
    const cut = asAdmin(inject('postgres'), async (admin) => {
      const { rowCount } = await admin.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'berth-listen' and position('/' || datname || '?' in $1) > 0",
        [berth.services.database.url],
      )
      expect(rowCount).toBeGreaterThan(0)
    })
    await Promise.all([missed, cut])
  }
  expect(await reading).toEqual(await written(vm))
  stream.close()
})

test('takes the cursor from the query too; the header wins', async () => {
  const vm = await makeVm()
  await move(vm, 6)
  const stream = await openStream(`${berth.url}/api/v1/vms/${vm}/events?after=5`, { token: callers.owner })
  expect((await stream.next())?.id).toBe('6')
  stream.close()
  const both = await openStream(`${berth.url}/api/v1/vms/${vm}/events?after=5`, {
    token: callers.owner,
    lastEventId: '2',
  })
  expect((await both.next())?.id).toBe('3')
  both.close()
})

test('ends after deleted; resumed before that it sends the rest, and resumed after that there is no such VM', async () => {
  const vm = await makeVm()
  const stream = await open(vm)
  const id = decodeId('vm', vm) ?? ''
  for (const status of ['deleting', 'deleted'] as const) await moveVm(berth.services.db, berth.services, id, status)
  expect((await readUntil(stream, 'none')).map(({ status }) => status)).toEqual(['running', 'deleting', 'deleted'])
  expect((await readUntil(await open(vm, { lastEventId: '1' }), 'none')).map(({ status }) => status)).toEqual([
    'deleting',
    'deleted',
  ])
  for (const lastEventId of [undefined, '3', '4', '999']) expect((await open(vm, { lastEventId })).status).toBe(404)
})

test('is refused by its status, in the envelope of every other path', async () => {
  const vm = await makeVm()
  const absent = await open(newId('vm'))
  expect([absent.status, absent.headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8'])
  expect((await open(vm, { token: callers.stranger })).status).toBe(404)
  expect((await open(vm, { token: 'nonsense' })).status).toBe(401)
  for (const lastEventId of ['abc', '-1', '1.5', '9'.repeat(20), "1'"])
    expect((await open(vm, { lastEventId })).status, lastEventId).toBe(400)
})

test('a cursor beyond the end waits for what comes after it', async () => {
  const vm = await makeVm()
  const stream = await open(vm, { lastEventId: '3' })
  await move(vm, 4)
  expect((await stream.next())?.id).toBe('4')
  stream.close()
})

test('a reader slower than the events come gets every one of them', async () => {
  const vm = await makeVm()
  const id = decodeId('vm', vm) ?? ''
  const stream = await open(vm, { lastEventId: '1' })
  // Far more than what both ends of a connection buffer by themselves: the stream must wait for its reader.
  const [events, bytes] = [120, limits.streamQueuedBytes / 8]
  await berth.services.database.pool.query(
    "insert into vm_events (vm_id, position, status, status_reason) select $1, 1 + n, 'running', repeat('x', $3) from generate_series(1, $2) n",
    [id, events, bytes],
  )
  publish(berth.services.db, 'vm', id)
  const read: string[] = []
  while (read.length < events) {
    const event = await stream.next()
    if (!event) break
    read.push(event.id ?? '')
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(read).toEqual(Array.from({ length: events }, (_, index) => String(index + 2)))
  stream.close()
})

test('a reader that accepts nothing is cut off, and its events end', async () => {
  let ended = false
  const app = fastify()
  const endless = async function* (): AsyncIterableIterator<Record<string, unknown>> {
    try {
      for (let id = 1; ; id++) yield { body: { id, text: 'x'.repeat(100_000) } }
    } finally {
      ended = true
    }
  }
  app.get('/', (request, reply) =>
    sendStream(request, reply, endless(), new AbortController(), new AbortController().signal, 300),
  )
  await app.listen({ port: await freePort(), host: '127.0.0.1' })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1', () =>
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'),
  ).pause()
  expect(await pollUntil(() => ended, { limitMs: 10_000, everyMs: 20 })).toBe(true)
  socket.destroy()
  await app.close()
})

test('ends when the membership of its reader is deactivated', async () => {
  const token = await berth.token('quinn', 'acme', 'member')
  const vm = await makeVm()
  const stream = await open(vm, { token })
  expect((await stream.next())?.id).toBe('1')
  const [membership] = decodeJwt<{ org_memberships: { membership_id: string }[] }>(token).org_memberships
  await deactivateMembership(berth.services.db, decodeId('membership', membership?.membership_id ?? '') ?? '')
  expect(await stream.next()).toBe(null)
})

test('a process that stops ends its streams cleanly, and they resume at the other one', async () => {
  const third = await startSecondProcess(berth)
  const vm = await makeVm()
  const stream = await open(vm, { url: third.url })
  expect((await stream.next())?.id).toBe('1')
  const [end] = await Promise.all([stream.next(), third.stop()])
  expect(end).toBe(null)
  await move(vm, 2)
  const again = await open(vm, { lastEventId: '1' })
  expect(await readUntil(again, '3')).toEqual(await written(vm, 1))
  again.close()
})

test('a browser’s EventSource follows it, and reconnects by itself without gaps or repeats', async () => {
  const vm = await makeVm()
  const seen: string[] = []
  const cut: AbortController[] = []
  const source = new EventSource(`${berth.url}/api/v1/vms/${vm}/events`, {
    fetch: (address, init) => {
      const line = new AbortController()
      cut.push(line)
      return fetch(address, {
        ...init,
        signal: AbortSignal.any([line.signal, ...(init.signal ? [init.signal as AbortSignal] : [])]),
        headers: { ...init.headers, authorization: `Bearer ${callers.owner}` },
      })
    },
  })
  source.addEventListener('message', ({ lastEventId }: { lastEventId: string }) => seen.push(lastEventId))
  expect(await pollUntil(() => seen.length === 1, { limitMs: 5_000, everyMs: 20 })).toBe(true)
  await move(vm, 3)
  expect(await pollUntil(() => seen.length === 4, { limitMs: 5_000, everyMs: 20 })).toBe(true)
  cut[0]?.abort(new Error('the network is gone'))
  await move(vm, 3, 3)
  expect(await pollUntil(() => seen.length >= 7, { limitMs: 10_000, everyMs: 20 })).toBe(true)
  source.close()
  expect(seen).toEqual(['1', '2', '3', '4', '5', '6', '7'])
  expect(cut.length).toBe(2)
})

test('GraphQL’s subscription resumes from the same cursors, and a VM shows its latest one', async () => {
  const vm = await makeVm()
  await move(vm, 5)
  const { body } = await berth.ask(`{ vm(id: "${vm}") { eventCursor } }`, { token: callers.owner })
  expect(body.data?.['vm']).toEqual({ eventCursor: '6' })
  const follow = async (after: string): Promise<EventStream> => {
    const query = new URLSearchParams({
      query: `subscription { vmEvents(id: "${vm}", after: "${after}") { ... on VmEvent { cursor status } } }`,
    })
    return openStream(`${berth.url}/graphql?${query}`, { token: callers.owner })
  }
  const cursorOf = async (stream: EventStream): Promise<unknown> =>
    ((await stream.next())?.data as { data: { vmEvents: { cursor: string } } } | undefined)?.data.vmEvents.cursor
  const middle = await follow('3')
  expect([await cursorOf(middle), await cursorOf(middle), await cursorOf(middle)]).toEqual(['4', '5', '6'])
  const latest = await follow('6')
  await move(vm, 1, 5)
  expect([await cursorOf(middle), await cursorOf(latest)]).toEqual(['7', '7'])
  middle.close()
  latest.close()
})
