/** The graph: nodes by their ids, objects beside ids, and that no edge leads into an organization that is not the caller’s. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { decodeId, encodeId, newId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { sql } from '#src/platform/postgres.ts'
import { makeCallers, makeRefusingNode, makeTarget, type Callers, type Target } from '../contract/callers.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf, makeVmRow } from '../support/makers.ts'

let berth: Berth
let callers: Callers
let machine: string
let target: Target
let request: string
beforeAll(async () => {
  berth = await startBerth()
  callers = await makeCallers(berth)
  machine = await makeRefusingNode(berth)
  target = await makeTarget(berth, callers.owner, machine)
  const { rows } = await sql<{
    id: string
  }>`select id from inference_requests where key_id = ${target.apiKey}`.execute(berth.services.db)
  request = encodeId('inferenceRequest', rows[0]?.id ?? '')
  const members = [target.groupMember, target.otherMember].map((id) => decodeId('session', id))
  await sql`delete from sessions where id = any(${members}::uuid[])`.execute(berth.services.db) // one session is enough here
})
afterAll(() => berth.stop())

type Asked = { data: Record<string, unknown> | null | undefined; codes: string[] }
async function ask(query: string, token: string | undefined, variables: Record<string, unknown> = {}): Promise<Asked> {
  const { body } = await berth.ask(query, { token, variables })
  return {
    data: body.data as Asked['data'],
    codes: (body.errors ?? []).map(({ extensions }) => String(extensions.code)),
  }
}

const userOf = (token: string): string => encodeId('user', idsOf(token).userId)
/** The id of one node of each type that this file’s target has, by the type. */
const kinds = (): Record<string, string> => ({
  Vm: target.vm,
  VmProcess: target.process,
  Folder: target.folder,
  Build: target.build,
  Template: encodeId('template', '00000000-0000-7000-8000-000000000001'),
  Machine: encodeId('node', machine),
  ApiKey: target.apiKey,
  Member: target.membership,
  Organization: target.organization,
  User: userOf(callers.owner),
  Agent: target.agent,
  Environment: target.environment,
  Vault: target.vault,
  VaultCredential: target.credential,
  Session: target.session,
  Group: target.group,
  GroupMessage: target.groupMessage,
  GroupRun: target.groupRun,
  InferenceRequest: request,
})
const everybodys = ['Template', 'Machine']
const node = 'query ($id: ID!) { node(id: $id) { __typename id } }'

describe('node', () => {
  test('finds every noun by its id alone', async () => {
    for (const [__typename, id] of Object.entries(kinds()))
      expect(await ask(node, callers.owner, { id }), __typename).toEqual({
        data: { node: { __typename, id } },
        codes: [],
      })
  })

  test('is null for what belongs to another organization, does not exist, or is not an id', async () => {
    for (const [type, id] of Object.entries(kinds()))
      if (!everybodys.includes(type))
        expect(await ask(node, callers.stranger, { id }), type).toEqual({ data: { node: null }, codes: [] })
    for (const id of [newId('vm'), newId('build'), 'vm_x', '', 'x'.repeat(16), 'org_', '%'])
      expect(await ask(node, callers.owner, { id }), id).toEqual({ data: { node: null }, codes: [] })
  })

  test('finds what a person has in each of their organizations, whichever is active in their token', async () => {
    const elsewhere = await berth.token('alice', 'second', 'owner')
    for (const [__typename, id] of Object.entries(kinds()))
      expect(await ask(node, elsewhere, { id }), __typename).toEqual({ data: { node: { __typename, id } }, codes: [] })
  })

  test('finds many at once, in the same order, each as often as it is named', async () => {
    const ids = [target.build, newId('vm'), target.vm, target.build, 'vm_x']
    expect(await ask('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', callers.owner, { ids })).toEqual({
      data: { nodes: [{ id: target.build }, null, { id: target.vm }, { id: target.build }, null] },
      codes: [],
    })
  })

  test('accepts so many ids and no more', async () => {
    const many = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }'
    const ids = (count: number): string[] => Array.from({ length: count }, () => newId('vm'))
    expect((await ask(many, callers.owner, { ids: ids(limits.nodesMax) })).codes).toEqual([])
    for (const count of [limits.nodesMax + 1, 1000])
      expect((await ask(many, callers.owner, { ids: ids(count) })).codes).toEqual(['INVALID_REQUEST'])
  })
})

