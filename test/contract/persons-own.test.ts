/**
 * What is a person's stays a person's: a VM that is one person's alone as their colleagues, admins and keys meet it, and
 * the token inside a VM as everything that it must not open meets it.
 */
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allow, type Caller } from '#src/platform/access.ts'
import { permissions, type Permission } from '#src/platform/access/permissions.ts'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { signVmToken } from '#src/resources/identity/access-tokens.ts'
import { identityOf } from '#src/resources/identity/memberships.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf, makeVmRow } from '../support/makers.ts'
import {
  canary,
  fill,
  makeCallers,
  makeRefusingNode,
  makeTarget,
  picture,
  type Callers,
  type Target,
} from './callers.ts'
import { documentOf } from './documents.ts'
import { graphqlRows, restRows, type Outcomes, type RestRow } from './matrix.ts'
import { startStubNode, type StubNode } from './stub-node.ts'

let berth: Berth
let callers: Callers
let admin: string
let node: string
let stub: StubNode
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000' } })
  callers = await makeCallers(berth)
  admin = await berth.token('adam', 'acme', 'admin')
  node = await makeRefusingNode(berth)
  stub = await startStubNode(berth.services.db)
})
afterAll(async () => {
  await stub.stop()
  await berth.stop()
})

type Outcome = { said: string; text: string }
const namesVm = (text: string): boolean => /\{(?:vm|vm_id|ref|external_ref)\}/.test(text)

async function own(vm: string, token: string): Promise<void> {
  await sql`update vms set owner_user_id = ${idsOf(token).userId} where id = ${decodeId('vm', vm)}`.execute(
    berth.services.db,
  )
}

async function askGraphql(
  rootField: string,
  args: string | undefined,
  token: string,
  target: Target,
): Promise<Outcome> {
  const { body } = await berth.ask(documentOf(rootField, args && fill(args, target)), { token })
  const error = body.errors?.[0]
  return {
    said: error ? `${error.extensions.http?.status} ${error.extensions.code.toLowerCase()}` : '200',
    text: JSON.stringify(body),
  }
}

async function callRest(key: string, { body, query = '' }: RestRow, token: string, target: Target): Promise<Outcome> {
  const [method = '', path = ''] = key.split(' ')
  const leaving = new AbortController()
  const answer = await fetch(berth.url + fill(path + query, target), {
    method,
    signal: leaving.signal,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: fill(JSON.stringify(body), target) }),
  })
  const text = answer.headers.get('content-type')?.startsWith('text/event-stream') ? '' : await answer.text()
  leaving.abort()
  return {
    said: answer.ok ? String(answer.status) : `${answer.status} ${(JSON.parse(text) as { error: string }).error}`,
    text,
  }
}

/** Colleagues are told what strangers are; a role that is too low is told first, and a key that only people may call is refused as one. */
async function tryColleagues(
  [owner, member, viewer, stranger, , key]: Outcomes,
  run: (token: string, target: Target) => Promise<Outcome>,
): Promise<void> {
  const wanted = [
    [callers.member, member === '403 not_permitted_for_role' ? member : stranger],
    [admin, stranger],
    [callers.viewer, viewer === '403 not_permitted_for_role' ? viewer : stranger],
    [callers.keyWith, key === '401 unauthorized' ? key : stranger],
  ] as const
  const target = await makeTarget(berth, callers.owner, node)
  await own(target.vm, callers.owner)
  const before = await picture(berth, target)
  for (const [token, told] of wanted) {
    const { said, text } = await run(token ?? '', target)
    expect(said).toBe(told)
    expect(text).not.toContain(canary)
  }
  expect(await picture(berth, target), 'a colleague was refused, and yet something changed').toBe(before)
  expect((await run(callers.owner, target)).said).toBe(owner)
}

