/** What groups ask of sessions, as it is stored: whose turn it is, and streams. No worker runs. */
import type { KyselyPlugin } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { createMasker } from '#src/platform/masking.ts'
import { change, getOne, sql, transaction } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { deleteGroup } from '#src/resources/agents/groups.ts'
import { followGroupRun, type RunChunk } from '#src/resources/agents/groups/streams.ts'
import { appendEvents, type NewEvent } from '#src/resources/agents/sessions/log.ts'
import { findDueSessions } from '#src/resources/agents/tasks.ts'
import type { Chunk } from '#src/resources/agents/tasks/chunks.ts'
import { taskLimits, taskStreamLimits } from '#src/resources/agents/tasks/limits.ts'
import { removeEndedStreams, writePiece } from '#src/resources/agents/tasks/streams.ts'
import { streamAnswer } from '#src/resources/agents/turns/answer-streams.ts'
import { findMember } from '#src/resources/identity/memberships.ts'
import { makeAgent } from '../../support/agents-service.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf } from '../../support/makers.ts'
import { until } from '../../support/until.ts'
import { areWhole, makeGroup, readRun, textsOf, type TestGroup, type TestRun } from './run-streams.ts'

let berth: Berth
let token: string
let agent: string
let call: Call
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  agent = await makeAgent(berth, token)
  const caller = await findMember(berth.services.db, idsOf(token), 'test')
  if (!caller) throw new Error('the token names no member')
  call = { ...berth.services, caller, requestId: 'req_test' }
})
afterAll(() => berth?.stop())

let group: TestGroup
beforeEach(async () => {
  group = await makeGroup(berth, token, { agent })
})
const taskOf = ({ runId }: TestRun): string => decodeId('groupRun', runId) ?? ''
const stored = (session: string): string => decodeId('session', session) ?? ''
const append = (session: string, ...events: NewEvent[]): Promise<unknown> =>
  transaction(berth.services.db, (tx) => appendEvents(tx, stored(session), events))
/** A run that is at work, whose model has begun to answer. */
async function answering(): Promise<{ run: TestRun; taskId: string; requestId: string }> {
  const run = await group.say('hello')
  const requestId = newUuid()
  await append(run.session, { type: 'span.model_request_start', id: requestId })
  return { run, taskId: taskOf(run), requestId }
}
const deltas = (...texts: string[]): Chunk[] => texts.map((delta) => ({ type: 'text-delta', id: 'x', delta }))

describe('the next turn', () => {
  /** Idle sessions like one of this group's, each with a task that waits. */
  const makeWaiting = (like: string, count: number, stopReason: string | null = null): Promise<unknown> =>
    change(
      berth.services.db,
      sql`
      with made as (
        insert into sessions select (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(), 'status', 'idle', 'stop_reason', ${stopReason}::jsonb, 'running_since', null))).*
        from sessions s, generate_series(1, ${count}) where s.id = ${stored(like)} returning *)
      insert into session_tasks (id, kind, organization_id, owner_user_id, session_id, status, expires_at)
      select gen_random_uuid(), 'group_run', organization_id, owner_user_id, id, 'queued', now() + interval '1 hour' from made`,
    )

  test('is looked for in every organization that has room, however much waits elsewhere', async () => {
    await group.say('hello') // now its organization has no room for another
    await makeWaiting(group.members[1] ?? '', 60)
    const others = new Set<string>()
    for (const [organization, count] of [
      ['busy', 60],
      ['small', 1],
    ] as const) {
      const theirs = await berth.token('erin', organization)
      const other = await makeGroup(berth, theirs, { agent: await makeAgent(berth, theirs) })
      await makeWaiting(other.members[0] ?? '', count)
      others.add(idsOf(theirs).organizationId)
    }
    const services = {
      ...berth.services,
      config: { ...berth.services.config, rateLimitFactor: 1 / limits.sessionsAtWorkMax },
    }
    for (let look = 0; look < 5; look++) {
      const due = await findDueSessions(services)
      const { organizations } = await getOne<{ organizations: string[] }>(
        services.db,
        sql`select array_agg(distinct organization_id) as organizations from sessions where id = any(${due}::uuid[])`,
      )
      expect([due.length, new Set(organizations)]).toEqual([20, others])
    }
  })

  test('comes too where more tasks wait for others than a look sees', async () => {
    const { db } = berth.services
    await change(db, sql`delete from session_tasks where status = 'queued'`)
    const [first = '', second = ''] = group.members
    await makeWaiting(first, taskLimits.seenAtOnce + 100, '{"type": "requires_action"}')
    expect(await findDueSessions(berth.services)).toEqual([])
    await makeWaiting(second, 1)
    const seen = new Set<number>()
    for (let look = 0; look < 100; look++) seen.add((await findDueSessions(berth.services)).length)
    expect(seen.has(1)).toBe(true)
    expect([...seen].every((count) => count <= 1)).toBe(true)
  })
})

