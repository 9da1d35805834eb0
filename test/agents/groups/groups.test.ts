/** Groups: creating, reading, changing and deleting them, whose they are, their history, and what follows them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId, encodeId, newId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { change, findAll, sql } from '#src/platform/postgres.ts'
import { openStream, type EventStream } from '../../contract/event-stream.ts'
import { refusal } from '../../support/agents-service.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeVmToken } from '../../support/makers.ts'
import { until } from '../../support/until.ts'
import { groupWorld, type Group, type GroupWorld, type Message, type Sent } from './world.ts'

let berth: Berth
let world: GroupWorld
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
  world = await groupWorld(berth, await berth.token())
})
afterAll(() => berth?.stop())

const as = (token: string | undefined, method: string, path: string, body?: unknown) =>
  berth.call(method, `/agents/v1/${path}`, {
    ...(token ? { token } : {}),
    ...(body === undefined ? {} : { body }),
  })

test('a group is made, listed, read, renamed and deleted', async () => {
  const group = await world.group('Data Base', 'data-base', '日本', 'All', 'Émile Ünï')
  expect(group).toMatchObject({
    type: 'group',
    org_id: world.organization,
    name: 'data-base, data-base-2, agent, all-2, emile-uni',
    description: null,
    revision: 1,
    next_sequence: 1,
    archived_at: null,
    members: [
      { handle: 'data-base', display_name: 'Data Base', status: 'idle' },
      { handle: 'data-base-2' },
      { handle: 'agent', display_name: '日本' },
      { handle: 'all-2' },
      { handle: 'emile-uni' },
    ],
  })
  expect(group.members.map(({ session_id: id }) => id)).toEqual(group.member_ids)
  expect(await world.snapshot(group.id)).toEqual({ group, revision: 1, transcript: [], runs: [], has_more: false })
  const { data } = await world.ok<{ data: Group[] }>('GET', `groups?org_id=${world.organization}`, 200)
  expect(data[0]).toEqual(group)
  const renamed = await world.ok<Group>('PATCH', `groups/${group.id}`, 200, { name: 'new', description: 'For tests.' })
  expect(renamed).toMatchObject({ name: 'new', description: 'For tests.', revision: 2 })
  expect(
    (await world.ok<Group>('PATCH', `groups/${group.id}`, 200, { name: 'new', description: null })).description,
  ).toBeNull()
  expect((await world.call('DELETE', `groups/${group.id}`)).status).toBe(204)
  expect(await world.call('GET', `groups/${group.id}`)).toMatchObject(refusal(404, 'not_found'))
  for (const id of group.member_ids) expect((await world.call('GET', `sessions/${id}`)).status).toBe(200)
})

describe('what is refused changes nothing', () => {
  let group: Group
  beforeAll(async () => {
    group = await world.group('Able', 'Baker')
  })

  test('members are two to eight different sessions with an environment', async () => {
    const [one, two] = group.member_ids as [string, string]
    const chat = await world.session('Chat', {}, { environment_id: null })
    const archived = await world.session('Archived')
    await world.ok('POST', `sessions/${archived}/archive`, 200)
    const make = (members: unknown, fields: object = {}) =>
      world.call('POST', 'groups', { org_id: world.organization, member_ids: members, ...fields })
    for (const members of [[], [one], [one, one], Array.from({ length: 9 }, () => newId('session')), 'x', undefined])
      expect(await make(members)).toMatchObject(refusal(400, 'invalid_request'))
    expect(await make([one, chat])).toMatchObject(refusal(400, 'member_not_computer_session'))
    expect(await make([one, archived])).toMatchObject(refusal(409, 'session_archived'))
    for (const strange of [newId('session'), 'sesn_x', newId('vm'), 'x'.repeat(9999)])
      expect(await make([one, strange])).toMatchObject(refusal(404, 'not_found'))
    for (const fields of [
      { name: '' },
      { name: 'x'.repeat(256) },
      { description: 'x'.repeat(2049) },
      { colour: 'red' },
    ])
      expect(await make([one, two], fields)).toMatchObject(refusal(400, 'invalid_request'))
    expect(await world.call('POST', 'groups', { member_ids: [one, two] })).toMatchObject(
      refusal(400, 'invalid_request'),
    )
    expect(await make([one, two], { org_id: newId('organization') })).toMatchObject(refusal(403, 'forbidden'))
  })

  test('paths and bodies', async () => {
    const { id } = group
    const missing = newId('groupRun')
    for (const [method, path, body] of [
      ['GET', 'groups', undefined],
      ['GET', `groups?org_id=${world.organization}&colour=red`, undefined],
      ['PATCH', `groups/${id}`, { name: 'only' }],
      ['PATCH', `groups/${id}`, { description: 'only' }],
      ['PATCH', `groups/${id}`, { name: null, description: null }],
      ['GET', `groups/${id}/history?before_sequence=0`, undefined],
      ['GET', `groups/${id}/history?before_sequence=x`, undefined],
      ['POST', `groups/${id}/messages`, {}],
      ['POST', `groups/${id}/messages`, { text: '' }],
      ['POST', `groups/${id}/messages`, { text: 'x'.repeat(32_001) }],
      ['POST', `groups/${id}/messages`, { text: 'a\0b' }],
      ['POST', `groups/${id}/messages`, { text: [{ type: 'image' }] }],
      ['POST', `groups/${id}/messages`, { text: 'x', recipient_ids: [] }],
      ['POST', `groups/${id}/messages`, { text: 'x', recipient_ids: [newId('session')] }],
      ['POST', `groups/${id}/messages`, { text: 'x', attachments: [] }],
      ['POST', `groups/${id}/runs/${missing}/approvals/x`, {}],
      ['POST', `groups/${id}/runs/${missing}/questions/x`, { answer: '' }],
    ] as const)
      expect(
        await world.call(method, path, body),
        `${method} ${path} ${JSON.stringify(body)?.slice(0, 80)}`,
      ).toMatchObject(refusal(400, 'invalid_request'))
    for (const [method, path, body] of [
      ['GET', `groups/${newId('group')}`, undefined],
      ['GET', 'groups/grp_x', undefined],
      ['PATCH', `groups/${newId('group')}`, { name: 'x', description: null }],
      ['DELETE', `groups/${newId('group')}`, undefined],
      ['GET', `groups/${newId('group')}/history`, undefined],
      ['POST', `groups/${newId('group')}/messages`, { text: 'x' }],
      ['GET', `groups/${id}/runs/${missing}`, undefined],
      ['POST', `groups/${id}/runs/${missing}/stop`, undefined],
      ['POST', `groups/${id}/runs/${missing}/approvals/${newId('approval')}`, { approved: true }],
      ['POST', `groups/${id}/runs/${missing}/questions/${newId('sessionEvent')}`, { answer: 'x' }],
    ] as const)
      expect(await world.call(method, path, body), `${method} ${path}`).toMatchObject(refusal(404, 'not_found'))
    expect(await world.snapshot(id)).toMatchObject({ revision: 1, transcript: [], runs: [] })
  })

  test('nobody gets in without a token, a viewer only reads, and another person’s group is not there', async () => {
    const { id } = group
    const { runs } = await world.say(id, '!say yes')
    await world.rested(id)
    const run = `groups/${id}/runs/${runs[0]?.run_id}`
    const operations = [
      ['GET', `groups/${id}`, undefined],
      ['PATCH', `groups/${id}`, { name: 'x', description: null }],
      ['GET', `groups/${id}/history`, undefined],
      ['POST', `groups/${id}/messages`, { text: 'x' }],
      ['GET', run, undefined],
      ['POST', `${run}/stop`, undefined],
      ['POST', `${run}/approvals/${newId('approval')}`, { approved: true }],
      ['POST', `${run}/questions/${newId('sessionEvent')}`, { answer: 'x' }],
      ['DELETE', `groups/${id}`, undefined],
    ] as const
    const [colleague, stranger, vm] = [
      await berth.token('martha'),
      await berth.token('eve', 'evil'),
      await makeVmToken(berth, world.token),
    ]
    for (const [method, path, body] of operations) {
      expect((await as(undefined, method, path, body)).status).toBe(401)
      expect((await as(vm, method, path, body)).status).toBe(403)
      for (const token of [colleague, stranger]) expect((await as(token, method, path, body)).status).toBe(404)
    }
    expect((await as(stranger, 'GET', `groups?org_id=${world.organization}`)).status).toBe(403)
    expect((await as(colleague, 'GET', `groups?org_id=${world.organization}`)).body).toMatchObject({ data: [] })
    await berth.token('alice', 'elsewhere', 'owner') // what she may do there makes her no more than a viewer here
    const viewer = await berth.token('alice', 'acme', 'viewer')
    for (const [method, path, body] of operations)
      expect((await as(viewer, method, path, body)).status, `${method} ${path}`).toBe(method === 'GET' ? 200 : 403)
    expect(
      await as(colleague, 'POST', 'groups', { org_id: world.organization, member_ids: group.member_ids }),
    ).toMatchObject(refusal(404, 'not_found'))
  })
})

test('a person reaches their groups with a token of another organization of theirs', async () => {
  const { id } = await world.group('Here', 'There')
  const elsewhere = await berth.token('alice', 'second')
  expect((await as(elsewhere, 'GET', `groups/${id}`)).status).toBe(200)
  expect((await as(elsewhere, 'PATCH', `groups/${id}`, { name: 'from afar', description: null })).status).toBe(200)
  expect((await as(elsewhere, 'GET', `groups?org_id=${world.organization}`)).body).toMatchObject({
    data: expect.arrayContaining([expect.objectContaining({ id })]),
  })
  const { body } = await berth.ask(`{ group(id: "${id}") { name messages { totalCount } runs { totalCount } } }`, {
    token: elsewhere,
  })
  expect(body.data).toEqual({ group: { name: 'from afar', messages: { totalCount: 0 }, runs: { totalCount: 0 } } })
})

test('the history pages backwards to the first message', async () => {
  const group = await world.group('Long', 'Short')
  const { db } = berth.services
  const id = decodeId('group', group.id)
  await change(
    db,
    sql`
    insert into group_messages (id, group_id, sequence, author_type, author_id, author_handle, text, recipient_ids)
    select gen_random_uuid(), id, sequence, 'user', owner_user_id, 'user', 'x', '{}' from groups, generate_series(1, 120) sequence where id = ${id}`,
  )
  const { transcript, has_more: more } = await world.snapshot(group.id)
  expect([transcript.length, more]).toEqual([50, true])
  const seen: Message[] = [...transcript]
  for (;;) {
    const page = await world.ok<{ data: Message[]; has_more: boolean }>(
      'GET',
      `groups/${group.id}/history?before_sequence=${seen[0]?.sequence}`,
      200,
    )
    seen.unshift(...page.data)
    if (!page.has_more) break
  }
  expect(seen.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 120 }, (_, at) => at + 1))
})

test('lists of messages and runs hold no more than a page may, and several at once no more either', async () => {
  const group = await world.group('Large', 'Larger')
  const { db } = berth.services
  const id = decodeId('group', group.id)
  const length = Math.floor(limits.pageBytes / 2.5)
  const stored = await findAll<{ id: string }>(
    db,
    sql`
    with number as (select number, gen_random_uuid() as id from generate_series(1, 3) number),
      task as (insert into session_tasks (id, kind, organization_id, owner_user_id, session_id, status, finished_at, expires_at)
        select number.id, 'group_run', organization_id, owner_user_id, gen_random_uuid(), 'cancelled', now(), now() from number, groups where groups.id = ${id}),
      message as (insert into group_messages (id, group_id, sequence, author_type, author_id, author_handle, text, recipient_ids, run_id)
        select id, ${id}, number, 'member', id, 'large', repeat('x', ${length}), '{}', id from number)
    insert into group_runs (id, group_id, organization_id, owner_user_id, session_id, message_id, origin_id, hops, revision)
    select number.id, groups.id, organization_id, owner_user_id, gen_random_uuid(), number.id, number.id, 0, 1 from number, groups where groups.id = ${id} returning id`,
  )
  const page = '{ nodes { id } pageInfo { hasNextPage } }'
  const ask = (fields: string) => berth.ask(`{ group(id: "${group.id}") { ${fields} } }`, { token: world.token })
  for (const list of ['runs', 'messages']) {
    expect((await ask(`list: ${list}(first: 3) ${page}`)).body.data).toMatchObject({
      group: { list: { nodes: [{}, {}], pageInfo: { hasNextPage: true } } },
    })
    const { body } = await ask([1, 2, 3, 4, 5].map((first) => `of${first}: ${list}(first: ${first}) ${page}`).join(' '))
    expect(body.errors?.[0]?.message).toContain('of logs, events, messages and variables at most')
  }
  const ids = stored.map((run) => encodeId('groupRun', run.id))
  const { body } = await berth.ask(`{ nodes(ids: ${JSON.stringify(ids)}) { id } }`, { token: world.token })
  expect(body.errors?.[0]?.message).toContain('Ask for fewer at once')
  expect((await world.call('DELETE', `groups/${group.id}`)).status).toBe(204)
})

test('the same Idempotency-Key says nothing twice, and many messages at once each have their number', async () => {
  const group = await world.group('Once', 'Twice')
  const say = (key: string, text: string) =>
    world.call<Sent>('POST', `groups/${group.id}/messages`, { text }, { 'idempotency-key': key })
  const first = await say('key', '@once !say one')
  const again = await say('key', '@once !say one')
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
  expect(again.body.message).toEqual(first.body.message)
  expect((await say('key', '@once other')).status).toBe(409)
  const many = await Promise.all(Array.from({ length: 12 }, (_, at) => say(`many ${at}`, `!say ${at}`)))
  expect(many.map(({ status }) => status)).toEqual(many.map(() => 202))
  expect(new Set(many.map(({ body }) => body.message.sequence)).size).toBe(12)
  const { group: after, revision } = await world.rested(group.id)
  expect(after.next_sequence).toBe(1 + 1 + 1 + 12 + 24)
  expect(after.revision).toBe(revision)
})

/** Follows a subscription; every element's data. */
const follow = (field: string, token = world.token): Promise<EventStream> =>
  openStream(`${berth.url}/graphql?${new URLSearchParams({ query: `subscription { ${field} }` })}`, { token })
