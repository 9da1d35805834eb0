/** The stream of a run: what it tells, that it resumes, and what it refuses. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { change, getOne, sql } from '#src/platform/postgres.ts'
import { removeEndedStreams, writePiece } from '#src/resources/agents/tasks/streams.ts'
import { agentSessions, type AgentSessions } from '../../support/agent-sessions.ts'
import type { Berth } from '../../support/berth.ts'
import type { TestMcpServer } from '../../support/mcp-server.ts'
import type { MockUpstream } from '../../support/mock-upstream.ts'
import {
  areWhole,
  kindsOf,
  makeGroup,
  readRun,
  startToolsBerth,
  textsOf,
  toolsOf,
  type RunReader,
  type TestGroup,
  type TestRun,
  type ToolsBerth,
} from './run-streams.ts'

let berth: Berth
let mock: MockUpstream
let tools: TestMcpServer
let stop: ToolsBerth['stop']
let token: string
let sessions: AgentSessions
let member: string
beforeAll(async () => {
  ;({ berth, mock, tools, token, stop } = await startToolsBerth())
  sessions = agentSessions(berth, token)
  const own = toolsOf(tools, 'always_ask')
  member = await sessions.agent({
    model: 'test/signed',
    ...own,
    tools: [...own.tools, { type: 'custom', name: 'ask', description: 'Asks.', input_schema: { type: 'object' } }],
  })
})
afterAll(async () => {
  await stop?.()
})

let group: TestGroup
beforeEach(async () => {
  mock.forget()
  group = await makeGroup(berth, token, { agent: member })
})

const begun = (): Promise<TestRun> => group.say('hello')
const open = (run: TestRun, from: Parameters<typeof readRun>[3] = {}): Promise<RunReader> =>
  readRun(berth, token, run, from)
/** A run that waits for one that goes on until it is stopped. */
const queued = async (): Promise<{ before: TestRun; run: TestRun }> => {
  mock.script({ parts: [{ text: 'I go on' }, { hang: true }] })
  const before = await begun()
  await (await open(before)).until(({ chunk }) => chunk.type === 'text-delta')
  return { before, run: await begun() }
}
const errorOf = ({ body }: RunReader): { type: string; code: string } =>
  (JSON.parse(body) as { error: { type: string; code: string } }).error