describe('a private VM of one person', () => {
  const graphql = Object.entries(graphqlRows).filter(
    ([field, { args = '' }]) => namesVm(args) && !field.startsWith('subscription') && !/startVm|resumeVm/.test(field),
  )
  test.each(graphql)('%s is for its owner only', async (field, { args, outcomes }) => {
    await tryColleagues(outcomes, (token, target) => askGraphql(field, args, token, target))
  })

  test.each(Object.entries(restRows).filter(([key]) => namesVm(key)))('%s is for its owner only', async (key, row) => {
    const [owner, member, viewer, stranger, ...others] = row.outcomes
    // This one reads the VM before it makes an address: a viewer is told, as a stranger is, that there is none.
    const isReadFirst = key.endsWith('/preview-url')
    const outcomes: Outcomes = [owner, member, isReadFirst ? stranger : viewer, stranger, ...others]
    await tryColleagues(outcomes, (token, target) => callRest(key, row, token, target))
  })

  test('is in no list except its owner’s', async () => {
    const vm = await makeVmRow(berth.services.db, callers.owner, node)
    await own(vm, callers.owner)
    for (const document of [
      '{ viewer { organization { vms { nodes { id } } } } }',
      '{ vms(first: 100) { nodes { id } } }',
    ]) {
      expect(JSON.stringify((await berth.ask(document, { token: callers.owner })).body)).toContain(vm)
      for (const token of [callers.member, admin, callers.viewer, callers.keyWith])
        expect(JSON.stringify((await berth.ask(document, { token: token ?? '' })).body)).not.toContain(vm)
    }
  })

  test('cannot be told from an absent one by an id that is taken', async () => {
    const [theirs, mine] = [
      await makeVmRow(berth.services.db, callers.stranger, node),
      await makeVmRow(berth.services.db, callers.owner, node),
    ]
    const answers = await Promise.all(
      [theirs, mine, 'vm_x', encodeId('node', newUuid()), `${mine}0`].map(async (vm_id) => {
        const { status, body } = await berth.call('POST', '/api/v1/vms', { token: callers.owner, body: { vm_id } })
        return { status, body }
      }),
    )
    for (const answer of answers)
      expect(answer).toEqual({
        status: 400,
        body: { error: 'invalid_request', message: expect.stringMatching(/^vm_id cannot be used/) },
      })
    expect(new Set(answers.map(({ body }) => body['message'])).size).toBe(1)
  })
})

async function vmToken(vm: string, person = callers.owner): Promise<string> {
  const { organizationId, userId } = idsOf(person)
  return (
    await signVmToken(
      berth.services,
      await identityOf(berth.services.db, userId, organizationId),
      decodeId('vm', vm) ?? '',
      900,
    )
  ).token
}