const next = async (stream: EventStream, field: string): Promise<Record<string, unknown>> =>
  ((await stream.next())?.data['data'] as Record<string, Record<string, unknown>>)?.[field] ?? {}

test('a group and its runs are followed from any revision, without gaps or repeats', async () => {
  const group = await world.group('Heard', 'Seen')
  const fields =
    '{ ... on GroupEvent { cursor type revision runStatus message { text } run { status session { id } } group { name } } }'
  const live = await follow(`groupEvents(id: "${group.id}") ${fields}`)
  await until('it listens', async () => live.status === 200)
  await world.ok('PATCH', `groups/${group.id}`, 200, { name: 'followed', description: null })
  const { runs } = await world.say(group.id, '@heard !say it\n!say it')
  const { revision } = await world.rested(group.id)
  const events: Record<string, unknown>[] = []
  while (events.at(-1)?.['revision'] !== revision) events.push(await next(live, 'groupEvents'))
  expect(events.map(({ revision: at }) => at)).toEqual(Array.from({ length: revision - 1 }, (_, at) => at + 2))
  expect(events.map(({ type, runStatus }) => runStatus ?? type)).toEqual([
    'GROUP_UPDATED',
    'GROUP_MESSAGE',
    'QUEUED',
    'RUNNING',
    'GROUP_MESSAGE',
    'COMPLETED',
  ])
  const resumed = await follow(`groupEvents(id: "${group.id}", after: "${events[2]?.['cursor'] as string}") ${fields}`)
  const { cursor, type, runStatus } = events[3] ?? {}
  expect(await next(resumed, 'groupEvents')).toMatchObject({ cursor, type, runStatus })
  const kept = 3
  await change(
    berth.services.db,
    sql`delete from group_events where group_id = ${decodeId('group', group.id)} and position <= ${revision - kept}`,
  )
  const late = await follow(`groupEvents(id: "${group.id}", after: "${revision - kept - 1}") ${fields}`)
  expect(JSON.stringify((await late.next())?.data)).toContain('REPLAY_RETENTION_EXCEEDED')
  const just = await follow(`groupEvents(id: "${group.id}", after: "${revision - kept}") ${fields}`)
  expect(await next(just, 'groupEvents')).toMatchObject({ revision: revision - kept + 1 })
  just.close()
  const run = runs[0]
  for (const named of [`groupEvents(id: "${group.id}"`, `groupRunState(groupId: "${group.id}", id: "${run?.run_id}"`]) {
    const beyond = await follow(`${named}, after: "${revision + 1}") { __typename }`)
    expect(JSON.stringify((await beyond.next())?.data), named).toContain('INVALID_REQUEST')
  }
  const state = await follow(
    `groupRunState(groupId: "${group.id}", id: "${run?.run_id}") { ... on GroupRunState { cursor run { status reply { text } revision } } }`,
  )
  expect(await next(state, 'groupRunState')).toMatchObject({
    cursor: String(revision),
    run: { status: 'COMPLETED', reply: { text: 'it' } },
  })
  await world.call('DELETE', `groups/${group.id}`)
  for (const stream of [live, resumed]) {
    let last = await stream.next()
    while (last !== null && last.name !== 'complete') last = await stream.next()
    stream.close()
  }
  const stranger = await follow(`groupEvents(id: "${group.id}") ${fields}`, await berth.token('eve', 'evil'))
  expect(JSON.stringify((await stranger.next())?.data)).toContain('NOT_FOUND')
})