describe('the viewer', () => {
  const whole =
    '{ viewer { userId user { id name } keyId key { id scopes createdBy { id } organization { id } } organizationId organization { id name } organizations { nodes { id } totalCount } role } }'

  test('of a key is the key, and nothing of it is an error', async () => {
    const { data, codes } = await ask(whole, callers.keyWithout)
    expect(codes).toEqual([])
    expect(data).toMatchObject({
      viewer: {
        userId: null,
        user: null,
        key: { createdBy: { id: userOf(callers.owner) }, organization: { id: target.organization } },
        organization: { id: target.organization },
        organizations: { nodes: [{ id: target.organization }], totalCount: 1 },
        role: null,
      },
    })
  })

  test('of a person has every organization of theirs', async () => {
    const token = await berth.token('alice', 'second', 'viewer')
    const second = encodeId('organization', idsOf(token).organizationId)
    const { data, codes } = await ask(whole, token)
    expect(codes).toEqual([])
    expect(data).toMatchObject({
      viewer: { user: { id: userOf(callers.owner) }, key: null, organizationId: second, role: 'VIEWER' },
    })
    const { organizations } = data!['viewer'] as { organizations: { nodes: { id: string }[] } }
    expect(organizations.nodes.map(({ id }) => id).toSorted()).toEqual([second, target.organization].toSorted())
  })
})

describe('an organization', () => {
  test('shows what it has to its members, whichever organization is active in their token', async () => {
    const elsewhere = await berth.token('alice', 'second', 'owner')
    const { data, codes } = await ask(
      `query ($id: ID!) { organization(id: $id) { vms(first: 100) { nodes { id template { name } machine { name } folder { id } createdBy { id } } totalCount }
        builds { nodes { id template { name } machine { name } } } folders { totalCount } members { totalCount } templates { nodes { name } } } }`,
      elsewhere,
      { id: target.organization },
    )
    expect(codes).toEqual([])
    expect(JSON.stringify(data)).toContain(target.vm)
    expect(JSON.stringify(data)).toContain(target.build)
    expect(JSON.stringify(data)).toContain('"template":{"name":"base"}')
    expect(await ask(node, elsewhere, { id: target.vm })).toMatchObject({ data: { node: { id: target.vm } } })
  })

  test('has what a person has there for agents, and leads from each to what belongs to it', async () => {
    await sql`update sessions set environment_id = ${decodeId('environment', target.environment)} where id = ${decodeId('session', target.session)}`.execute(
      berth.services.db,
    )
    const asked = `query ($id: ID!) { organization(id: $id) {
      agents(first: 3) { nodes { id owner { id } versions { totalCount } sessions(first: 3) { nodes { id } } } }
      environments(first: 3) { nodes { id organization { id } vm { id } sessions(first: 3) { nodes { id } totalCount } } }
      vaults(first: 3) { nodes { id credentials(first: 3) { nodes { id } } } }
      sessions(first: 3, filter: {statuses: [IDLE]}, order: ASC) { nodes { id agent { id } environment { id } events(first: 3) { nodes { id } } } } } }`
    const [owner, mine] = [{ id: userOf(callers.owner) }, { nodes: [{ id: target.session }] }]
    for (const token of [callers.owner, await berth.token('alice', 'second', 'owner')])
      expect(await ask(asked, token, { id: target.organization })).toEqual({
        data: {
          organization: {
            agents: { nodes: [{ id: target.agent, owner, versions: { totalCount: 1 }, sessions: mine }] },
            environments: {
              nodes: [
                {
                  id: target.environment,
                  organization: { id: target.organization },
                  vm: null,
                  sessions: { ...mine, totalCount: 1 },
                },
              ],
            },
            vaults: { nodes: [{ id: target.vault, credentials: { nodes: [{ id: target.credential }] } }] },
            sessions: {
              nodes: [
                {
                  id: target.session,
                  agent: { id: target.agent },
                  environment: { id: target.environment },
                  events: { nodes: [{ id: target.event }] },
                },
              ],
            },
          },
        },
        codes: [],
      })
    const none = { nodes: [] }
    expect(await ask(asked, callers.member, { id: target.organization })).toEqual({
      data: { organization: { agents: none, environments: none, vaults: none, sessions: none } },
      codes: [],
    })
    const ofKey = await ask(asked, callers.keyWithout, { id: target.organization })
    expect(ofKey.data).toEqual({ organization: { agents: none, environments: null, vaults: null, sessions: null } })
    expect(ofKey.codes).toEqual(['UNAUTHORIZED', 'UNAUTHORIZED', 'UNAUTHORIZED'])
  })

  test('is not visible to anyone else', async () => {
    const closed = 'query ($id: ID!) { organization(id: $id) { name } }'
    for (const id of [target.organization, newId('organization'), 'org_x'])
      expect(await ask(closed, callers.stranger, { id })).toEqual({
        data: { organization: null },
        codes: ['FORBIDDEN'],
      })
  })

  test('that may not be seen, or a list of it, leaves its siblings in the answer', async () => {
    const { data, codes } = await ask(
      '{ viewer { organization { name usage { totalCount } vms { totalCount } } } }',
      callers.keyWith,
    )
    expect(codes).toEqual(['UNAUTHORIZED']) // usage is for people
    expect(data).toMatchObject({ viewer: { organization: { name: 'acme', usage: null, vms: { totalCount: 1 } } } })
  })
})

