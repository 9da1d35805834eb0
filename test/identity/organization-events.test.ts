/** The stream of everything that changes in an organization: complete, in order, resumable, and only for who may see it. */
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import { organizationEventLimits } from '#src/resources/identity/organization-events/limits.ts'
import { forgetOrganizationEvents } from '#src/resources/identity/organization-events/retention.ts'
import { watchedTypes } from '#src/resources/identity/organization-events/watched.ts'
import { pollUntil } from '#src/start/wait.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf, makeKey, makeVmToken } from '../support/makers.ts'
import { until } from '../support/until.ts'

let berth: Berth
let owner: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000' } })
  owner = await berth.token('alice', 'acme', 'owner')
})
afterAll(() => berth.stop())

type Event = { cursor: string; change: string; nodeType: string; nodeId: string; node: { id: string } | null }
const organizationOf = (token: string): string => encodeId('organization', idsOf(token).organizationId)

/** Follows the organization of the token until `enough` says so. */
async function follow(
  token: string,
  { of = organizationOf(token), types, after }: { of?: string; types?: string; after?: string | null },
  enough: (events: Event[]) => boolean,
  onReady: () => Promise<void> = async () => undefined,
): Promise<Event[]> {
  const client = createClient({
    url: `ws://127.0.0.1:${berth.port}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    connectionParams: { authorization: `Bearer ${token}` },
  })
  const given = `organizationId: "${of}"${types ? `, nodeTypes: [${types}]` : ''}${after ? `, after: "${after}"` : ''}`
  const query = `subscription { organizationEvents(${given}) { ... on OrganizationEvent { cursor change nodeType nodeId node { id } } } }`
  const events: Event[] = []
  try {
    const answers = client.iterate<{ organizationEvents: Event }>({ query })
    let isReady = false
    const ready = onReady().then(() => (isReady = true))
    for await (const { data, errors } of { [Symbol.asyncIterator]: () => answers }) {
      if (errors) throw new Error(`${String(errors[0]?.extensions?.['code'])}: ${errors[0]?.message}`)
      if (data?.organizationEvents.cursor) events.push(data.organizationEvents)
      if (isReady && enough(events)) break
    }
    await ready
  } finally {
    await client.dispose()
  }
  return events
}
const ask = async (document: string, token = owner): Promise<Record<string, never>> => {
  const { body } = await berth.ask(document, { token })
  expect(body.errors).toBeUndefined()
  return body.data as never
}
const cursorNow = async (token = owner): Promise<string> =>
  (await ask(`{ organization(id: "${organizationOf(token)}") { eventCursor } }`, token))['organization']!['eventCursor']
const makeProject = async (name: string, token = owner): Promise<string> =>
  (await ask(`mutation { createProject(input: { name: "${name}" }) { project { id } } }`, token))['createProject']![
    'project'
  ]!['id']
const isMember = ({ nodeType }: Event): boolean => nodeType === 'MEMBER'
const eventsOf = (events: readonly Event[], name: string): Event[] => events.filter(({ nodeId }) => nodeId === name)

test('every type that is watched has its triggers, and every trigger its type', async () => {
  const made = await findAll<{ type: string; triggers: number }>(
    berth.services.db,
    sql`
    select substring(pg_get_functiondef(p.oid) from 'values \\(stored\\.[^\\n]*?''([A-Z]\\w+)''') as type, count(*)::int as triggers
    from pg_proc p join pg_trigger t on t.tgfoid = p.oid where p.proname like 'organization\\_events\\_of\\_%' group by p.oid`,
  )
  expect(Object.fromEntries(made.map(({ type, triggers }) => [type, triggers]))).toEqual(
    Object.fromEntries(Object.keys(watchedTypes).map((type) => [type, 2])),
  )
})

test('what is created, changed and deleted comes in order with the object as it is, from the cursor of a query', async () => {
  const after = await cursorNow()
  const id = await makeProject('walk')
  await ask(`mutation { updateProject(input: { id: "${id}", name: "walked" }) { project { id } } }`)
  const seen = await follow(owner, { after }, (events) => eventsOf(events, id).length === 2)
  expect(eventsOf(seen, id)).toMatchObject([
    { change: 'CREATED', nodeType: 'PROJECT', node: { id } },
    { change: 'UPDATED', nodeType: 'PROJECT', node: { id } },
  ])
  const last = seen.at(-1)?.cursor
  const later = await follow(
    owner,
    { after: last },
    (events) => events.length === 1,
    async () => {
      await ask(`mutation { deleteProject(input: { id: "${id}" }) { deletedId } }`)
    },
  )
  expect(later).toMatchObject([{ change: 'DELETED', nodeType: 'PROJECT', nodeId: id, node: null }])
})

test('a change that lists do not show makes no event', async () => {
  const { keyId } = await makeKey(berth, owner)
  const after = await cursorNow()
  await sql`update api_keys set last_used_at = now() where key_id = ${keyId}`.execute(berth.services.db)
  await sql`update api_keys set name = 'renamed' where key_id = ${keyId}`.execute(berth.services.db)
  const seen = await follow(owner, { after, types: 'API_KEY' }, (events) =>
    events.some(({ change }) => change === 'UPDATED'),
  )
  expect(seen.filter(({ nodeId, change }) => nodeId === keyId && change === 'UPDATED')).toHaveLength(1)
})

describe('a reader', () => {
  test('who comes back at any place misses nothing and sees nothing twice, whatever order transactions commit in', async () => {
    const token = await berth.token('rosa', 'ordered', 'owner')
    const { organizationId, userId } = idsOf(token)
    const { pool } = berth.services.database
    const insert = 'insert into projects (id, organization_id, user_id, name) values ($1, $2, $3, $4)'
    const after = await cursorNow(token)
    const live: Event[] = []
    const following = follow(token, { after, types: 'PROJECT' }, (events) => {
      live.splice(0, live.length, ...events)
      return events.length === 42
    })
    const before = await makeProject('before', token)
    await until('the reader has the first', () => live.length === 1)
    const slow = await pool.connect()
    const [first, ...others] = Array.from({ length: 41 }, newUuid)
    try {
      await slow.query('begin')
      await slow.query(insert, [first, organizationId, userId, 'slow'])
      for (const [at, id] of others.entries()) await pool.query(insert, [id, organizationId, userId, `p${at}`])
      // Those are committed, and come after one that is not: the reader waits, for however many looks.
      const looks = { limitMs: 6 * organizationEventLimits.lookMs, everyMs: 20 }
      expect(await pollUntil(() => live.length > 1, looks)).toBe(false)
      await slow.query('commit')
    } finally {
      slow.release()
    }
    const [made, ...all] = await following
    expect(made?.nodeId).toBe(before)
    expect(all.map(({ nodeId }) => nodeId)).toEqual([first, ...others].map((id) => encodeId('project', id!)))
    for (const at of [0, 1, 20, 39]) {
      const rest = await follow(
        token,
        { after: all[at]?.cursor ?? '', types: 'PROJECT' },
        (events) => events.length === 40 - at,
      )
      expect(rest).toEqual(all.slice(at + 1))
    }
  }, 30_000)

  test('gets those that many write at once, each once', async () => {
    const token = await berth.token('wren', 'busy', 'owner')
    const after = await cursorNow(token)
    const seen = await follow(
      token,
      { after, types: 'PROJECT' },
      (events) => events.length >= 100,
      async () => {
        await Promise.all(Array.from({ length: 100 }, (_, at) => makeProject(`busy${at}`, token)))
      },
    )
    expect(new Set(seen.map(({ nodeId }) => nodeId)).size).toBe(100)
    expect(seen).toHaveLength(100)
  }, 30_000)

  test('sees who leaves as gone', async () => {
    const after = await cursorNow()
    await berth.token('greta', 'acme', 'member')
    const members = await ask('{ members { nodes { id user { name } } } }')
    const nodes = members['members']!['nodes'] as unknown as { id: string; user: { name: string } }[]
    const id = nodes.find(({ user }) => user.name === 'greta')?.id ?? ''
    await ask(`mutation { removeMember(input: { id: "${id}" }) { member { id } } }`)
    const seen = await follow(owner, { after, types: 'MEMBER' }, (events) => eventsOf(events, id).length === 2)
    expect(eventsOf(seen, id)).toMatchObject([{ change: 'CREATED' }, { change: 'DELETED', node: null }])
  })

  test('sees the organization renamed, and who is invited and comes in', async () => {
    const token = await berth.token('nora', 'before', 'owner')
    const of = organizationOf(token)
    const after = await cursorNow(token)
    await ask('mutation { updateOrganization(input: { name: "behind" }) { organization { id } } }', token)
    const made = await ask('mutation { createInvitation(input: { role: MEMBER }) { url invitation { id } } }', token)
    const { url, invitation } = made['createInvitation'] as unknown as { url: string; invitation: { id: string } }
    const guest = await berth.token('gus', 'elsewhere', 'owner')
    await ask(`mutation { acceptInvitation(input: { url: "${url}" }) { organization { id } } }`, guest)
    const types = 'ORGANIZATION, INVITATION, MEMBER'
    const seen = await follow(
      token,
      { after, types },
      (events) => eventsOf(events, invitation.id).length === 2 && events.filter(isMember).length === 2,
    )
    expect(eventsOf(seen, of)).toMatchObject([
      { change: 'CREATED' }, // the cursor is before
      { change: 'UPDATED', nodeType: 'ORGANIZATION', node: { id: of } },
    ])
    expect(eventsOf(seen, invitation.id)).toMatchObject([{ change: 'CREATED' }, { change: 'UPDATED' }])
    expect(seen.filter(isMember)).toMatchObject([{ change: 'CREATED' }, { change: 'CREATED' }])
    const changeTo = async (role: string): Promise<unknown> => {
      const id = seen.findLast(isMember)?.nodeId ?? ''
      return ask(`mutation { updateMember(input: { id: "${id}", role: ${role} }) { member { role } } }`, token)
    }
    const later = await follow(
      token,
      { after: seen.at(-1)?.cursor ?? '', types },
      (events) => events.some(isMember),
      () => changeTo('ADMIN').then(() => undefined),
    )
    expect(later).toMatchObject([{ change: 'UPDATED', nodeType: 'MEMBER' }])
  })

  test('sees what is a colleague’s own neither live nor later, and everything of the organization', async () => {
    const colleague = await berth.token('colin', 'acme', 'member')
    const after = await cursorNow()
    await ask('mutation { createVault(input: { displayName: "mine alone" }) { vault { id } } }', colleague)
    const project = await makeProject('everybody’s', colleague)
    const isThere = (events: Event[]): boolean => eventsOf(events, project).length > 0
    expect((await follow(owner, { after }, isThere)).map(({ nodeType }) => nodeType)).not.toContain('VAULT')
    expect((await follow(colleague, { after }, isThere)).map(({ nodeType }) => nodeType)).toContain('VAULT')
  })

  test('who may not read a type is refused when they name it, and sees the others without it', async () => {
    const viewer = await berth.token('victor', 'acme', 'viewer')
    const none = (): boolean => true
    await expect(follow(viewer, { types: 'WEBHOOK_ENDPOINT' }, none)).rejects.toThrow(/^NOT_PERMITTED_FOR_ROLE: /)
    const after = await cursorNow(viewer)
    await ask(
      'mutation { createWebhookEndpoint(input: { url: "https://hooks.example/a" }) { webhookEndpoint { id } } }',
    )
    const project = await makeProject('shown')
    const isThere = (events: Event[]): boolean => eventsOf(events, project).length > 0
    const types = async (token: string): Promise<string[]> =>
      (await follow(token, { after }, isThere)).map(({ nodeType }) => nodeType)
    expect(await types(viewer)).not.toContain('WEBHOOK_ENDPOINT')
    expect(await types(owner)).toContain('WEBHOOK_ENDPOINT')
    const { key } = await makeKey(berth, owner, { scopes: ['compute:use'] })
    const ofKey = await follow(key, { of: organizationOf(owner), after }, isThere)
    expect(ofKey.map(({ nodeType }) => nodeType)).toContain('PROJECT')
  })

  test('is refused in another organization, in a VM, and with a cursor that is none, too old, or of another server', async () => {
    const stranger = await berth.token('sid', 'strangers', 'owner')
    const none = (): boolean => true
    const of = organizationOf(owner)
    await expect(follow(stranger, { of }, none)).rejects.toThrow(/^FORBIDDEN: You do not belong/)
    await expect(follow(await makeVmToken(berth, owner), { of }, none)).rejects.toThrow(/^FORBIDDEN: /)
    await expect(follow(owner, { after: 'x' }, none)).rejects.toThrow(/^INVALID_REQUEST: after is not a cursor/)
    await expect(follow(owner, { after: '1-0-1000000000' }, none)).rejects.toThrow(/^REPLAY_RETENTION_EXCEEDED: /)
    const later = `999999999999-0-${Math.floor(Date.now() / 1000)}`
    await expect(follow(owner, { after: later }, none)).rejects.toThrow(/^REPLAY_RETENTION_EXCEEDED: /)
  })
})

test('events go after a day, and those of another server at once', async () => {
  const token = await berth.token('olga', 'old', 'owner')
  const { organizationId } = idsOf(token)
  await makeProject('kept', token)
  const add = (transaction: number, age: string): Promise<unknown> =>
    sql`
    insert into organization_events (transaction, organization_id, type, node_id, change, created_at)
    values (${transaction}, ${organizationId}, 'Project', ${newUuid()}, 'created', now() - ${age}::interval)`.execute(
      berth.services.db,
    )
  await add(1, '25 hours')
  await add(2, '23 hours')
  await add(999_999_999_999, '1 second')
  await forgetOrganizationEvents(berth.services.db)
  const left = await findAll<{ transaction: number }>(
    berth.services.db,
    sql`select transaction from organization_events where organization_id = ${organizationId} and type = 'Project' order by transaction`,
  )
  expect(left[0]?.transaction).toBe(2)
  expect(left).toHaveLength(2)
})
