/** The stream of a run: what it tells, that it resumes, and what it refuses. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { change, sql, transaction } from '#src/platform/postgres.ts'
import { stopTask } from '#src/resources/agents/tasks.ts'
import { removeEndedStreams } from '#src/resources/agents/tasks/streams.ts'
import { startMockBerth, type MockBerth } from '../../llm/mock-berth.ts'
import { agentSessions, type AgentSessions } from '../../support/agent-sessions.ts'
import type { Berth } from '../../support/berth.ts'
import { startMcpServer, type TestMcpServer } from '../../support/mcp-server.ts'
import type { MockUpstream } from '../../support/mock-upstream.ts'
import { areWhole, beginRun, kindsOf, queueRun, readRun, textsOf, type TestRun } from '../../support/run-streams.ts'

let berth: Berth
let mock: MockUpstream
let tools: TestMcpServer
let stop: MockBerth['stop']
let token: string
let sessions: AgentSessions
let member: string
beforeAll(async () => {
  tools = await startMcpServer()
  ;({ berth, mock, stop } = await startMockBerth({ BERTH_PRIVATE_HOSTS: tools.hostPort }))
  token = await berth.token()
  sessions = agentSessions(berth, token)
  member = await sessions.agent({
    model: 'test/signed',
    mcp_servers: [{ type: 'url', name: 'tools', url: tools.url }],
    tools: [
      {
        type: 'mcp_toolset',
        mcp_server_name: 'tools',
        default_config: { enabled: true, permission_policy: { type: 'always_ask' } },
      },
      { type: 'custom', name: 'ask', description: 'Asks.', input_schema: { type: 'object' } },
    ],
  })
})
afterAll(async () => {
  await stop?.()
  await tools?.close()
})
beforeEach(() => mock.forget())

const queued = async (): Promise<TestRun> => queueRun(berth, token, await sessions.begin(member, null))
const begun = async (text = 'hello'): Promise<TestRun> => {
  const run = await queued()
  await beginRun(berth, run, text)
  return run
}
const open = (run: TestRun, from: Parameters<typeof readRun>[3] = {}): ReturnType<typeof readRun> =>
  readRun(berth, token, run, from)
const stopRun = (run: TestRun): Promise<unknown> =>
  transaction(berth.services.db, (tx) => stopTask(berth.services, tx, { id: run.id, sessionId: run.session }))
const ended = async (run: TestRun): Promise<void> => void (await (await open(run)).rest())

describe('the stream of a run', () => {
  test('waits while the run is queued, tells the text as it comes, and ends when the run has', async () => {
    const half = Promise.withResolvers<void>()
    mock.script({ parts: [{ text: ['Hello', ' there'] }, { wait: half.promise }, { text: [', my', ' friend.'] }] })
    const run = await queued()
    const reader = await open(run)
    expect([
      reader.status,
      reader.headers.get('x-sdk-ui-message-stream'),
      reader.headers.get('x-vercel-ai-ui-message-stream'),
    ]).toEqual([200, 'v1', 'v1'])
    expect(reader.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    await beginRun(berth, run, 'hello')
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
    await sessions.send(
      encodeId('session', run.session),
      { type: 'user.tool_confirmation', tool_use_id: first, result: 'allow' },
      { type: 'user.tool_confirmation', tool_use_id: second, result: 'deny' },
      { type: 'user.custom_tool_result', custom_tool_use_id: question, content: [{ type: 'text', text: 'because' }] },
    )
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
    await stopRun(run)
    expect(kindsOf(await reader.rest()).slice(-5)).toEqual([
      'text-delta',
      'text-end',
      'finish-step',
      'data-group-run',
      'abort',
    ])
    expect(reader.isDone).toBe(true)
    const never = await queued()
    const waiting = await open(never)
    await stopRun(never)
    expect(kindsOf(await waiting.rest())).toEqual(['start', 'data-group-run', 'abort'])
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
    const run = await queueRun(berth, token, await sessions.begin(member, null, { vault_ids: [vault.id] }))
    await beginRun(berth, run, 'what is it?')
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
    await ended(run)
    const all = await (await open(run)).rest()
    const nothing = await open(run, { after: all.length })
    expect([nothing.status, nothing.body]).toEqual([204, ''])
    await change(
      berth.services.db,
      sql`update task_streams set ended_at = ended_at - interval '61 seconds' where task_id = ${run.id}`,
    )
    expect((await open(run)).status).toBe(204)
    await change(
      berth.services.db,
      sql`update task_streams set ended_at = ended_at - interval '10 minutes' where task_id = ${run.id}`,
    )
    await removeEndedStreams(berth.services.db)
    await removeEndedStreams(berth.services.db)
    expect((await open(run, { after: 3 })).status).toBe(204)
    const left = await berth.services.db.executeQuery(
      sql`select (select count(*) from task_chunks where task_id = ${run.id}) + (select count(*) from task_streams where task_id = ${run.id}) as count`.compile(
        berth.services.db,
      ),
    )
    expect(left.rows).toEqual([{ count: 0 }])
  })

  test.each(['x', '-1', '1.5', '999999', '1e3', '9'.repeat(40), '%00'])(
    'with the cursor %s is told that it is none',
    async (after) => {
      const run = await queued()
      const reader = await open(run, { after })
      expect([reader.status, JSON.parse(reader.body).error.type]).toEqual([400, 'invalid_request_error'])
      await stopRun(run)
    },
  )

  test('without a token, of another owner, and with another group’s path finds no run', async () => {
    const [run, other] = [await queued(), await queued()]
    expect((await fetch(`${berth.url}/agents/v1${run.path}/stream`)).status).toBe(401)
    const mixed = { path: `/groups/${other.groupId}/runs/${run.runId}` }
    const absent = { path: `/groups/${run.groupId}/runs/${run.runId.replace('grun_', 'grp_')}` }
    for (const one of [
      await readRun(berth, await berth.token('eve', 'evil'), run),
      await readRun(berth, await berth.token('bob', 'acme'), run),
      await readRun(berth, token, mixed),
      await readRun(berth, token, absent),
    ])
      expect([one.status, JSON.parse(one.body).error.type]).toEqual([404, 'not_found_error'])
    await Promise.all([stopRun(run), stopRun(other)])
  })

  test('who wants chunks that are not kept any more gets 409', async () => {
    mock.script({ parts: [{ text: 'one' }, { hang: true }] })
    const run = await begun()
    const reader = await open(run)
    const { number } = await reader.until(({ chunk }) => chunk.type === 'text-delta')
    await change(berth.services.db, sql`delete from task_chunks where task_id = ${run.id} and number <= 2`)
    await change(berth.services.db, sql`update task_streams set first_number = 3 where task_id = ${run.id}`)
    for (const from of [{}, { after: 1 }]) {
      const late = await open(run, from)
      expect([late.status, JSON.parse(late.body).error]).toMatchObject([
        409,
        { type: 'conflict_error', code: 'replay_retention_exceeded' },
      ])
    }
    const resumed = await open(run, { after: 2 })
    expect((await resumed.until(() => true)).number).toBe(3)
    await stopRun(run)
    expect(areWhole(await resumed.rest(), 3)).toBe(true)
    expect(number).toBeGreaterThan(2)
  })
})