describe('an object beside an id', () => {
  test('is null when it is another organization’s, whatever a row says', async () => {
    const foreign = await makeVmRow(berth.services.db, callers.stranger, machine)
    const templateId = decodeId('template', newId('template'))
    const { organizationId, userId } = idsOf(callers.owner)
    await sql`insert into templates (id, organization_id, name) values (${templateId}, ${organizationId}, 'theirs')`.execute(
      berth.services.db,
    )
    await sql`update vms set template_id = ${templateId}, folder_id = ${decodeId('folder', target.folder)}, owner_user_id = null, user_id = ${userId} where id = ${decodeId('vm', foreign)}`.execute(
      berth.services.db,
    )
    const asked = `{ vm(id: "${foreign}") { id template { name } folder { name } createdBy { name } machine { id } } }`
    expect(await ask(asked, callers.stranger)).toEqual({
      data: {
        vm: { id: foreign, template: null, folder: null, createdBy: null, machine: { id: encodeId('node', machine) } },
      },
      codes: [],
    })
    expect((await ask(`{ node(id: "${target.folder}") { ... on Folder { vm { id } } } }`, callers.owner)).data).toEqual(
      {
        node: { vm: null },
      },
    )
  })

  test('that is private to one person is null for their colleagues', async () => {
    const vm = await makeVmRow(berth.services.db, callers.owner, machine)
    await sql`update vms set owner_user_id = ${idsOf(callers.owner).userId} where id = ${decodeId('vm', vm)}`.execute(
      berth.services.db,
    )
    expect((await ask(node, callers.owner, { id: vm })).data).toMatchObject({ node: { id: vm } })
    for (const token of [callers.member, callers.keyWith])
      expect(await ask(node, token, { id: vm })).toEqual({ data: { node: null }, codes: [] })
  })
})

