/** The runs of members: what they wait for and how that is answered, how they stop, and members that are gone. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId, encodeId, newId } from '#src/platform/ids.ts'
import { change, getOne, sql } from '#src/platform/postgres.ts'
import { removeMembership } from '#src/resources/identity/members.ts'
import { cancelExpiredTasks } from '#src/resources/agents/tasks.ts'
import { agentSessions, message, textOf, type AgentSessions } from '../../support/agent-sessions.ts'
import { callAgents, refusal } from '../../support/agents-service.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf, makeVmToken } from '../../support/makers.ts'
import { groupWorld, type GroupWorld, type Run, type Sent } from './world.ts'

let berth: Berth
let world: GroupWorld
let sessions: AgentSessions
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
  world = await groupWorld(berth, await berth.token())
  sessions = agentSessions(berth, world.token)
})
afterAll(() => berth?.stop())

/** Tools that need their user: a tool that is asked about, and questions. */
const asking = {
  tools: [
    {
      type: 'agent_toolset_20260401',
      default_config: { enabled: false },
      configs: [{ name: 'web_fetch', enabled: true, permission_policy: { type: 'always_ask' } }],
    },
    { type: 'berth_toolset_v1', configs: [{ name: 'ask_user', enabled: true }] },
    { type: 'custom', name: 'weather', description: 'Tells the weather.', input_schema: { type: 'object' } },
  ],
}
const approve = (run: Run, approval: string, body: object) =>
  world.call<Run>('POST', `groups/${run.group_id}/runs/${run.run_id}/approvals/${approval}`, body)
const reply = (run: Run, toolCall: string, answer: string) =>
  world.call<Run>('POST', `groups/${run.group_id}/runs/${run.run_id}/questions/${toolCall}`, { answer })
const stop = (run: Run) => world.call('POST', `groups/${run.group_id}/runs/${run.run_id}/stop`)
const first = ({ runs }: Sent): Run => runs[0] as Run
/** A run that waits, after this script, and its session. */
async function waiting(script: string): Promise<{ run: Run; asker: string }> {
  const asker = await world.session('Asker', asking)
  const group = await world.of([asker, await world.session('Other')])
  return {
    asker,
    run: await world.until(first(await world.say(group.id, `@asker please\n${script}`)), 'requires_action'),
  }
}

