/** The token inside a VM reaches no further than that VM may: not by its policy, not by another VM, a build or an agent. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { signVmToken } from '#src/resources/identity/access-tokens.ts'
import { identityOf } from '#src/resources/identity/memberships.ts'
import { isWithin } from '#src/resources/infra/vms/reach.ts'
import type { NetworkPolicy } from '#src/resources/infra/vms/rows.ts'
import { agentSessions } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { organizationOf } from '../../support/builds.ts'
import { idsOf, makeVmRow } from '../../support/makers.ts'
import { until } from '../../support/until.ts'
import { makeRefusingNode } from '../../contract/callers.ts'

let berth: Berth
let token: string
let node: string
let own: string
let other: string
let inside: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  node = await makeRefusingNode(berth)
})
afterAll(() => berth.stop())

const limited = {
  type: 'limited',
  allowedHosts: ['a.example', '*.b.example'],
  allowPackageManagers: false,
} satisfies NetworkPolicy
const open = { unrestricted: true }
const hosts = (...allowedHosts: string[]) => ({ limited: { allowedHosts } })

beforeEach(async () => {
  const { db } = berth.services
  own = await makeVmRow(db, token, node)
  other = await makeVmRow(db, token, node)
  const { organizationId, userId } = idsOf(token)
  const identity = await identityOf(db, userId, organizationId)
  inside = (await signVmToken(berth.services, identity, decodeId('vm', own) ?? '', 900)).token
  await confine(own, limited)
})

async function confine(vm: string, policy: NetworkPolicy): Promise<void> {
  await sql`update vms set network_policy = ${JSON.stringify(policy)} where id = ${decodeId('vm', vm)}`.execute(
    berth.services.db,
  )
}
const call = (method: string, path: string, body?: unknown, as = inside) =>
  berth.call<Record<string, unknown>>(method, path, { token: as, ...(body === undefined ? {} : { body }) })
const refused = { status: 403, body: { message: expect.stringContaining('reaches no further') as unknown } }
const policyOf = async (vm: string): Promise<NetworkPolicy | undefined> =>
  (
    await sql<{
      policy: NetworkPolicy
    }>`select network_policy as policy from vms where id = ${decodeId('vm', vm)}`.execute(berth.services.db)
  ).rows[0]?.policy
/** The error of a change of a policy, if there was one. */
const change = async (vm: string, networkPolicy: unknown, as = inside): Promise<string | undefined> =>
  (
    await berth.ask('mutation ($input: UpdateVmInput!) { updateVm(input: $input) { vm { id } } }', {
      token: as,
      variables: { input: { id: vm, networkPolicy } },
    })
  ).body.errors?.[0]?.message

test.each([
  open,
  null,
  hosts('c.example'),
  hosts('b.example'),
  { limited: { allowedHosts: ['a.example'], allowPackageManagers: true } },
])('it does not set the policy of its VM to %j, nor that of another one', async (policy) => {
  await confine(other, limited)
  for (const vm of [own, other]) {
    expect(await change(vm, policy)).toContain('reaches no further')
    expect(await policyOf(vm)).toEqual(limited)
  }
})

test.each([{ none: true }, hosts(), hosts('a.example'), hosts('x.b.example', '*.y.b.example')])(
  'it may narrow it to %j, and then no more than that',
  async (policy) => {
    expect(await change(own, policy)).toBeUndefined()
    expect(await policyOf(own)).not.toEqual(limited)
    expect(await change(own, { limited: { allowedHosts: limited.allowedHosts } })).toContain('reaches no further')
    expect(await change(own, open, token)).toBeUndefined() // its person does
  },
)