describe('a cursor', () => {
  const lists = [
    'vms',
    'builds',
    'folders',
    'databases',
    'projects',
    'templates',
    'members',
    'apiKeys',
    'usage',
    'agents',
    'environments',
    'vaults',
    'sessions',
  ]
  const page = (list: string): string =>
    `query ($cursor: String) { viewer { organization { ${list}(after: $cursor) { edges { cursor } } } } }`

  test.each(lists)('of %s that is made up, or of another list, is refused', async (list) => {
    const others = [
      target.vm,
      target.build,
      target.folder,
      target.database,
      target.project,
      target.membership,
      target.apiKey,
      target.agent,
      target.vault,
      target.session,
    ]
    const own = {
      vms: target.vm,
      builds: target.build,
      folders: target.folder,
      databases: target.database,
      projects: target.project,
      members: target.membership,
      apiKeys: target.apiKey,
      agents: target.agent,
      environments: target.environment,
      vaults: target.vault,
      sessions: target.session,
    }[list]
    for (const cursor of ['x', '', '-1', ...others.filter((one) => one !== own)])
      expect((await ask(page(list), callers.owner, { cursor })).codes, cursor).toEqual(['INVALID_REQUEST'])
  })

  test('of another organization’s row shows nothing of either', async () => {
    await makeVmRow(berth.services.db, callers.stranger, machine)
    for (const list of ['vms', 'apiKeys'])
      expect(
        (await ask(page(list), callers.stranger, { cursor: list === 'vms' ? target.vm : target.apiKey })).data,
      ).toEqual({ viewer: { organization: { [list]: { edges: [] } } } })
  })

  test('walks a list both ways, and the list can be counted', async () => {
    const token = await berth.token('walter', 'walkers', 'owner')
    for (let made = 0; made < 5; made++) await makeVmRow(berth.services.db, token, machine)
    type Vms = { vms: { nodes: { id: string }[]; totalCount: number; pageInfo: Record<string, unknown> } }
    const read = async (args: string): Promise<Vms['vms']> =>
      (
        (
          await ask(
            `{ vms(${args}) { nodes { id } totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`,
            token,
          )
        ).data as Vms
      ).vms
    const whole = await read('first: 10')
    const ids = whole.nodes.map(({ id }) => id)
    expect([ids.length, whole.totalCount]).toEqual([5, 5])
    expect((await read(`first: 2, after: "${ids[1]}"`)).nodes.map(({ id }) => id)).toEqual(ids.slice(2, 4))
    expect((await read(`last: 2, before: "${ids[3]}"`)).nodes.map(({ id }) => id)).toEqual(ids.slice(1, 3))
    expect((await read('last: 2')).nodes.map(({ id }) => id)).toEqual(ids.slice(3))
    expect((await read('first: 5, order: ASC')).nodes.map(({ id }) => id)).toEqual(ids.toReversed())
    expect((await read('first: 5, filter: {statuses: [ERROR]}')).totalCount).toBe(0)
  })
})

test('a list of VMs reads for each field what the VM itself says of it, whichever columns it reads for it', async () => {
  const fields =
    'name status statusReason templateId createdById machineId ipAddress vcpuCount memoryMb diskMb externalRef folderId createdAt'
  const { data } = await ask(`{ vm(id: "${target.vm}") { id ${fields} metadata } }`, callers.owner)
  const vm = data?.['vm'] as Record<string, unknown>
  for (const field of [...fields.split(' '), 'metadata']) {
    const listed = await ask(`{ vms(first: 100) { nodes { id ${field} } edges { node { id } } } }`, callers.owner)
    const { nodes } = listed.data!['vms'] as { nodes: Record<string, unknown>[] }
    expect(nodes.find(({ id }) => id === target.vm)).toEqual({ id: target.vm, [field]: vm[field] })
  }
})

test('a query for a million objects is refused before it runs', async () => {
  const asked =
    '{ viewer { organizations(first: 100) { nodes { vms(first: 100) { nodes { processes(first: 100) { nodes { id } } } } } } } }'
  const { data, codes } = await ask(asked, callers.owner)
  expect([data ?? null, codes]).toEqual([null, ['INVALID_REQUEST']])
  const ids = Array.from({ length: limits.nodesMax }, () => target.organization)
  const inside = '{ ... on Organization { vms(first: 100) { nodes { id } } } }'
  expect((await ask(`query ($ids: [ID!]!) { nodes(ids: $ids) ${inside} }`, callers.owner, { ids })).codes).toEqual([
    'INVALID_REQUEST',
  ])
  expect((await ask(`{ nodes(ids: ${JSON.stringify(ids)}) ${inside} }`, callers.owner)).codes).toEqual([
    'INVALID_REQUEST',
  ])
})

test('the size of a page is the requested one, whichever argument sets it', async () => {
  const inside = 'nodes { folder { id } template { id } createdBy { id } machine { id } project { id } }'
  for (const [pages, variables] of [
    ['first: null, last: 1000', {}],
    ['first: $n, last: 1000', {}],
    ['first: $n, last: 1000', { n: null }],
    ['last: 1000, first: $n', { n: 1 }],
  ] as const) {
    const { data, codes } = await ask(`query ($n: Int) { vms(${pages}) { ${inside} } }`, callers.owner, variables)
    expect([pages, data ?? null, codes]).toEqual([pages, null, ['INVALID_REQUEST']])
  }
  const small = '{ vms(first: null, last: 2) { nodes { processes(first: null, last: 20) { nodes { id } } } } }'
  expect((await ask(small, callers.owner)).codes).toEqual([])
})

