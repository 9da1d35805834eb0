/** Audit events: who did what to which object, from where; complete, without secrets, and only for who manages the organization. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { unrecordedMutations } from '#schema/identity/audit-events/actors.ts'
import { schema } from '#schema/schema.ts'
import { decodeId, encodeId, newId, newUuid } from '#src/platform/ids.ts'
import { change, findAll, sql, transaction } from '#src/platform/postgres.ts'
import { auditedTypes } from '#src/resources/identity/audit-events/audited.ts'
import { auditLimits } from '#src/resources/identity/audit-events/limits.ts'
import { asCaller, recordUse } from '#src/resources/identity/audit-events/recording.ts'
import { auditRetention } from '#src/resources/identity/audit-events/retention.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf, makeKey, makeSilentNode, makeVmRow, makeVmToken } from '../support/makers.ts'

let berth: Berth
let owner: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000', BERTH_AUDIT_DAYS: '30' } })
  owner = await berth.token('alice', 'acme', 'owner')
})
afterAll(() => berth.stop())

type Event = {
  id: string
  at: string
  actor: { kind: string; id: string | null; name: string | null; node: { id: string } | null; userId: string | null }
  operation: string
  change: string
  nodeType: string
  nodeId: string
  nodeName: string | null
  node: { id: string } | null
  address: string | null
  requestId: string
}
const fields =
  'id at actor { kind id name node { id } userId } operation change nodeType nodeId nodeName node { id } address requestId'

async function ask(document: string, token = owner): Promise<Record<string, never>> {
  const { body } = await berth.ask(document, { token })
  expect(body.errors).toBeUndefined()
  return body.data as never
}
const codeOf = async (document: string, token = owner): Promise<string | undefined> =>
  (await berth.ask(document, { token })).body.errors?.[0]?.extensions.code
async function events(filter = '', token = owner): Promise<Event[]> {
  const data = await ask(
    `{ auditEvents(first: 100${filter ? `, filter: {${filter}}` : ''}) { nodes { ${fields} } } }`,
    token,
  )
  return data['auditEvents']!['nodes']
}
const makeProject = async (name: string, token = owner): Promise<string> =>
  (await ask(`mutation { createProject(input: { name: "${name}" }) { project { id } } }`, token))['createProject']![
    'project'
  ]!['id']
const short = ({ operation, change, nodeName }: Event): string => `${operation} ${change} ${nodeName}`

describe('what is recorded', () => {
  test('every type of an event has a trigger, and every trigger a type', async () => {
    const made = await findAll<{ type: string }>(
      berth.services.db,
      sql`
      select distinct substring(pg_get_functiondef(p.oid) from 'perform audit\\([^\\n]*?, ''([A-Z]\\w+)'',') as type
      from pg_proc p join pg_trigger t on t.tgfoid = p.oid where p.proname like 'audit\\_of\\_%'`,
    )
    expect(made.map(({ type }) => type).toSorted()).toEqual([...auditedTypes])
  })

  test('whatever lists show is recorded, but for what triggers do by themselves', async () => {
    const missing = await findAll<{ table: string }>(
      berth.services.db,
      sql`
      select tgrelid::regclass::text as table from pg_trigger where tgname = 'organization_events_rows'
      except select tgrelid::regclass::text from pg_trigger where tgname = 'audit_rows'`,
    )
    expect(missing).toEqual([{ table: 'trigger_fires' }])
  })

  test('what is not recorded are mutations that there are', () => {
    const mutations = schema.getMutationType()?.getFields() ?? {}
    expect(unrecordedMutations.filter((name) => !(name in mutations))).toEqual([])
  })

  test('a mutation by a person: who, what, which object under which name, from where, and the request', async () => {
    const id = await makeProject('first')
    const renamed = await berth.ask(
      `mutation { updateProject(input: { id: "${id}", name: "second" }) { project { id } } }`,
      {
        token: owner,
      },
    )
    const { userId } = idsOf(owner)
    const person = encodeId('user', userId)
    const actor = { kind: 'PERSON', id: person, name: 'alice', node: { id: person }, userId: person }
    const object = { nodeType: 'PROJECT', nodeId: id, node: { id } }
    const where = { address: '127.0.0.1', requestId: expect.stringMatching(/^req_/), at: expect.stringMatching(/Z$/) }
    expect(await events(`nodeId: "${id}"`)).toEqual([
      {
        ...where,
        ...object,
        id: expect.stringMatching(/^aud_/),
        actor,
        operation: 'updateProject',
        change: 'UPDATED',
        nodeName: 'second',
        requestId: renamed.headers.get('x-request-id'),
      },
      {
        ...where,
        ...object,
        id: expect.stringMatching(/^aud_/),
        actor,
        operation: 'createProject',
        change: 'CREATED',
        nodeName: 'first',
      },
    ])
    await ask(`mutation { deleteProject(input: { id: "${id}" }) { deletedId } }`)
    const [last] = await events(`nodeId: "${id}"`)
    expect(last).toMatchObject({ change: 'DELETED', nodeName: 'second', node: null })
    const data = await ask(`{ auditEvent(id: "${last!.id}") { operation organization { name } } }`)
    expect(data['auditEvent']).toEqual({ operation: 'deleteProject', organization: { name: 'acme' } })
  })

  test('a REST path, as the mutation that it is', async () => {
    const vmId = await makeVmRow(berth.services.db, owner, await makeSilentNode(berth.services.db))
    const { status, headers } = await berth.call('PATCH', `/api/v1/vms/${vmId}`, {
      token: owner,
      body: { name: 'by REST' },
    })
    expect(status).toBe(200)
    expect(await events(`nodeId: "${vmId}"`)).toMatchObject([
      {
        operation: 'updateVm',
        change: 'UPDATED',
        nodeName: 'by REST',
        address: '127.0.0.1',
        requestId: headers.get('x-request-id'),
      },
    ])
  })

  test('an API key, and the token inside a VM in the name of its person', async () => {
    const { key, keyId } = await makeKey(berth, owner)
    const id = await makeProject('by a key', key)
    expect((await events(`nodeId: "${id}"`))[0]?.actor).toEqual({
      kind: 'API_KEY',
      id: keyId,
      name: 'test',
      node: { id: keyId },
      userId: null,
    })
    const vmToken = await makeVmToken(berth, owner)
    const vmId = await makeVmRow(berth.services.db, owner, await makeSilentNode(berth.services.db))
    await ask(`mutation { updateVm(input: { id: "${vmId}", name: "inside" }) { vm { id } } }`, vmToken)
    const [made] = await events(`nodeId: "${vmId}"`)
    expect(made?.actor).toMatchObject({
      kind: 'VM_TOKEN',
      id: expect.stringMatching(/^vm_/),
      name: 'made',
      userId: encodeId('user', idsOf(owner).userId),
    })
    expect((await events(`actorId: "${made?.actor.id}"`)).map(short)).toEqual(['updateVm UPDATED inside'])
    expect(await events(`actorId: "${keyId}"`)).toHaveLength(1)
  })

  test('one event for each object of an operation, though several rows and columns of it change', async () => {
    const vmId = await makeVmRow(berth.services.db, owner, await makeSilentNode(berth.services.db))
    await ask(`mutation { setVmEnv(input: { vmId: "${vmId}", env: { ONE: "hush-1", TWO: "hush-2" } }) { vm { id } } }`)
    expect((await events(`nodeId: "${vmId}"`)).map(short)).toEqual(['setVmEnv UPDATED made'])
  })

  test('members, roles, keys, invitations, budgets and settings', async () => {
    await berth.token('bob', 'acme', 'member')
    const members = (await ask('{ members(first: 50) { nodes { id user { name } } } }'))['members']!['nodes'] as {
      id: string
      user: { name: string }
    }[]
    const bob = members.find(({ user }) => user.name === 'bob')!.id
    await ask(`mutation { updateMember(input: { id: "${bob}", role: ADMIN }) { member { id } } }`)
    await ask(`mutation { removeMember(input: { id: "${bob}" }) { member { id } } }`)
    expect((await events(`nodeId: "${bob}"`)).map(short)).toEqual([
      'removeMember DELETED bob',
      'updateMember UPDATED bob',
    ])
    const made = await ask('mutation { createApiKey(input: { name: "ci" }) { apiKey { id } } }')
    const keyId: string = made['createApiKey']!['apiKey']!['id']
    await ask(`mutation { setApiKeyBudget(input: { keyId: "${keyId}", monthlyUsd: "5" }) { credits { balanceUsd } } }`)
    await ask(`mutation { revokeApiKey(input: { id: "${keyId}" }) { apiKey { id } } }`)
    expect((await events(`nodeId: "${keyId}"`)).map(short)).toEqual([
      'revokeApiKey UPDATED ci',
      'setApiKeyBudget UPDATED ci',
      'createApiKey CREATED ci',
    ])
    await ask('mutation { createInvitation(input: { role: VIEWER, note: "for carol" }) { invitation { id } } }')
    expect((await events('nodeTypes: [INVITATION]')).map(short)).toEqual(['createInvitation CREATED for carol'])
    await ask('mutation { updateOrganization(input: { name: "acme & co" }) { organization { id } } }')
    expect((await events('nodeTypes: [ORGANIZATION]')).map(short)[0]).toBe('updateOrganization UPDATED acme & co')
    await ask('mutation { updateOrganization(input: { name: "acme" }) { organization { id } } }')
  })

  test('a statement in a database, before it runs', async () => {
    const { db } = berth.services
    const { organizationId, userId } = idsOf(owner)
    const caller = personOf(owner)
    const id = newUuid()
    const use = (): Promise<void> => recordUse(db, { organizationId, type: 'Database', id, name: 'shop' })
    await use() // nobody acts
    await asCaller({ caller, requestId: newId('request'), address: '192.0.2.7' }, 'runSql', use)
    expect(await events(`nodeId: "${encodeId('database', id)}"`)).toMatchObject([
      { operation: 'runSql', change: 'USED', nodeName: 'shop', address: '192.0.2.7', node: null },
    ])
    expect(userId).toBe(caller.userId)
  })

  test('nothing secret is in an event', async () => {
    await ask('mutation { setBuildSecret(input: { name: "TOKEN", value: "hush-3" }) { buildSecret { name } } }')
    const vault = (await ask('mutation { createVault(input: { displayName: "v" }) { vault { id } } }'))['createVault']![
      'vault'
    ]!['id'] as string
    await ask(
      `mutation { createVaultCredential(input: { vaultId: "${vault}", displayName: "c", auth: { staticBearer: { mcpServerUrl: "https://mcp.example/hush-4", token: "hush-5" } } }) { vaultCredential { id } } }`,
    )
    expect((await events('nodeTypes: [BUILD_SECRET]'))[0]).toMatchObject({ nodeId: 'TOKEN', node: null })
    expect(await events('nodeId: "TOKEN"')).toHaveLength(1)
    expect((await events('nodeTypes: [VAULT_CREDENTIAL]')).map(short)).toEqual(['createVaultCredential CREATED c'])
    const rows = await findAll<{ text: string }>(berth.services.db, sql`select a::text as text from audit_events a`)
    expect(rows.length).toBeGreaterThan(9)
    expect(rows.filter(({ text }) => text.includes('hush'))).toEqual([])
  })
})

const personOf = (token: string) => {
  const { organizationId, userId } = idsOf(token)
  const role = 'owner' as const
  return {
    kind: 'person' as const,
    userId,
    organizationId,
    role,
    memberships: new Map([[organizationId, role]]),
    vmId: null,
    tokenId: 'x',
    expiresAtSeconds: 2_000_000_000,
  }
}

describe('what is not recorded', () => {
  const insert = (name: string) =>
    sql`insert into projects (id, organization_id, name) values (${newUuid()}, ${idsOf(owner).organizationId}, ${name})`
  const call = () => ({ caller: personOf(owner), requestId: newId('request'), address: '127.0.0.1' })
  const named = async (name: string): Promise<Event[]> => (await events()).filter(({ nodeName }) => nodeName === name)

  test('what is rolled back, fails, or changes nothing', async () => {
    const { db } = berth.services
    const undone = asCaller(call(), 'createProject', () =>
      transaction(db, async (tx) => {
        await change(tx, insert('rolled back'))
        throw new Error('no')
      }),
    )
    await expect(undone).rejects.toThrow('no')
    expect(await named('rolled back')).toEqual([])
    const id = await makeProject('kept')
    const before = (await events()).length
    expect(await codeOf(`mutation { updateProject(input: { id: "${id}", name: "" }) { project { id } } }`)).toBe(
      'INVALID_REQUEST',
    )
    await ask(`mutation { updateProject(input: { id: "${id}", name: "kept" }) { project { id } } }`)
    await ask('{ projects(first: 5) { nodes { id } } }')
    expect(await events()).toHaveLength(before)
  })

  test('what Berth does by itself, also after the answer of a call, and on the same connection', async () => {
    const { db } = berth.services
    let release = (): void => undefined
    const later = new Promise<void>((resolve) => (release = resolve)).then(() => change(db, insert('after the answer')))
    let after: Promise<unknown> = later
    await asCaller(call(), 'createProject', async () => {
      await change(db, insert('in the call'))
      after = new Promise<void>((resolve) => setImmediate(resolve)).then(async () => {
        await later
        await change(db, insert('of the call, after its answer'))
      })
    })
    release()
    await after
    await change(db, insert('by itself'))
    expect(await named('in the call')).toHaveLength(1)
    for (const name of ['after the answer', 'of the call, after its answer', 'by itself'])
      expect(await named(name)).toEqual([])
  })
})

describe('who sees them', () => {
  test('admins and owners of the organization; others get the refusals of every list, and null below it', async () => {
    const admin = await berth.token('ada', 'acme', 'admin')
    const member = await berth.token('mel', 'acme', 'member')
    const stranger = await berth.token('sam', 'other', 'owner')
    const list = '{ auditEvents(first: 1) { nodes { id } } }'
    expect(await codeOf(list, admin)).toBeUndefined()
    expect(await codeOf(list, member)).toBe('NOT_PERMITTED_FOR_ROLE')
    expect(await codeOf(list, (await makeKey(berth, owner)).key)).toBe('UNAUTHORIZED')
    expect(await codeOf(list, await makeVmToken(berth, owner))).toBe('FORBIDDEN')
    expect((await berth.ask(list)).status).toBe(401)
    const [one] = await events()
    expect(await codeOf(`{ auditEvent(id: "${one!.id}") { id } }`, stranger)).toBe('NOT_FOUND')
    expect(await ask(`{ node(id: "${one!.id}") { id } }`, stranger)).toEqual({ node: null })
    expect((await events('', stranger)).map(({ nodeId }) => nodeId)).not.toContain(one!.nodeId)
    const below = (token: string) =>
      berth.ask('{ viewer { organization { auditEvents(first: 1) { nodes { id } } } } }', { token })
    expect((await below(admin)).body.data).toMatchObject({ viewer: { organization: { auditEvents: { nodes: [{}] } } } })
    expect((await below(member)).body.data).toMatchObject({ viewer: { organization: { auditEvents: null } } })
  })

  test('the node of an object that only its owner may see is null, and its id and name are there', async () => {
    const member = await berth.token('vic', 'acme', 'member')
    const vault = (await ask('mutation { createVault(input: { displayName: "mine" }) { vault { id } } }', member))[
      'createVault'
    ]!['vault']!['id'] as string
    expect(await events(`nodeId: "${vault}"`)).toMatchObject([
      { nodeId: vault, nodeName: 'mine', node: null, actor: { name: 'vic' } },
    ])
  })
})

describe('the list', () => {
  test('goes by pages in both directions, and is narrowed by all that a filter says', async () => {
    const token = await berth.token('lee', 'pages', 'owner')
    for (const name of ['a', 'b', 'c', 'd']) await makeProject(name, token)
    const page = async (given: string): Promise<{ names: string[]; cursor: string; total: number }> => {
      const list = (
        await ask(`{ auditEvents(${given}) { totalCount pageInfo { endCursor } nodes { nodeName } } }`, token)
      )['auditEvents']! as unknown as {
        totalCount: number
        pageInfo: { endCursor: string }
        nodes: { nodeName: string }[]
      }
      return { names: list.nodes.map((one) => one.nodeName), cursor: list.pageInfo.endCursor, total: list.totalCount }
    }
    const made = 'filter: {operations: ["createProject"]}'
    const first = await page(`first: 3, ${made}`)
    expect(first).toMatchObject({ names: ['d', 'c', 'b'], total: 4 })
    expect((await page(`first: 3, after: "${first.cursor}", ${made}`)).names).toEqual(['a'])
    expect((await page(`last: 1, ${made}`)).names).toEqual(['a'])
    expect((await page(`first: 2, order: ASC, ${made}`)).names).toEqual(['a', 'b'])
    const [d, c] = await events('nodeTypes: [PROJECT]', token)
    expect((await events(`nodeTypes: [PROJECT], at: {from: "${d!.at}"}`, token))[0]?.nodeName).toBe('d')
    expect((await events(`at: {until: "${c!.at}"}`, token)).map(({ nodeName }) => nodeName)).not.toContain('d')
    expect(await events(`actorId: "${encodeId('user', idsOf(owner).userId)}"`, token)).toEqual([])
    expect(await events(`nodeTypes: [VM]`, token)).toEqual([])
  })

  test.each([
    'actorId: "prj_00000000000000000000000000"',
    'actorId: "x"',
    'at: {from: "yesterday"}',
    `operations: [${'"a",'.repeat(auditLimits.operationsMax + 1)}]`,
  ])('the filter %s is refused', async (filter) => {
    expect(
      (await berth.ask(`{ auditEvents(filter: {${filter}}) { nodes { id } } }`, { token: owner })).body,
    ).toMatchObject({
      errors: [{ message: expect.any(String) }],
    })
  })

  test('goes after the days that the operator has set', async () => {
    const { db, config } = berth.services
    const id = await makeProject('old')
    const stored = decodeId('project', id)!
    const [row] = await findAll<{ id: string }>(db, sql`select id from audit_events where object_id = ${stored}`)
    const forget = async (): Promise<void> => {
      for (const { forget } of auditRetention) await forget(berth.services)
    }
    await change(
      db,
      sql`update audit_events set id = audit_event_id(now() - interval '29 days'), created_at = now() - interval '29 days' where id = ${row!.id}`,
    )
    await forget()
    expect(await events(`nodeId: "${id}"`)).toHaveLength(1)
    await change(
      db,
      sql`update audit_events set id = audit_event_id(now() - interval '31 days'), created_at = now() - interval '31 days' where object_id = ${stored}`,
    )
    await forget()
    expect(await events(`nodeId: "${id}"`)).toEqual([])
    expect(config.auditDays).toBe(30)
  })
})

describe('erasure', () => {
  test('of a person leaves what they did without their name; of an organization takes its events along', async () => {
    const { db } = berth.services
    const leaver = await berth.token('leaver', 'acme', 'member')
    const { userId } = idsOf(leaver)
    const id = await makeProject('left behind', leaver)
    await change(db, sql`delete from projects where user_id = ${userId}`)
    await change(db, sql`delete from memberships where user_id = ${userId}`)
    await change(db, sql`delete from users where id = ${userId}`)
    expect((await events(`nodeId: "${id}"`))[0]).toMatchObject({
      nodeName: 'left behind',
      actor: { kind: 'PERSON', id: encodeId('user', userId), name: null, node: null },
    })
    const brief = await berth.token('brief', 'brief', 'owner')
    const { organizationId } = idsOf(brief)
    await makeProject('with it', brief)
    for (const table of ['projects', 'memberships', 'inference_accounts'])
      await change(db, sql`delete from ${sql.table(table)} where organization_id = ${organizationId}`)
    await change(db, sql`delete from organizations where id = ${organizationId}`)
    expect(await findAll(db, sql`select id from audit_events where organization_id = ${organizationId}`)).toEqual([])
  })
})
