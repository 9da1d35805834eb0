/** The client's streams: nothing is missing and nothing comes twice, however they are cut, and they end. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { Berth as Client, BerthError } from '#src/client/berth.ts'
import { follow, streamLimits } from '#src/client/streams.ts'
import type { Sink, Sockets } from '#src/client/sockets.ts'
import { encodeId } from '#src/platform/ids.ts'
import { openWay, type Way } from '../console/cuttable.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { append, makeSessionRow } from '../support/sessions.ts'

let berth: Berth
let token: string
let way: Way
let client: Client
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
})
afterAll(() => berth.stop())
beforeEach(async () => {
  way = await openWay(berth.port)
  client = new Client({ url: `http://127.0.0.1:${way.port}`, token })
})
afterEach(async () => {
  await client.close()
  way.close()
})

const message = (text: string) => ({ type: 'agent.message', data: { content: [{ type: 'text', text }] } })

/** What is said in a session, as it comes. */
async function* messagesIn(id: string, options: { after?: string; signal?: AbortSignal } = {}): AsyncGenerator<string> {
  for await (const { event } of client.sessions.events(id, options))
    if (event?.__typename === 'AgentMessage') {
      const [block] = event.content
      if (block && 'text' in block) yield block.text
    }
}

test('a session’s stream goes on after its connection was cut, with what was said meanwhile, and ends with the session', async () => {
  const { db } = berth.services
  const row = await makeSessionRow(db, token)
  const id = encodeId('session', row)
  await append(db, row, message('one'), message('two'))
  const said = messagesIn(id)
  expect([await said.next(), await said.next()].map(({ value }) => value as string)).toEqual(['one', 'two'])
  way.cut()
  await append(db, row, message('three'))
  way.mend()
  expect((await said.next()).value).toBe('three')
  const next = said.next()
  await append(db, row, message('four'))
  expect((await next).value).toBe('four')
  way.cut()
  way.mend()
  await append(db, row, message('five'))
  expect((await said.next()).value).toBe('five')
  const end = said.next()
  await client.sessions.delete(id)
  expect(await end).toEqual({ done: true, value: undefined })
  expect(way.sockets()).toBeGreaterThanOrEqual(3)
})

test('it begins after a cursor, and ends without an error when it is aborted', async () => {
  const { db } = berth.services
  const row = await makeSessionRow(db, token)
  const id = encodeId('session', row)
  await append(db, row, message('old'))
  const { eventCursor } = await client.sessions.get(id)
  await append(db, row, message('new'))
  const controller = new AbortController()
  const said = messagesIn(id, { after: eventCursor, signal: controller.signal })
  expect((await said.next()).value).toBe('new')
  const end = said.next()
  controller.abort()
  expect((await end).done).toBe(true)
})

test('what is refused is thrown, and not tried again', async () => {
  const missing = client.sessions.events('sesn_00000000000000000000000000').next()
  await expect(missing).rejects.toMatchObject({ name: 'BerthError', code: 'NOT_FOUND', status: 404 })
  const stranger = new Client({ url: berth.url, token: 'nonsense' })
  await expect(stranger.sessions.events('sesn_00000000000000000000000000').next()).rejects.toMatchObject({
    status: 401,
  })
  await stranger.close()
})

test('a source of tokens is asked again when a stream’s token was refused', async () => {
  const asked: boolean[] = []
  const source = (wasRefused: boolean): string => {
    asked.push(wasRefused)
    return wasRefused ? token : 'ended'
  }
  const row = await makeSessionRow(berth.services.db, token)
  await append(berth.services.db, row, message('heard'))
  const renewing = new Client({ url: berth.url, token: source })
  for await (const { event } of renewing.sessions.events(encodeId('session', row))) {
    expect(event?.__typename).toBe('AgentMessage')
    break
  }
  expect(asked).toEqual([false, true])
  await renewing.close()
})

test('streams that share a connection whose token was refused all go on', async () => {
  const row = await makeSessionRow(berth.services.db, token)
  await append(berth.services.db, row, message('heard'))
  const renewing = new Client({ url: berth.url, token: (wasRefused) => (wasRefused ? token : 'ended') })
  const hear = async () => (await renewing.sessions.events(encodeId('session', row)).next()).value?.event?.__typename
  expect(await Promise.all([hear(), hear(), hear()])).toEqual(['AgentMessage', 'AgentMessage', 'AgentMessage'])
  await renewing.close()
})

test('an error of the source of tokens is the error of a call and of a stream', async () => {
  const over = new BerthError({ code: 'UNAUTHORIZED', status: 401, message: 'Your sign-in has ended.' })
  const lost = new Client({ url: berth.url, token: () => Promise.reject(over) })
  await expect(lost.viewer()).rejects.toBe(over)
  await expect(lost.sessions.events('sesn_00000000000000000000000000').next()).rejects.toBe(over)
  await lost.close()
})

test('an organization’s events begin with now, also when the connection is lost before the first', async () => {
  const events = client.events()
  const found = (async () => {
    for await (const event of events) if (event.nodeType === 'PROJECT') return event
    return undefined
  })()
  await expect.poll(() => way.sockets()).toBeGreaterThan(0)
  way.cut()
  const project = await new Client({ url: berth.url, token }).projects.create({ name: 'meanwhile' })
  way.mend()
  expect(await found).toMatchObject({ nodeId: project.id, change: 'CREATED' })
})

test('a reader that is slow is served from where it is, without a gap', async () => {
  const whole = streamLimits.waitingMax * 3 + 7
  const begun: unknown[] = []
  const sockets = {
    subscribe(_query: string, { after = '0' }: { after?: string }, sink: Sink) {
      begun.push(after)
      let isLeft = false
      queueMicrotask(() => {
        for (let at = Number(after) + 1; at <= whole && !isLeft; at++) sink.next({ data: String(at) })
        if (!isLeft) sink.end()
      })
      return () => (isLeft = true)
    },
    terminate: () => undefined,
  } as unknown as Sockets // what a stream uses of them
  const read: string[] = []
  const source = { query: '', variables: {}, read: (data: unknown) => ({ value: String(data), cursor: String(data) }) }
  for await (const value of follow(sockets, source)) read.push(value)
  expect(read).toEqual(Array.from({ length: whole }, (_, at) => String(at + 1)))
  expect(begun).toEqual(['0', '1000', '2000', '3000'])
})
