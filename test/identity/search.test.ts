/** Finding objects of every kind by a piece of text: what is the caller's, in its order, and nothing else. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf, makeKey, makeSilentNode, makeVmRow, makeVmToken } from '../support/makers.ts'

let berth: Berth
let owner: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000' } })
  owner = await berth.token('alice', 'acme', 'owner')
})
afterAll(() => berth.stop())

type Hit = { nodeType: string; title: string; node: { id: string } | null }
async function search(given: string, token = owner): Promise<Hit[]> {
  const { body } = await berth.ask(`{ search(${given}) { nodeType title node { id } } }`, { token })
  if (body.errors) throw new Error(`${body.errors[0]?.extensions.code}: ${body.errors[0]?.message}`)
  return body.data?.['search'] as Hit[]
}
const make = async (mutation: string, token = owner): Promise<void> =>
  expect((await berth.ask(`mutation { ${mutation} { __typename } }`, { token })).body.errors).toBeUndefined()

test('finds objects of every kind by name, those that begin with the text first, then the newest', async () => {
  await make('createProject(input: { name: "the Lighthouse" })')
  await make('createVault(input: { displayName: "lighthouse secrets" })')
  await make('createAgent(input: { name: "Lighthouse keeper", model: { id: "berth/demo" } })')
  await make('createProject(input: { name: "elsewhere" })')
  const found = await search('text: "LIGHTHOUSE"')
  expect(found.map(({ nodeType, title }) => [nodeType, title])).toEqual([
    ['AGENT', 'Lighthouse keeper'],
    ['VAULT', 'lighthouse secrets'],
    ['PROJECT', 'the Lighthouse'],
  ])
  for (const { node } of found) expect(node).not.toBeNull()
  expect(await search('text: "lighthouse", nodeTypes: [PROJECT]')).toMatchObject([{ title: 'the Lighthouse' }])
  await make('createProject(input: { name: "a newer lighthouse" })')
  expect(await search('text: "lighthouse", first: 1, nodeTypes: [PROJECT]')).toMatchObject([
    { title: 'a newer lighthouse' },
  ])
  await make('createProject(input: { name: "lighthouse of old" })')
  await make('createProject(input: { name: "the newest lighthouse" })')
  expect(await search('text: "lighthouse", first: 1, nodeTypes: [PROJECT]')).toMatchObject([
    { title: 'lighthouse of old' },
  ])
  const { key } = await makeKey(berth, owner, { scopes: ['compute:use'] })
  const byKey = await search('text: "lighthouse"', key)
  expect(new Set(byKey.map(({ nodeType }) => nodeType))).toEqual(new Set(['PROJECT']))
  await expect(search('text: "lighthouse", nodeTypes: [DATABASE]', key)).rejects.toThrow(/^UNAUTHORIZED/)
})

test('takes the text as it is: no pattern, and no quote ends it', async () => {
  await make(`createProject(input: { name: "100% o'clock_x" })`)
  expect(await search(`text: "0% o'clock_"`)).toHaveLength(1)
  expect(await search('text: "100_"')).toEqual([])
  expect(await search('text: "%"')).toHaveLength(1)
})

test('shows nobody what they may not see', async () => {
  await make('createVault(input: { displayName: "harbour mine" })')
  await make('createProject(input: { name: "harbour ours" })')
  const colleague = await berth.token('colin', 'acme', 'member')
  expect((await search('text: "harbour"', colleague)).map(({ title }) => title)).toEqual(['harbour ours'])
  const stranger = await berth.token('sid', 'strangers', 'owner')
  expect(await search('text: "harbour"', stranger)).toEqual([])
  const organization = encodeId('organization', idsOf(owner).organizationId)
  await expect(search(`text: "harbour", organizationId: "${organization}"`, stranger)).rejects.toThrow(/^FORBIDDEN/)
  await expect(search('text: "harbour"', await makeVmToken(berth, owner))).rejects.toThrow(/^FORBIDDEN/)
})

test('refuses an empty text, one that is too long, and a number that is out of bounds, with what to do', async () => {
  await expect(search('text: " "')).rejects.toThrow(/^INVALID_REQUEST: text must not be empty/)
  await expect(search(`text: "${'x'.repeat(256)}"`)).rejects.toThrow(
    /^INVALID_REQUEST: text must be a piece of text of at most 255/,
  )
  await expect(search('text: "x", first: 51')).rejects.toThrow(
    /^INVALID_REQUEST: first must be a whole number from 1 to 50/,
  )
})

test('lists are narrowed by a piece of text, and VMs by project and maker', async () => {
  const node = await makeSilentNode(berth.services.db)
  const token = await berth.token('nina', 'narrow', 'owner')
  const id = await makeVmRow(berth.services.db, token, node)
  const vms = async (filter: string): Promise<unknown> =>
    (await berth.ask(`{ vms(filter: { ${filter} }) { nodes { id } totalCount } }`, { token })).body.data?.['vms']
  const found = { nodes: [{ id }], totalCount: 1 }
  const none = { nodes: [], totalCount: 0 }
  expect(await vms('text: "MAD"')).toEqual(found) // its name is made
  expect(await vms('text: "other"')).toEqual(none)
  expect(await vms(`createdById: "${encodeId('user', idsOf(token).userId)}"`)).toEqual(found)
  expect(await vms(`createdById: "${encodeId('user', idsOf(owner).userId)}"`)).toEqual(none)
  expect(await vms('projectId: "prj_unknown"')).toEqual(none)
  const members = async (text: string): Promise<unknown> =>
    (await berth.ask(`{ members(filter: { text: "${text}" }) { nodes { user { name } } totalCount } }`, { token })).body
      .data?.['members']
  expect(await members('IN')).toEqual({ nodes: [{ user: { name: 'nina' } }], totalCount: 1 })
  expect(await members('olaf')).toEqual({ nodes: [], totalCount: 0 })
  const { organizationId, userId } = idsOf(token)
  const database = newUuid()
  await sql`
    insert into databases (id, organization_id, user_id, name, status, pg_user, vcpu_count, memory_mb, disk_mb, token_verifier, settings)
    values (${database}, ${organizationId}, ${userId}, 'shop', 'active', 'app_000001', 1, 512, 1024, 'x', '{}')`.execute(
    berth.services.db,
  )
  const made = await berth.ask(
    'mutation { createAgent(input: { name: "clerk", model: { id: "berth/demo" } }) { agent { id } } }',
    { token },
  )
  const { id: clerk } = (made.body.data as { createAgent: { agent: { id: string } } }).createAgent.agent
  const namesIn = async (list: string, text: string): Promise<unknown> =>
    (await berth.ask(`{ ${list}(filter: { text: "${text}" }) { nodes { name } } }`, { token })).body.data?.[list]
  expect(await namesIn('databases', 'SHO')).toEqual({ nodes: [{ name: 'shop' }] })
  expect(await namesIn('databases', 'x')).toEqual({ nodes: [] })
  expect(await namesIn('agents', 'CLERK')).toEqual({ nodes: [{ name: 'clerk' }] })
  await make(`updateAgent(input: { id: "${clerk}", name: "shopkeeper" })`, token)
  expect(await namesIn('agents', 'clerk')).toEqual({ nodes: [] })
  expect(await namesIn('agents', 'KEEP')).toEqual({ nodes: [{ name: 'shopkeeper' }] })
  expect(await namesIn('agents', 'x')).toEqual({ nodes: [] })
  for (const list of ['functions', 'builds', 'sessions', 'deployments'])
    expect((await berth.ask(`{ ${list}(filter: { text: "x" }) { nodes { id } } }`, { token })).body, list).toEqual({
      data: { [list]: { nodes: [] } },
    })
})

test('vaults, environments and projects are narrowed by a piece of their name, archived ones too, each to its owner', async () => {
  const token = await berth.token('nora', 'named', 'owner')
  const colleague = await berth.token('colette', 'named', 'member')
  await make('createVault(input: { displayName: "Harbour keys" })', token)
  await make('createVault(input: { displayName: "other keys" })', token)
  await make('createEnvironment(input: { name: "the harbour" })', token)
  await make('createEnvironment(input: { name: "other" })', token)
  await make('createProject(input: { name: "harbour_1" })', token)
  await make('createProject(input: { name: "harbourX1" })', token)
  const found = async (list: string, name: string, filter: string, as = token): Promise<string[]> => {
    const { body } = await berth.ask(`{ ${list}(filter: { ${filter} }) { totalCount nodes { id name: ${name} } } }`, {
      token: as,
    })
    if (body.errors) throw new Error(`${body.errors[0]?.extensions.code}: ${body.errors[0]?.message}`)
    const { nodes, totalCount } = body.data![list] as { nodes: { name: string }[]; totalCount: number }
    expect(totalCount).toBe(nodes.length)
    return nodes.map((node) => node.name)
  }
  expect(await found('vaults', 'displayName', 'text: "HARBOUR"')).toEqual(['Harbour keys'])
  expect(await found('vaults', 'displayName', 'text: "HARBOUR"', colleague)).toEqual([])
  expect(await found('environments', 'name', 'text: "harbour"')).toEqual(['the harbour'])
  expect(await found('environments', 'name', 'text: "harbour"', colleague)).toEqual([])
  expect(await found('projects', 'name', 'text: "R_1"')).toEqual(['harbour_1'])
  expect(await found('projects', 'name', 'text: "R_1"', colleague)).toEqual(['harbour_1'])
  expect(await found('projects', 'name', 'text: "R_1"', owner)).toEqual([])
  const { body } = await berth.ask('{ environments(filter: { text: "the harbour" }) { nodes { id } } }', { token })
  const [{ id }] = (body.data!['environments'] as { nodes: [{ id: string }] }).nodes
  await make(`archiveEnvironment(input: { id: "${id}" })`, token)
  expect(await found('environments', 'name', 'text: "harbour"')).toEqual([])
  expect(await found('environments', 'name', 'text: "harbour", includeArchived: true')).toEqual(['the harbour'])
  for (const [list, name] of [
    ['vaults', 'displayName'],
    ['environments', 'name'],
    ['projects', 'name'],
  ] as const)
    await expect(found(list, name, `text: "${'x'.repeat(256)}"`)).rejects.toThrow(
      /^INVALID_REQUEST: text must be a piece of text of at most 255/,
    )
})