describe('the token inside a VM', () => {
  test('is what sync-session writes: of this organization only, a member’s at most, for 15 minutes, and of less than its person', async () => {
    await berth.token('alice', 'another', 'owner') // she belongs to two
    const vm = await makeVmRow(berth.services.db, callers.owner, stub.id)
    expect(await berth.call('POST', `/api/v1/vms/${vm}/env/sync-session`, { token: callers.owner })).toMatchObject({
      status: 200,
      body: { status: 'synced' },
    })
    const { access_token } = JSON.parse(String(stub.asked.at(-1)?.input['session'])) as { access_token: string }
    const claims = decodeJwt<{ org_memberships: unknown[]; permissions: string[] }>(access_token)
    expect(claims).toMatchObject({
      vm_id: vm,
      org_id: encodeId('organization', idsOf(callers.owner).organizationId),
      role: 'member',
      org_memberships: [{ org_id: encodeId('organization', idsOf(callers.owner).organizationId), role: 'member' }],
    })
    expect(claims.exp! - claims.iat!).toBe(900)
    expect(
      claims.permissions.filter((one) => /key|budget|vault|secret|usage|environment|sessions-in-vm/.test(one)),
    ).toEqual([])
    expect(await berth.call('GET', `/api/v1/vms/${vm}`, { token: access_token })).toMatchObject({ status: 200 })
    const again = await berth.call('POST', `/api/v1/vms/${vm}/env/sync-session`, { token: access_token })
    expect(again).toMatchObject({
      status: 403,
      body: { error: 'forbidden', message: expect.stringContaining('token inside a VM') },
    })
  })

  test.each(Object.keys(permissions) as Permission[])(
    '%s is open to it when it is of VMs, builds, agents or sessions, and closed otherwise',
    (permission) => {
      const organizationId = newUuid()
      const caller: Caller = {
        kind: 'person',
        userId: newUuid(),
        organizationId,
        role: 'owner',
        memberships: new Map([[organizationId, 'owner']]),
        vmId: newUuid(),
        tokenId: '',
        expiresAtSeconds: 0,
      }
      const noun = permission.split(':')[0] ?? ''
      const isDeletion = permission === 'templates:write' // of what others start from
      const isOpen = [
        'vms',
        'inside-vms',
        'env',
        'folders',
        'templates',
        'builds',
        'uploads',
        'account',
        'agents',
        'agent-tools',
        'sessions',
        'runs',
        'models',
      ].includes(noun)
      if (isOpen && !isDeletion) expect(allow(caller, permission)).toMatchObject({ role: 'member', vmId: caller.vmId })
      else expect(() => allow(caller, permission)).toThrow(/token inside a VM/)
    },
  )

  test('has no access to its person’s other organizations, and of their private VMs only to the one it is in', async () => {
    const [inside, other] = [
      await makeVmRow(berth.services.db, callers.owner, node),
      await makeVmRow(berth.services.db, callers.owner, node),
    ]
    for (const vm of [inside, other]) await own(vm, callers.owner)
    const token = await vmToken(inside)
    const vmStatus = async (vm: string): Promise<number> =>
      (await berth.call('GET', `/api/v1/vms/${vm}`, { token })).status
    expect([await vmStatus(inside), await vmStatus(other)]).toEqual([200, 404])
    const elsewhere = encodeId('organization', idsOf(await berth.token('alice', 'another', 'owner')).organizationId)
    expect(await berth.call('GET', `/api/v1/build/jobs?org_id=${elsewhere}`, { token })).toMatchObject({ status: 403 })
  })

  test('has no access to a session with secrets of vaults, and cannot give any to a new one', async () => {
    const target = await makeTarget(berth, callers.owner, node)
    const token = await vmToken(target.vm)
    const said = async (method: string, path: string, body: unknown): Promise<unknown> => {
      const answer = await berth.call(method, `/agents/v1${path}`, { token, body })
      return [answer.status, JSON.stringify(answer.body)]
    }
    const refused = [403, expect.stringContaining('token inside a VM')]
    expect(await said('POST', '/sessions', { agent: target.agent, vault_ids: [target.vault] })).toEqual(refused)
    expect(await said('POST', '/sessions', { agent: target.agent, environment_id: target.environment })).toEqual(
      refused,
    )
    expect(await said('POST', '/runs', { mode: 'chat', vault_ids: [target.vault] })).toEqual(refused)
    const id = decodeId('session', target.session)
    const message = { events: [{ type: 'user.message', content: [{ type: 'text', text: 'print the secret' }] }] }
    for (const change of [
      sql`vault_ids = ${[decodeId('vault', target.vault)]}::uuid[]`,
      sql`vault_ids = '{}', environment_id = ${decodeId('environment', target.environment)}, kind = 'computer'`,
    ]) {
      await sql`update sessions set ${change} where id = ${id}`.execute(berth.services.db)
      expect(await said('POST', `/sessions/${target.session}/events`, message)).toEqual(refused)
      expect(await said('POST', `/sessions/${target.session}`, { vault_ids: [], title: 'x' })).toEqual(refused)
    }
  })
})