describe('what a run waits for', () => {
  test('is answered one by one; its revision grows, and an answer again changes nothing', async () => {
    const { run, asker } = await waiting(
      '!tool web_fetch {"url":"https://a.example/"}\n!tool+ ask_user {"question":"Which one?","options":["a","b"]}\n!tool+ weather {"town":"Rome"}\n!say done',
    )
    const [approval] = run.pending_approvals
    const [question, custom] = run.pending_questions
    expect(run.pending_approvals).toMatchObject([{ tool_name: 'web_fetch', input: { url: 'https://a.example/' } }])
    expect(run.pending_questions).toMatchObject([
      { question: 'Which one?', options: ['a', 'b'] },
      { question: 'weather {"town":"Rome"}', options: null },
    ])
    const uses = (await sessions.log(asker)).filter(({ type }) => type.endsWith('tool_use')).map(({ id }) => id)
    expect([approval?.tool_call_id, question?.tool_call_id, custom?.tool_call_id]).toEqual(uses)
    expect(decodeId('approval', approval?.approval_id ?? '')).toBe(
      decodeId('sessionEvent', approval?.tool_call_id ?? ''),
    )

    const denied = await approve(run, approval?.approval_id ?? '', { approved: false, reason: 'Not now.' })
    expect(denied).toMatchObject({ status: 200, body: { status: 'requires_action', pending_approvals: [] } })
    expect(denied.body.pending_questions).toHaveLength(2)
    expect(denied.body.revision).toBeGreaterThan(run.revision)
    const same = await approve(run, approval?.approval_id ?? '', { result: 'deny', deny_message: 'Not now.' })
    expect([same.status, same.body.revision]).toEqual([200, denied.body.revision])
    expect(await approve(run, approval?.approval_id ?? '', { approved: true })).toMatchObject(
      refusal(409, 'already_answered'),
    )

    expect((await reply(run, custom?.tool_call_id ?? '', 'sun')).body.pending_questions).toMatchObject([
      { question: 'Which one?' },
    ])
    const last = await reply(run, question?.tool_call_id ?? '', '😀'.repeat(8_000)) // characters, not their halves
    expect(last).toMatchObject({ status: 200, body: { pending_questions: [] } })
    const ended = await world.until(run, 'completed')
    expect(ended.reply?.text).toBe('done')
    expect((await reply(run, question?.tool_call_id ?? '', '😀'.repeat(8_000))).status).toBe(200)
    expect(await reply(run, question?.tool_call_id ?? '', 'b')).toMatchObject(refusal(409, 'already_answered'))
    const results = (await sessions.log(asker)).filter(({ type }) => type === 'user.custom_tool_result')
    expect(results.map(textOf)).toEqual(['sun', '😀'.repeat(8_000)])
  })

  test('is found by its own ids only', async () => {
    const { run, asker } = await waiting(
      '!tool web_fetch {"url":"https://x.example/"}\n!tool+ ask_user {"question":"?"}\n!say ok',
    )
    const { run: other } = await waiting(
      '!tool web_fetch {"url":"https://y.example/"}\n!tool+ ask_user {"question":"!"}\n!say ok',
    )
    const [approval, question] = [
      run.pending_approvals[0]?.approval_id ?? '',
      run.pending_questions[0]?.tool_call_id ?? '',
    ]
    expect([approval, question]).toEqual([expect.stringMatching(/^apr_/), expect.stringMatching(/^sevt_/)])
    const asUse = encodeId('sessionEvent', decodeId('approval', approval) ?? '')
    const asApproval = encodeId('approval', decodeId('sessionEvent', question) ?? '')
    for (const [of, id] of [
      [other, approval],
      [run, newId('approval')],
      [run, asUse],
      [run, asApproval],
      [run, 'x'],
    ] as const)
      expect(await approve(of, id, { approved: true })).toMatchObject(refusal(404, 'not_found'))
    for (const [of, id] of [
      [other, question],
      [run, newId('sessionEvent')],
      [run, approval],
      [run, asUse],
    ] as const)
      expect(await reply(of, id, 'x')).toMatchObject(refusal(404, 'not_found'))
    for (const body of [
      {},
      { approved: 'yes' },
      { approved: true, result: 'deny' },
      { result: 'maybe' },
      { approved: null },
      { approved: false, reason: 'x'.repeat(10_001) },
      { approved: false, reason: 'x', deny_message: 'y' },
      { approved: true, deny_message: 'x'.repeat(10_001) },
    ])
      expect(await approve(run, approval, body)).toMatchObject(refusal(400, 'invalid_request'))
    for (const answer of ['', 'x'.repeat(8_001), '😀'.repeat(8_001), 'a\0'])
      expect(await reply(run, question, answer)).toMatchObject(refusal(400, 'invalid_request'))
    expect(await world.run(run)).toEqual(run)
    expect((await approve(run, approval, { approved: true, reason: 'It is ours.' })).status).toBe(200)
    expect((await sessions.log(asker)).findLast(({ type }) => type === 'user.tool_confirmation')).toMatchObject({
      result: 'allow',
      deny_message: 'It is ours.',
    })
    for (const one of [run, other]) await stop(one)
  })

  test('may be answered in the session itself too, and two who answer at once do it once', async () => {
    const { run, asker } = await waiting('!tool ask_user {"question":"?"}\n!say ok')
    const use = run.pending_questions[0]?.tool_call_id ?? ''
    const answers = await Promise.all(Array.from({ length: 6 }, (_, at) => reply(run, use, `answer ${at}`)))
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200, 409, 409, 409, 409, 409,
    ])
    await world.until(run, 'completed')
    expect((await sessions.log(asker)).filter(({ type }) => type === 'user.custom_tool_result')).toHaveLength(1)
    const { run: second, asker: direct } = await waiting('!tool ask_user {"question":"?"}\n!say ok')
    await sessions.send(direct, {
      type: 'user.custom_tool_result',
      custom_tool_use_id: second.pending_questions[0]?.tool_call_id,
      content: [{ type: 'text', text: 'straight' }],
    })
    expect((await world.until(second, 'completed')).reply?.text).toBe('ok')
    expect((await reply(second, second.pending_questions[0]?.tool_call_id ?? '', 'straight')).status).toBe(200)
  })
})

describe('stopping', () => {
  test('ends a run that works, waits or is queued; again it stays as it is', async () => {
    const { run, asker } = await waiting('!tool ask_user {"question":"?"}\n!say ok')
    const queued = first(await world.say(run.group_id, '@asker later\n!say later'))
    expect(queued.status).toBe('queued')
    expect(await world.call('DELETE', `groups/${run.group_id}`)).toMatchObject(refusal(409, 'work_active'))
    expect(await world.call('DELETE', `agents/${await agentOf(asker)}`)).toMatchObject(refusal(409, 'work_active'))
    for (const one of [queued, run, run]) expect((await stop(one)).status).toBe(204)
    expect(await world.until(run, 'cancelled')).toMatchObject({ reply: null, pending_questions: [], error: null })
    expect(await world.run(queued)).toMatchObject({
      status: 'cancelled',
      started_at: null,
      finished_at: expect.any(String),
    })
    const working = first(
      await world.say(run.group_id, '@other slowly\n!pace 200\n!say one two three four five six seven eight nine ten'),
    )
    await world.until(working, 'running')
    expect((await stop(working)).status).toBe(204)
    const after = await world.until(working, 'cancelled')
    expect((await stop(working)).status).toBe(204)
    expect(await world.run(working)).toEqual(after)
    expect(await reply(run, run.pending_questions[0]?.tool_call_id ?? '', 'late')).toMatchObject(
      refusal(409, 'already_answered'),
    )
    const { transcript } = await world.rested(run.group_id)
    expect(transcript.every(({ author }) => author.type === 'user')).toBe(true)
    expect((await world.call('DELETE', `groups/${run.group_id}`)).status).toBe(204)
    const { count } = await getOne<{ count: number }>(
      berth.services.db,
      sql`select count(*) from session_tasks where session_id = ${decodeId('session', asker)}`,
    )
    expect(count).toBe(0)
  })
})

