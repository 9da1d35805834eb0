/** The log of a session, and what it leaves to be done: positions, taking, one answer for each tool use, an interrupt first. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { openDatabase, type Database } from '#src/platform/postgres.ts'
import { pendingOf } from '#src/resources/agents/sessions/pending-work.ts'
import { findSessionRow } from '#src/resources/agents/sessions/rows.ts'
import { startApp, type RunningApp } from '../../gateway/running-app.ts'
import { append, makeSessionRow, readWholeLog, take } from '../../support/sessions.ts'

let app: RunningApp
let database: Database
let token: string
beforeAll(async () => {
  app = await startApp()
  database = openDatabase(app.services.database.url, { connections: 4, applicationName: 'test' })
  token = await app.token()
})
afterAll(async () => {
  await database.close()
  await app.stop()
})
const said = (text: string) => ({ type: 'user.message', data: { content: [{ type: 'text', text }] } })
const toolUse = (permission: string, type = 'agent.tool_use') => ({
  type,
  data: { name: 'bash', input: {}, evaluated_permission: permission },
})
const publicId = (event: { id: string } | undefined): string => encodeId('sessionEvent', event?.id ?? '')

test('positions grow by one, also for taken events, with any number of writers', async () => {
  const { db } = database
  const id = await makeSessionRow(db, token)
  const writers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => append(db, id, said(`${index}`), { type: 'session.status_running' })),
  )
  expect(
    writers
      .flat()
      .map(({ position }) => position)
      .sort((one, other) => one - other),
  ).toEqual(Array.from({ length: 40 }, (_, index) => index + 1))
  for (const [message, status] of writers)
    expect([message?.processedAt, (status?.position ?? 0) - (message?.position ?? 0)]).toEqual([null, 1])
  const [first, second] = (await readWholeLog(db, id)).filter(({ type }) => type === 'user.message')
  const taken = await take(db, id, second?.id ?? '', first?.id ?? '')
  expect(taken.map(({ id: one, takenPosition }) => [one, takenPosition])).toEqual([
    [first?.id, 41],
    [second?.id, 42],
  ])
  expect(taken.every(({ processedAt }) => processedAt !== null)).toBe(true)
  expect(await take(db, id, first?.id ?? '')).toEqual([]) // again changes nothing
  expect(await findSessionRow(db, id)).toMatchObject({ eventPosition: 42, serviceEvents: 20 })
  expect(await readWholeLog(db, id)).toHaveLength(40)
})

test('a tool use has one result and one confirmation, however often they are written', async () => {
  const { db } = database
  const id = await makeSessionRow(db, token)
  const [use] = await append(db, id, toolUse('allow'))
  const result = { type: 'agent.tool_result', data: { tool_use_id: publicId(use), content: [], is_error: false } }
  await append(db, id, result)
  await expect(append(db, id, { type: 'agent.message', data: { content: [] } }, result)).rejects.toThrow(
    /session_events_answers/,
  )
  expect((await readWholeLog(db, id)).map(({ type }) => type)).toEqual(['agent.tool_use', 'agent.tool_result'])
  expect(await findSessionRow(db, id)).toMatchObject({ eventPosition: 2 })
})

test('pending work has interrupts apart, messages in order, and what each open tool use needs', async () => {
  const { db } = database
  const id = await makeSessionRow(db, token)
  const [, , allowed, asked, confirmed, denied, custom, done] = await append(
    db,
    id,
    said('one'),
    { type: 'agent.message', data: { content: [] } },
    toolUse('allow'),
    toolUse('ask', 'agent.mcp_tool_use'),
    toolUse('ask'),
    toolUse('ask'),
    { type: 'agent.custom_tool_use', data: { name: 'weather', input: {} } },
    toolUse('allow'),
  )
  await append(
    db,
    id,
    { type: 'user.tool_confirmation', data: { tool_use_id: publicId(confirmed), result: 'allow' } },
    { type: 'user.tool_confirmation', data: { tool_use_id: publicId(denied), result: 'deny', deny_message: 'no' } },
    { type: 'agent.tool_result', data: { tool_use_id: publicId(done), content: [] } },
    said('two'),
    { type: 'user.interrupt' },
  )
  const log = await readWholeLog(db, id)
  const pending = pendingOf(log)
  expect(pending.interrupts.map(({ type }) => type)).toEqual(['user.interrupt'])
  expect(pending.messages.map(({ data }) => data)).toEqual([said('one').data, said('two').data])
  expect(pending.answers).toHaveLength(2)
  expect(pending.toolUses.map(({ event, needs, denyMessage }) => [event.id, needs, denyMessage])).toEqual([
    [allowed?.id, 'run', null],
    [asked?.id, 'confirmation', null],
    [confirmed?.id, 'run', null],
    [denied?.id, 'refuse', 'no'],
    [custom?.id, 'result', null],
  ])
  expect(pending.waitingFor).toEqual([publicId(asked), publicId(custom)])
  expect(pendingOf(log, { toolsRunAtClient: true }).toolUses.map(({ needs }) => needs)).toEqual([
    'result',
    'confirmation',
    'result',
    'refuse',
    'result',
  ])
  await take(db, id, ...log.map((event) => event.id))
  expect(pendingOf(await readWholeLog(db, id))).toMatchObject({ interrupts: [], messages: [], answers: [] })
})
