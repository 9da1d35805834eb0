/** Lists in lists: what a list of parents costs does not grow with their number, and each parent has its own. */
import type { GraphQLObjectType } from 'graphql'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { sessionColumns } from '#schema/agents/sessions/columns.ts'
import { schema } from '#schema/schema.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf, makeSilentNode, makeVmRow } from '../support/makers.ts'
import { append, makeSessionRow } from '../support/sessions.ts'

const parentCount = 8
const childCount = 3

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  await makeFamilies()
})
afterAll(() => berth.stop())

/** Parents of every kind, each with three children. */
async function makeFamilies(): Promise<void> {
  const { db } = berth.services
  const { organizationId, userId } = idsOf(token)
  const nodeId = await makeSilentNode(db)
  for (let made = 0; made < parentCount; made++) {
    await makeVmRow(db, token, nodeId)
    const sessionId = await makeSessionRow(db, token)
    await append(db, sessionId, ...Array.from({ length: childCount }, () => ({ type: 'session.updated', data: {} })))
  }
  await sql`insert into vm_processes (id, vm_id, command, status) select gen_random_uuid(), vms.id, 'sleep', 'running' from vms, generate_series(1, ${childCount})`.execute(
    db,
  )
  await sql`insert into vaults (id, organization_id, owner_user_id, display_name) select gen_random_uuid(), ${organizationId}, ${userId}, 'made' from generate_series(1, ${parentCount})`.execute(
    db,
  )
  await sql`insert into vault_credentials (id, vault_id, display_name, auth, key_kind, key, metadata, sealed_secrets)
    select gen_random_uuid(), id, 'made', '{"type": "static_bearer", "mcp_server_url": "https://example.com"}', 'mcp_server_url', number, '{}', ''::bytea from vaults, generate_series(1, ${childCount}) number`.execute(
    db,
  )
  await sql`insert into agent_versions (agent_id, version, definition) select id, number, definition from agents, generate_series(1, ${childCount}) number`.execute(
    db,
  )
}

type Connection = { nodes: { id?: string; list: Connection; parent?: { id: string } }[]; totalCount?: number }

async function read(query: string): Promise<Connection> {
  const { body } = await berth.ask(query, { token })
  expect(body.errors).toBeUndefined()
  return (body.data as { parents: Connection }).parents
}

/** What lets a caller in, which is remembered for some seconds or some requests. */
const letsIn = /memberships|rate_buckets/

/** How many statements an operation sends once everything that is remembered is. */
async function statementsOf(query: string): Promise<number> {
  await read(query)
  const sent = vi.spyOn(berth.services.database.pool, 'query')
  try {
    await read(query)
    const texts = sent.mock.calls.map(([statement]) => (statement as unknown as { text: string }).text) // as statements.ts sends them
    return texts.filter((text) => !letsIn.test(text)).length
  } finally {
    sent.mockRestore()
  }
}

// A list of parents, the field of theirs that is a list, and what leads from a child back to its parent.
const families = [
  ['vms', 'processes(first: 2)', 'parent: vm { id }'],
  ['vaults', 'credentials(first: 2)', 'parent: vault { id }'],
  ['sessions', 'events(first: 2)', ''],
  ['agents', 'versions(first: 2)', 'id'],
  ['agents', 'sessions(first: 2)', 'parent: agent { id }'],
] as const
const ask = (parents: string, first: number, list: string, of: string): string =>
  `{ parents: ${parents}(first: ${first}) { nodes { id list: ${list} { totalCount nodes { __typename ${of} } } } } }`

test.each(families)('%s with %s of each cost as many statements as one of them does', async (parents, list, of) => {
  const one = await statementsOf(ask(parents, 1, list, of))
  expect(one).toBeLessThanOrEqual(4) // parents, their lists, how long these are, and what leads back
  expect(await statementsOf(ask(parents, parentCount, list, of))).toBe(one)
})

test.each(families)('of %s with %s each has its own', async (parents, list, of) => {
  const { nodes } = await read(ask(parents, parentCount, list, of))
  expect(nodes).toHaveLength(parentCount)
  const own = list.startsWith('sessions') ? 1 : childCount // each agent of these has one session
  for (const { id, list: mine } of nodes) {
    expect([mine.totalCount, mine.nodes.length]).toEqual([own, Math.min(own, 2)])
    for (const child of mine.nodes) if (of !== '') expect(child.parent?.id ?? child.id).toBe(id)
  }
})