test('a key that may not see sessions gets the agent whose sessions it asks for', async () => {
  const made = await ask(
    'mutation { createAgent(input: {name: "by a key", model: {id: "berth/demo"}}) { agent { name sessions { totalCount } } } }',
    callers.keyWithout,
  )
  expect(made).toEqual({
    data: { createAgent: { agent: { name: 'by a key', sessions: null } } },
    codes: ['UNAUTHORIZED'],
  })
})

test('an operation reads at most so many bytes of logs', async () => {
  const { db } = berth.services
  const other = await makeTarget(berth, callers.owner, machine)
  for (const { session } of [target, other])
    await sql`update session_events set size_bytes = ${limits.eventPageBytes} where session_id = ${decodeId('session', session)}`.execute(
      db,
    )
  const page = { nodes: [{ id: target.event }] }
  const listed = (first: number): string =>
    `a${first}: sessionEvents(sessionId: "${target.session}", first: ${first}) { nodes { id } }`
  expect(await ask(`{ ${listed(1)} ${listed(2)} ${listed(3)} }`, callers.owner)).toEqual({
    data: { a1: page, a2: page, a3: null },
    codes: ['INVALID_REQUEST'],
  })
  const ofEach = async (ids: string[], inside: string): Promise<Asked> =>
    ask(`query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Session { ${inside} } } }`, callers.owner, { ids })
  const inside = 'events(first: 1) { nodes { id } }'
  const [one, both] = [[target.session], [target.session, other.session]]
  expect(await ofEach(one, inside)).toEqual({ data: { nodes: [{ events: page }] }, codes: [] })
  expect(await ofEach(both, inside)).toEqual({ data: { nodes: [null, null] }, codes: Array(2).fill('INVALID_REQUEST') })
  await sql`update sessions set last_event_id = e.id from session_events e where e.session_id = sessions.id`.execute(db)
  const last = 'activity { lastEvent { id } }'
  expect((await ofEach(one, last)).codes).toEqual([])
  expect((await ofEach(both, last)).codes).toEqual(Array(2).fill('INVALID_REQUEST'))
})

test('false is refused where an input can only be true', async () => {
  const vm = `vm: updateVm(input: {id: "${target.vm}", networkPolicy: $policy}) { vm { id } }`
  for (const policy of [{ unrestricted: false }, { none: false }])
    expect(await ask(`mutation ($policy: NetworkPolicyInput) { ${vm} }`, callers.owner, { policy })).toEqual({
      data: { vm: null },
      codes: ['INVALID_REQUEST'],
    })
  const chat =
    'chat: createChatCompletion(input: {model: "berth/demo", messages: [{system: "x"}], responseFormat: $format}) { completion { id } }'
  for (const format of [{ text: false }, { jsonObject: false }])
    expect(await ask(`mutation ($format: ChatResponseFormatInput) { ${chat} }`, callers.owner, { format })).toEqual({
      data: { chat: null },
      codes: ['INVALID_REQUEST'],
    })
})

test('an operation leaves connections to Postgres for others, however much it asks for', async () => {
  const { pool } = berth.services.database
  let waiting = 0
  const connections = vi.spyOn(pool, 'connect')
  const look = setInterval(() => (waiting = Math.max(waiting, pool.waitingCount)), 1)
  const ids = [...Array<string>(30).fill(target.organization), ...Array<string>(30).fill(target.build)]
  const inside =
    '... on Organization { inferenceCredits { balanceUsd } inferenceUsage { from } buildSecrets { name } } ... on Build { log(limit: 1) { id } }'
  const { codes } = await ask(`query ($ids: [ID!]!) { nodes(ids: $ids) { ${inside} } }`, callers.owner, { ids })
  clearInterval(look)
  expect([codes, waiting]).toEqual([[], 0])
  expect(connections.mock.calls.length).toBeGreaterThan(100)
  connections.mockRestore()
})