/** Everything that a subscription sends, as text. */
const subscribe = async (query: string, by = token): Promise<string> =>
  (
    await fetch(`${berth.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${by}`, accept: 'text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    })
  ).text()
const storedId = ({ runId }: TestRun): string => decodeId('groupRun', runId) ?? ''

describe('the stream of a run', () => {
  test('waits while the run is queued, tells the text as it comes, and ends when the run has', async () => {
    const half = Promise.withResolvers<void>()
    const { before, run } = await queued()
    mock.script({ parts: [{ text: ['Hello', ' there'] }, { wait: half.promise }, { text: [', my', ' friend.'] }] })
    const reader = await open(run)
    expect([
      reader.status,
      reader.headers.get('x-sdk-ui-message-stream'),
      reader.headers.get('x-vercel-ai-ui-message-stream'),
    ]).toEqual([200, 'v1', 'v1'])
    expect(reader.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    await group.stop(before)
    await reader.until(({ chunk }) => chunk.type === 'text-delta')
    half.resolve()
    const frames = await reader.rest()
    expect(kindsOf(frames)).toEqual([
      'start',
      'data-group-run',
      'start-step',
      'text-start',
      'text-delta',
      'text-end',
      'finish-step',
      'data-group-run',
      'finish',
    ])
    expect(textsOf(frames)).toEqual(['Hello there, my friend.'])
    expect([areWhole(frames), reader.isDone]).toEqual([true, true])
    expect(frames[0]?.chunk).toEqual({ type: 'start', messageId: run.runId })
    expect(frames[1]?.chunk).toEqual({
      type: 'data-group-run',
      data: { run_id: run.runId, status: 'running', error: null },
      transient: true,
    })
    expect(frames.at(-1)?.chunk).toMatchObject({
      messageMetadata: {
        run_id: run.runId,
        status: 'completed',
        finishReason: 'stop',
        model: 'test/signed',
        usage: { output_tokens: expect.any(Number) },
      },
    })
  })

  test('tells calls of tools with their approvals, results and denials', async () => {
    mock.script(
      {
        parts: [
          { text: 'I will add.' },
          { tool: 'mcp__tools__add', arguments: '{"a":1,"b":2}' },
          { tool: 'mcp__tools__add', arguments: '{"a":3,"b":4}' },
          { tool: 'ask', arguments: '{"question":"why?"}' },
        ],
      },
      { parts: [{ text: 'Done.' }] },
    )
    const run = await begun()
    const reader = await open(run)
    await reader.until(
      ({ chunk }) =>
        chunk.type === 'data-group-run' && (chunk['data'] as { status: string }).status === 'requires_action',
    )
    const calls = reader.frames.filter(({ chunk }) => chunk.type === 'tool-input-available').map(({ chunk }) => chunk)
    expect(calls).toMatchObject([
      { toolName: 'mcp__tools__add', input: { a: 1, b: 2 } },
      { toolName: 'mcp__tools__add', input: { a: 3, b: 4 } },
      { toolName: 'ask', input: { question: 'why?' } },
    ])
    const [first, second, question] = calls.map((chunk) => String(chunk['toolCallId']))
    const asked = reader.frames.filter(({ chunk }) => chunk.type === 'tool-approval-request').map(({ chunk }) => chunk)
    expect(asked).toEqual(
      [first, second].map((toolCallId) => ({
        type: 'tool-approval-request',
        toolCallId,
        approvalId: toolCallId?.replace('sevt_', 'apr_'),
      })),
    )
    const [yes = '', no = ''] = asked.map((chunk) => String(chunk['approvalId']))
    expect((await group.get(run)).pending_approvals.map(({ approval_id: id }) => id)).toEqual([yes, no])
    await group.approve(run, yes, true)
    await group.approve(run, no, false)
    await group.answer(run, question ?? '', 'because')
    const frames = await reader.rest()
    const outcome = (id: string | undefined): unknown =>
      frames.find(({ chunk }) => chunk['toolCallId'] === id && chunk.type.startsWith('tool-output'))?.chunk
    expect(outcome(first)).toEqual({ type: 'tool-output-available', toolCallId: first, output: '3' })
    expect(outcome(second)).toEqual({ type: 'tool-output-denied', toolCallId: second })
    expect(outcome(question)).toEqual({ type: 'tool-output-available', toolCallId: question, output: 'because' })
    expect(textsOf(frames)).toEqual(['I will add.', 'Done.'])
    expect(kindsOf(frames).filter((kind) => kind.endsWith('step'))).toEqual([
      'start-step',
      'finish-step',
      'start-step',
      'finish-step',
    ])
    expect(areWhole(frames)).toBe(true)
  })

  test('keeps what a request said that failed in the middle, and tells the next in a text of its own', async () => {
    mock.script({ parts: [{ text: 'half of it' }, { cut: true }] }, { parts: [{ text: 'whole' }] })
    const run = await begun()
    const reader = await open(run)
    const frames = await reader.rest()
    expect(kindsOf(frames)).toEqual([
      'start',
      'data-group-run',
      'start-step',
      'text-start',
      'text-delta',
      'text-end',
      'finish-step',
      'start-step',
      'text-start',
      'text-delta',
      'text-end',
      'finish-step',
      'data-group-run',
      'finish',
    ])
    expect(textsOf(frames)).toEqual(['half of it', 'whole'])
  })

  test('that fails ends with the error, and one that is stopped with abort', async () => {
    mock.script({ status: 400, body: JSON.stringify({ error: { message: 'no', type: 'invalid_request_error' } }) })
    const failed = await (await open(await begun())).rest()
    expect(kindsOf(failed).slice(-4)).toEqual(['finish-step', 'data-group-run', 'error', 'finish'])
    expect(failed.at(-1)?.chunk).toMatchObject({ messageMetadata: { status: 'failed', finishReason: 'error' } })

    mock.script({ parts: [{ text: 'I go on' }, { hang: true }] })
    const run = await begun()
    const reader = await open(run)
    await reader.until(({ chunk }) => chunk.type === 'text-delta')
    await group.stop(run)
    expect(kindsOf(await reader.rest()).slice(-5)).toEqual([
      'text-delta',
      'text-end',
      'finish-step',
      'data-group-run',
      'abort',
    ])
    expect(reader.isDone).toBe(true)
  })

  test('that is stopped while it is queued begins and ends with abort', async () => {
    const { before, run } = await queued()
    const waiting = await open(run)
    await group.stop(run)
    expect(kindsOf(await waiting.rest())).toEqual(['start', 'data-group-run', 'abort'])
    await group.stop(before)
  })

  test('tells nothing of a secret, whose beginning it holds back', async () => {
    const { body: vault } = await berth.call<{ id: string }>('POST', '/agents/v1/vaults', {
      token,
      body: { display_name: 'keys' },
    })
    await berth.call('POST', `/agents/v1/vaults/${vault.id}/credentials`, {
      token,
      body: {
        display_name: 'it',
        auth: { type: 'environment_variable', secret_name: 'KEY', secret_value: 'geheim-123456' },
      },
    })
    const between = Promise.withResolvers<void>()
    mock.script({ parts: [{ text: 'It is gehe' }, { wait: between.promise }, { text: 'im-123456 and 😀' }] })
    group = await makeGroup(berth, token, { agent: member, vault_ids: [vault.id] })
    const run = await group.say('what is it?')
    const reader = await open(run)
    expect((await reader.until(({ chunk }) => chunk.type === 'text-delta')).chunk).toMatchObject({ delta: 'It is ' })
    between.resolve()
    expect(textsOf(await reader.rest())).toEqual(['It is *** and 😀'])
  })
})

describe('a reader', () => {
  test('resumes after any chunk, by either cursor, while the run goes on and after it', async () => {
    const half = Promise.withResolvers<void>()
    mock.script({ parts: [{ text: 'one ' }, { wait: half.promise }, { text: 'two' }] })
    const run = await begun()
    const first = await open(run)
    const { number } = await first.until(({ chunk }) => chunk.type === 'text-delta')
    await first.close() // which stops nothing
    const byQuery = await open(run, { after: number })
    const byHeader = await open(run, { cursor: number })
    half.resolve()
    expect(await byQuery.rest()).toEqual(await byHeader.rest())
    const all = await (await open(run)).rest()
    expect(all).toEqual([...first.frames, ...byQuery.frames])
    for (const { number: after } of all.slice(0, -1))
      expect(await (await open(run, { after })).rest()).toEqual(all.slice(after))
  })

  test('of a run that ended gets 204 when it has all, and a minute later', async () => {
    const run = await begun()
    const all = await (await open(run)).rest()
    const nothing = await open(run, { after: all.length })
    expect([nothing.status, nothing.body]).toEqual([204, ''])
    await change(
      berth.services.db,
      sql`update task_streams set ended_at = ended_at - interval '61 seconds' where task_id = ${storedId(run)}`,
    )
    expect((await open(run)).status).toBe(204)
    await change(
      berth.services.db,
      sql`update task_streams set ended_at = ended_at - interval '10 minutes' where task_id = ${storedId(run)}`,
    )
    await removeEndedStreams(berth.services.db)
    await removeEndedStreams(berth.services.db)
    expect((await open(run, { after: 3 })).status).toBe(204)
    const left = sql`select (select count(*) from task_chunks where task_id = ${storedId(run)}) as chunks, (select count(*) from task_streams where task_id = ${storedId(run)}) as streams`
    expect(await getOne(berth.services.db, left)).toEqual({ chunks: 0, streams: 0 })
    expect((await group.get(run)).reply?.text).toBe(textsOf(all)[0])
  })

  test('with a cursor that is none is told so', async () => {
    const { before, run } = await queued()
    for (const after of ['x', '-1', '1.5', '1', '999999', '1e3', '9'.repeat(40), '%00']) {
      const reader = await open(run, { after })
      expect([after, reader.status, errorOf(reader).type]).toEqual([after, 400, 'invalid_request_error'])
    }
    expect((await open(run, { after: '0' })).status).toBe(200)
    await group.stop(before)
    await group.stop(run)
  })

  test('without a token, of another owner, and with another group’s path finds no run', async () => {
    const run = await begun()
    const other = await makeGroup(berth, token, { agent: member })
    expect((await fetch(`${berth.url}/agents/v1${run.path}/stream`)).status).toBe(401)
    const mixed = { path: `/groups/${other.id}/runs/${run.runId}` }
    const absent = { path: `/groups/${run.groupId}/runs/${run.runId.replace('grun_', 'grp_')}` }
    for (const one of [
      await readRun(berth, await berth.token('eve', 'evil'), run),
      await readRun(berth, await berth.token('bob', 'acme'), run),
      await readRun(berth, token, mixed),
      await readRun(berth, token, absent),
    ])
      expect([one.status, errorOf(one).type]).toEqual([404, 'not_found_error'])
  })

  test('with a token of another organization of its person’s gets the same, over GraphQL too', async () => {
    const run = await begun()
    const all = await (await open(run)).rest()
    const elsewhere = await berth.token('alice', 'second')
    expect(await (await readRun(berth, elsewhere, run)).rest()).toEqual(all)
    const last = `subscription { groupRunChunks(id: "${run.runId}", after: "${all.length - 1}") { ... on GroupRunChunk { type } } }`
    expect(await subscribe(last, elsewhere)).toContain('"FINISH"')
  })

  test('of a long run gets its newest chunks, and who wants older ones gets 409', async () => {
    mock.script({ parts: [{ text: 'one' }, { hang: true }] })
    const run = await begun()
    const [taskId, quick] = [storedId(run), await open(run)]
    await quick.until(({ chunk }) => chunk.type === 'text-delta')
    const { requestId } = await getOne<{ requestId: string }>(
      berth.services.db,
      sql`select request_id from task_streams where task_id = ${taskId}`,
    )
    const delta = 'x'.repeat(1024 * 1024)
    for (let number = 1; number <= 19; number++)
      expect(
        await writePiece(berth.services.db, {
          taskId,
          requestId,
          number,
          chunks: [{ type: 'text-delta', id: 'x', delta }],
        }),
      ).toBe(true)
    const { kept } = await getOne<{ kept: number }>(
      berth.services.db,
      sql`select first_number as kept from task_streams where task_id = ${taskId}`,
    )
    expect(kept).toBeGreaterThan(5)
    for (const from of [{}, { after: 1 }, { after: kept - 2 }]) {
      const late = await open(run, from)
      expect([late.status, errorOf(late)]).toMatchObject([
        409,
        { type: 'conflict_error', code: 'replay_retention_exceeded' },
      ])
    }
    const resumed = await open(run, { after: kept - 1 })
    await resumed.until(() => true)
    await group.stop(run)
    expect(areWhole(await resumed.rest(), kept)).toBe(true)
    expect(resumed.isDone).toBe(true)
    expect(areWhole(await quick.rest())).toBe(true)
  })

  test('of another worker’s request, or of a piece that was written, writes nothing', async () => {
    mock.script({ parts: [{ text: 'one' }, { hang: true }] })
    const run = await begun()
    const reader = await open(run)
    await reader.until(({ chunk }) => chunk.type === 'text-delta')
    const { requestId } = await getOne<{ requestId: string }>(
      berth.services.db,
      sql`select request_id from task_streams where task_id = ${storedId(run)}`,
    )
    const piece = {
      taskId: storedId(run),
      requestId,
      number: 1,
      chunks: [{ type: 'text-delta', id: 'x', delta: 'no' } as const],
    }
    expect(await writePiece(berth.services.db, { ...piece, number: 0 })).toBe(false)
    expect(await writePiece(berth.services.db, { ...piece, requestId: newUuid() })).toBe(false)
    await group.stop(run)
    expect(await writePiece(berth.services.db, piece)).toBe(false)
    expect(textsOf(await reader.rest())).toEqual(['one'])
  })

  test('over GraphQL gets the same, with types, and LOG_OVER after the end', async () => {
    const run = await begun()
    const all = await (await open(run)).rest()
    const document = `subscription { groupRunChunks(id: "${run.runId}", after: "2") { ... on GroupRunChunk { cursor type text toolUse { id } run { status } } } }`
    const events = [...(await subscribe(document)).matchAll(/^data: (\{.*\})$/gm)].map(
      ([, text = '']) =>
        (JSON.parse(text) as { data: { groupRunChunks: { cursor: string; type: string } } }).data.groupRunChunks,
    )
    const shown = all.slice(2).map(({ number, chunk }) => [number, chunk.type.replaceAll('-', '_').toUpperCase()])
    expect(events.map(({ cursor, type }) => [Number(cursor), type])).toEqual(shown)
    expect(events.find(({ type }) => type === 'TEXT_DELTA')).toMatchObject({
      text: expect.stringContaining('Mock '),
      toolUse: null,
      run: { status: 'COMPLETED' },
    })
    expect(await subscribe(document.replace('"2"', `"${all.length}"`))).toContain('LOG_OVER')
  })
})