test('a list of an organization to which many rows lead is read once', async () => {
  const ask = (first: number): string =>
    `{ parents: vms(first: ${first}) { nodes { organization { id folders(first: 1) { nodes { id } } builds(first: 1) { totalCount } } } } }`
  expect(await statementsOf(ask(parentCount))).toBe(await statementsOf(ask(1)))
})

test('an organization that is asked for nothing but its lists is not read itself', async () => {
  const id = encodeId('organization', idsOf(token).organizationId)
  const ask = (of: string): string =>
    `{ parents: organization(id: "${id}") { ${of} nodes: vms(first: 2) { nodes { id } } } }`
  expect(await statementsOf(ask('id'))).toBe(1)
  expect(await statementsOf(ask('... on Organization { name }'))).toBe(2)
  expect(await read(ask('name createdAt'))).toMatchObject({ name: 'acme', createdAt: expect.any(String) as string })
})

test('a page of each parent is the page that it has alone, whichever way it is read', async () => {
  const pages = [
    'first: 1',
    'last: 1',
    'last: 2',
    'first: 3',
    'first: 2, filter: {statuses: [RUNNING]}',
    'filter: {statuses: [KILLED]}',
  ]
  const selected = '{ totalCount nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }'
  for (const page of pages) {
    const { nodes } = await read(
      `{ parents: vms(first: ${parentCount}) { nodes { id list: processes(${page}) ${selected} } } }`,
    )
    for (const { id, list } of nodes)
      expect(await read(`{ parents: vmProcesses(vmId: "${id}", ${page}) ${selected} }`), page).toEqual(list)
  }
})

test('lists that are asked for with different arguments are not mixed up', async () => {
  const { nodes } = await read(
    `{ parents: vaults(first: ${parentCount}) { nodes { list: credentials(first: 1) { nodes { id } } other: credentials(first: 3) { nodes { id } } } } }`,
  )
  for (const { list, other } of nodes as unknown as { list: Connection; other: Connection }[]) {
    expect([list.nodes.length, other.nodes.length]).toEqual([1, 3])
    expect(other.nodes[0]).toEqual(list.nodes[0])
  }
})

test('a list that the caller may not see fails for each parent, and the parents stay', async () => {
  const viewer = await berth.token('victor', 'acme', 'viewer')
  const { body } = await berth.ask('{ vms(first: 2) { nodes { id processes { totalCount } } } }', { token: viewer })
  expect((body.data as { vms: Connection }).vms.nodes).toEqual([
    { id: expect.any(String) as string, processes: null },
    { id: expect.any(String) as string, processes: null },
  ])
  expect(body.errors?.map(({ extensions }) => extensions.code)).toEqual([
    'NOT_PERMITTED_FOR_ROLE',
    'NOT_PERMITTED_FOR_ROLE',
  ])
})

test('the logs of many sessions together have no more bytes than one may have', async () => {
  const eventBytes = limits.eventPageBytes / parentCount - 1
  await sql`update session_events set size_bytes = ${Math.floor(eventBytes)}`.execute(berth.services.db)
  const log = 'list: events(first: 3) { nodes { id } pageInfo { hasNextPage } }'
  const { nodes } = await read(`{ parents: sessions(first: ${parentCount}) { nodes { id ${log} } } }`)
  for (const { list } of nodes) expect(list).toMatchObject({ nodes: [{}], pageInfo: { hasNextPage: true } })
  const alone = await read(`{ parents: session(id: "${nodes[0]?.id}") { nodes: events(first: 3) { nodes { id } } } }`)
  expect((alone.nodes as unknown as Connection).nodes).toHaveLength(childCount)
})

test('a list of sessions reads for each field what the session itself says of it, whichever columns it reads for it', async () => {
  const parts: Record<string, string> = {
    agent: '{ id }',
    environment: '{ id }',
    vaults: '{ id }',
    stopReason: '{ type }',
    events: '{ totalCount }',
    deployment: '{ id }',
    source: '{ __typename }',
  }
  const shown = (schema.getType('Session') as GraphQLObjectType).getFields() // it is an object
  for (const field of Object.keys(sessionColumns).filter((name) => name in shown)) {
    const asked = `id ${field} ${parts[field] ?? ''}`
    const { nodes } = await read(`{ parents: sessions(first: ${parentCount}) { nodes { ${asked} } } }`)
    expect(nodes).toHaveLength(parentCount)
    expect(await read(`{ parents: session(id: "${nodes[0]?.id}") { ${asked} } }`), field).toEqual(nodes[0])
  }
})