test('a VM that it makes has the policy of its own, or a narrower one', async () => {
  const made = await call('POST', '/api/v1/vms', { network_policy: { type: 'unrestricted' } })
  expect(made).toMatchObject(refused)
  const { db } = berth.services
  await sql`update nodes set disk_mb = 1000000 where id = ${node}`.execute(db)
  const running = call('POST', '/api/v1/vms/sandbox', { command: 'true' })
  const seen = async () =>
    (
      await sql<{ id: string; policy: NetworkPolicy }>`
        select id, network_policy as policy from vms where expires_at is not null`.execute(db)
    ).rows[0]
  await until('it is ordered', async () => (await seen()) !== undefined)
  const sandbox = await seen()
  expect(sandbox?.policy).toEqual(limited)
  await sql`update vms set status = 'error' where id = ${sandbox?.id}`.execute(db) // nobody boots it
  publish(db, 'vm', sandbox?.id ?? '')
  expect((await running).status).toBe(500)
})

test('it puts no VM into a project that its own is not in', async () => {
  const { body } = await berth.ask('mutation { createProject(input: {name: "shop"}) { project { id } } }', { token })
  const made = body.data?.['createProject'] as { project: { id: string } } | undefined // as asked
  const order = { project_id: made?.project.id, skip_folder_create: true }
  expect(await call('POST', '/api/v1/vms', order)).toMatchObject(refused)
})

/** What it asks for in a VM that reaches further. */
test.each([
  ['POST', '/envd/exec', { command: 'true' }],
  ['POST', '/envd/write', { path: '/tmp/x', content: 'eA==' }],
  ['POST', '/envd/read', { path: '/tmp/x' }],
  ['PATCH', '/env', { PAGER: '/tmp/x' }],
  ['GET', '/files?path=/tmp/x'],
])(
  'it is refused %s %s in a VM that reaches further, and its person and an unlimited VM are not',
  async (method, path, body?) => {
    const ask = (as: string) => call(method, `/api/v1/vms/${other}${path}`, body, as)
    expect(await ask(inside)).toMatchObject(refused)
    await confine(other, { type: 'none' })
    expect((await ask(inside)).status).not.toBe(403)
    await confine(other, { type: 'unrestricted' })
    expect((await ask(token)).status).not.toBe(403)
    await confine(own, { type: 'unrestricted' })
    expect((await ask(inside)).status).not.toBe(403)
  },
)

test('it orders no build, begins and steers no session, and asks no tool server, unless its VM reaches everything', async () => {
  const mine = agentSessions(berth, token)
  const agent = await mine.agent({})
  const session = await mine.begin(agent, 'hello')
  const asks = [
    ['POST', '/api/v1/build/jobs', { org_id: organizationOf(token), repo_url: 'https://a.example/x.git', spec: {} }],
    ['POST', '/agents/v1/sessions', { agent }],
    ['POST', '/agents/v1/runs', { agent, input: 'hello' }],
    [
      'POST',
      `/agents/v1/sessions/${session}/events`,
      { events: [{ type: 'user.message', content: [{ type: 'text', text: 'x' }] }] },
    ],
    ['GET', `/agents/v1/agents/${agent}/mcp-tools`],
  ] as const
  for (const [method, path, body] of asks) expect([path, (await call(method, path, body)).status]).toEqual([path, 403])
  await confine(own, { type: 'unrestricted' })
  for (const [method, path, body] of asks)
    expect([path, (await call(method, path, body)).status]).not.toEqual([path, 403])
}, 30_000)

test('a policy is within another one if that opens all of it', () => {
  const packages: NetworkPolicy = { type: 'limited', allowedHosts: [], allowPackageManagers: true }
  expect(isWithin(packages, packages)).toBe(true)
  expect(isWithin(packages, limited)).toBe(false)
  expect(isWithin({ type: 'none' }, { type: 'none' })).toBe(true)
  expect(isWithin({ type: 'limited', allowedHosts: [], allowPackageManagers: false }, { type: 'none' })).toBe(false)
  expect(isWithin(limited, { type: 'limited', allowedHosts: ['*.example'], allowPackageManagers: false })).toBe(true)
  expect(isWithin({ ...limited, allowedHosts: ['evilb.example'] }, limited)).toBe(false)
})