describe('a stream', () => {
  test('tells of a denial that its own session’s log has, and of nobody else’s', async () => {
    const { run } = await answering()
    const toolUse = newUuid()
    const id = encodeId('sessionEvent', toolUse)
    await append(run.session, { type: 'agent.tool_use', id: toolUse, data: { name: 'ask_user', input: {} } })
    const confirmation = { tool_use_id: id, result: 'deny' }
    await append(group.members[1] ?? '', { type: 'user.tool_confirmation', data: confirmation })
    const data = { tool_use_id: id, is_error: true, content: [{ type: 'text', text: 'It broke.' }] }
    await append(run.session, { type: 'agent.tool_result', data })
    const reader = await readRun(berth, token, run)
    const { chunk } = await reader.until(({ chunk: { type } }) => type.startsWith('tool-output'))
    expect(chunk).toEqual({ type: 'tool-output-error', toolCallId: id, errorText: 'It broke.' })
    await reader.close()
  })

  test('goes on after a piece whose connection was lost while it was being written', async () => {
    const { db } = berth.services
    const { run, taskId, requestId } = await answering()
    const lost = Promise.withResolvers<unknown>()
    const cut: KyselyPlugin & { isDue: boolean } = {
      isDue: true,
      /** The first statement is on its way to Postgres when its connection is lost. */
      transformQuery({ node }) {
        if (!this.isDue) return node
        this.isDue = false
        const id = encodeId('sessionEvent', requestId)
        const chunks: Chunk[] = [
          { type: 'text-start', id },
          { type: 'text-delta', id, delta: 'one ' },
        ]
        lost.resolve(writePiece(db, { taskId, requestId, number: 0, chunks }))
        throw Object.assign(new Error('the connection is lost'), { code: 'ECONNRESET' })
      },
      transformResult: async ({ result }) => result,
    }
    const told = streamAnswer(db.withPlugin(cut), { taskId, requestId }, createMasker([]), new AbortController().signal)
    await transaction(db, async (tx) => {
      await change(tx, sql`select 1 from task_streams where task_id = ${taskId} for update`)
      told.say('one ')
      await until('both attempts wait', async () => {
        const { count } = await getOne<{ count: number }>(
          db,
          sql`select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%update task_streams%'`,
        )
        return count === 2
      })
    })
    expect(await lost.promise).toBe(true)
    await told.finish('one two')
    const reader = await readRun(berth, token, run)
    await reader.until(({ number }) => number === 6)
    expect(textsOf(reader.frames)).toEqual(['one two'])
    await reader.close()
  })

  test('ends for its readers when its group is deleted', async () => {
    const { run, taskId, requestId } = await answering()
    const follow = (): Promise<AsyncIterableIterator<RunChunk>> => followGroupRun(call, group.id, run.runId, null)
    const [early, late] = [await follow(), await follow()]
    await writePiece(berth.services.db, { taskId, requestId, number: 0, chunks: deltas('one') })
    expect((await early.next()).value).toMatchObject({ number: 1 })
    await change(
      berth.services.db,
      sql`update session_tasks set status = 'cancelled', finished_at = now() where id = ${taskId}`,
    )
    await deleteGroup(call, group.id)
    expect(await late.next()).toEqual({ done: true, value: undefined })
    const rest: number[] = []
    for await (const { number } of early) rest.push(number)
    expect(rest).toEqual([2, 3, 4]) // which it had read
  })

  test('keeps its newest chunks, and says where they begin', async () => {
    const { run, taskId, requestId } = await answering()
    const { chunksKept, chunksSpare } = taskStreamLimits
    const thousand = deltas(...Array.from({ length: 1000 }, () => '.'))
    for (let number = 0; number < 22; number++)
      expect(await writePiece(berth.services.db, { taskId, requestId, number, chunks: thousand })).toBe(true)
    const { first, last, count } = await getOne<{ first: number; last: number; count: number }>(
      berth.services.db,
      sql`select min(number) as first, max(number) as last, count(*) from task_chunks where task_id = ${taskId}`,
    )
    expect(last).toBe(22_003)
    expect(count).toBe(last - first + 1)
    expect(count).toBeGreaterThanOrEqual(chunksKept)
    expect(count).toBeLessThanOrEqual(chunksKept + chunksSpare)
    const late = await readRun(berth, token, run)
    expect([late.status, late.body]).toEqual([409, expect.stringContaining(`after=${first - 1} `)])
    expect((await readRun(berth, token, run, { after: first - 2 })).status).toBe(409)
    const reader = await readRun(berth, token, run, { after: first - 1 })
    await reader.until(({ number }) => number === last)
    expect([areWhole(reader.frames, first), reader.frames.length]).toEqual([true, count])
    await reader.close()
  })

  test('is removed some time after its end, with all the others, by several workers at once', async () => {
    const { db } = berth.services
    const { taskId } = await answering()
    /** Streams of runs that ended ten minutes ago, the given number with so many chunks each. */
    const end = (streams: number, chunks: number): Promise<unknown> =>
      change(
        db,
        sql`
        with task as (
          insert into session_tasks (id, kind, organization_id, owner_user_id, session_id, status, expires_at, finished_at)
          select gen_random_uuid(), kind, organization_id, owner_user_id, session_id, 'cancelled', now(), now()
          from session_tasks, generate_series(1, ${streams}) where id = ${taskId} returning id),
        stream as (
          insert into task_streams (task_id, last_number, ended_at) select id, ${chunks}, now() - interval '10 minutes' from task returning task_id)
        insert into task_chunks (task_id, number, body, end_bytes) select task_id, number, '{}', 2 * number from stream, generate_series(1, ${chunks}) number`,
      )
    const left = (): Promise<{ streams: number; chunks: number }> =>
      getOne(
        db,
        sql`
        select count(distinct task_id) as streams, count(c.number) as chunks
        from task_streams left join task_chunks c using (task_id) where ended_at < now() - interval '5 minutes'`,
      )
    await end(250, 10)
    await end(2, 12_000)
    expect(await left()).toEqual({ streams: 252, chunks: 26_500 })
    await transaction(db, async (tx) => {
      await change(
        tx,
        sql`select 1 from task_streams where task_id in (select task_id from task_streams where last_number = 10 limit 7) for update`,
      ) // as another worker does
      await removeEndedStreams(db)
      expect(await left()).toEqual({ streams: 7, chunks: 70 })
    })
    await removeEndedStreams(db)
    expect(await left()).toEqual({ streams: 0, chunks: 0 })
  })
})