test('what nobody answers within a day is cancelled', async () => {
  const { run } = await waiting('!tool ask_user {"question":"?"}\n!say ok')
  const { services } = berth
  await change(
    services.db,
    sql`update session_tasks set expires_at = now() where id = ${decodeId('groupRun', run.run_id)}`,
  )
  await cancelExpiredTasks(services)
  expect(await world.run(run)).toMatchObject({ status: 'cancelled', pending_questions: [], reply: null })
})

const agentOf = async (session: string): Promise<string> =>
  (await world.ok<{ agent_id: string }>('GET', `sessions/${session}`, 200)).agent_id

describe('a member that is gone', () => {
  test('by deletion or archiving fails its runs, and the group is read as before', async () => {
    const { run, asker } = await waiting('!tool ask_user {"question":"?"}\n!say ok')
    const queued = first(await world.say(run.group_id, '@asker again\n!say again'))
    await world.call('DELETE', `sessions/${asker}`)
    for (const one of [run, queued])
      expect(await world.until(one, 'failed')).toMatchObject({
        error: { type: 'session_deleted' },
        pending_questions: [],
      })
    const { group, transcript } = await world.snapshot(run.group_id)
    expect(group.members[0]).toMatchObject({ session_id: asker, status: 'deleted', handle: 'asker' })
    expect(transcript).toHaveLength(2)
    const [other] = group.member_ids.filter((id) => id !== asker)
    await world.ok('POST', `sessions/${other}/archive`, 200)
    const { runs } = await world.say(run.group_id, 'Anybody?')
    expect(runs.map(({ status, error }) => [status, error?.type])).toEqual([
      ['failed', 'session_deleted'],
      ['failed', 'session_archived'],
    ])
    expect(await reply(run, run.pending_questions[0]?.tool_call_id ?? '', 'x')).toMatchObject(refusal(404, 'not_found'))
    expect((await world.call('DELETE', `groups/${run.group_id}`)).status).toBe(204)
  })

  test('by its budget fails its own run only', async () => {
    const poor = await world.session(
      'Poor',
      {},
      { budget: { type: 'limit', max_list_cost: { amount: '0', currency: 'USD' } } },
    )
    const group = await world.of([poor, await world.session('Rich')])
    const { runs } = await world.say(group.id, '!say ok')
    const [failed, fine] = [await world.until(runs[0] as Run, 'failed'), await world.until(runs[1] as Run, 'completed')]
    expect(failed).toMatchObject({ error: { type: 'budget_reached' }, reply: null })
    expect(fine.reply?.text).toBe('ok')
  })

  test('with its owner, who left the organization, fails its run', async () => {
    const leaver = await groupWorld(berth, await berth.token('leo', 'left-behind', 'member'))
    const asker = await leaver.session('Asker', asking)
    const group = await leaver.of([asker, await leaver.session('Other')])
    const working = first(
      await leaver.say(
        group.id,
        '@other slowly\n!pace 300\n!say one two three four five six seven eight nine ten eleven',
      ),
    )
    await leaver.until(working, 'running')
    const { organizationId, userId } = idsOf(leaver.token)
    const { db } = berth.services
    const { id } = await getOne<{ id: string }>(
      db,
      sql`select id from memberships where organization_id = ${organizationId} and user_id = ${userId}`,
    )
    await removeMembership(berth.services, organizationId, id)
    const task = await getOne<{ status: string; error: { message: string } }>(
      db,
      sql`select status, error from session_tasks where id = ${decodeId('groupRun', working.run_id)}`,
    )
    expect(task).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('no longer belongs') } })
  })
})

describe('the token inside a VM', () => {
  test('steers no member of a group, and a session that it has used becomes none', async () => {
    const group = await world.group('Closed', 'Shut')
    const vm = await makeVmToken(berth, world.token)
    const [member] = group.member_ids as [string]
    const db = berth.services.db
    await change(
      db,
      sql`update environments set ephemeral = true where id = ${decodeId('environment', world.environment)}`,
    )
    const say = (id: string) =>
      callAgents(berth, vm, 'POST', `/sessions/${id}/events`, { events: [message('Tell me.')] })
    expect(await say(member)).toMatchObject(refusal(403, 'forbidden'))
    const used = await world.session('Used')
    expect((await say(used)).status).toBe(200)
    expect(
      await world.call('POST', 'groups', { org_id: world.organization, member_ids: [member, used] }),
    ).toMatchObject(refusal(400, 'invalid_request'))
    await change(
      db,
      sql`update environments set ephemeral = false where id = ${decodeId('environment', world.environment)}`,
    )
  })
})