test('groups, their messages and runs are nodes of the graph, with objects beside ids', async () => {
  const group = await world.group('Node', 'Edge')
  const { message, runs } = await world.say(group.id, '@node !say yes\n!say yes')
  await world.rested(group.id)
  const { body } = await berth.ask(
    `{ group(id: "${group.id}") { id owner { id } organization { id groups(first: 1) { totalCount nodes { id } } }
        members { handle session { id groups { nodes { id } } } agent { name } }
        messages(first: 1) { totalCount nodes { id author { type handle ... on GroupMessageUser { user { id } } } recipients { id } run { id } } pageInfo { endCursor hasNextPage } }
        runs { totalCount nodes { id message { id sequence } reply { text message { id run { id } author { ... on GroupMessageMember { session { id } } } } } usage { outputTokens } } } }
      node(id: "${message.id}") { id ... on GroupMessage { text group { name } } }
      run: node(id: "${runs[0]?.run_id}") { ... on GroupRun { status group { id } } } }`,
    { token: world.token },
  )
  expect(body.errors).toBeUndefined()
  expect(body.data).toMatchObject({
    group: {
      id: group.id,
      organization: { id: world.organization, groups: { nodes: [{ id: group.id }] } },
      members: [
        {
          handle: 'node',
          session: { id: group.member_ids[0], groups: { nodes: [{ id: group.id }] } },
          agent: { name: 'Node' },
        },
        {},
      ],
      messages: {
        totalCount: 2,
        nodes: [{ id: message.id, author: { type: 'USER' }, recipients: [{ id: group.member_ids[0] }], run: null }],
        pageInfo: { hasNextPage: true },
      },
      runs: {
        totalCount: 1,
        nodes: [
          {
            id: runs[0]?.run_id,
            message: { id: message.id, sequence: 1 },
            reply: { text: 'yes', message: { run: { id: runs[0]?.run_id } } },
          },
        ],
      },
    },
    node: { id: message.id, group: { name: 'node, edge' } },
    run: { status: 'COMPLETED', group: { id: group.id } },
  })
})
