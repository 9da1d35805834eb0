/** Who belongs to an organization: what changes, who may change it, and how soon it counts. */
import { createClient } from 'graphql-ws'
import { decodeJwt, decodeProtectedHeader, importJWK, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { findSigningKey } from '#src/resources/identity/signing-keys.ts'
import { pollUntil } from '#src/start/wait.ts'
import { makeAgentsTarget } from '../contract/targets/agents.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf, makeSilentNode, makeVmRow } from '../support/makers.ts'

const promisedMs = 5_000
const elsewhereSecret = 'an issuer that is not ours signs with this'
let berth: Berth
let owner: string
let node: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000', BERTH_JWT_HS256_SECRET: elsewhereSecret } })
  owner = await berth.token('alice', 'acme', 'owner')
  node = await makeSilentNode(berth.services.db)
})
afterAll(() => berth.stop())

const membershipOf = (token: string): string =>
  decodeJwt<{ org_id: string; org_memberships: { org_id: string; membership_id: string }[] }>(token).org_memberships[0]
    ?.membership_id ?? ''
const codeOf = async (document: string, token: string): Promise<string | undefined> =>
  (await berth.ask(document, { token })).body.errors?.[0]?.extensions.code
const changeRole = (of: string, role: string, as: string): Promise<string | undefined> =>
  codeOf(
    `mutation { updateMember(input: { id: "${membershipOf(of)}", role: ${role.toUpperCase()} }) { member { role } } }`,
    as,
  )
const removeMember = (of: string, as: string): Promise<string | undefined> =>
  codeOf(`mutation { removeMember(input: { id: "${membershipOf(of)}" }) { member { id } } }`, as)
const makesKeys = (token: string): Promise<string | undefined> =>
  codeOf('mutation { createApiKey(input: { name: "x" }) { key } }', token)
const soon = (look: () => Promise<boolean>): Promise<boolean> => pollUntil(look, { limitMs: promisedMs, everyMs: 20 })

describe('members', () => {
  test('are listed with their ids, names and roles to everybody in the organization', async () => {
    const viewer = await berth.token('victor', 'listed', 'viewer')
    const { body } = await berth.ask('{ members(first: 10) { nodes { id role user { name } } } }', { token: viewer })
    expect(body.data).toEqual({
      members: { nodes: [{ id: membershipOf(viewer), role: 'VIEWER', user: { name: 'victor' } }] },
    })
  })

  test('an admin may not touch an owner, make one, or become one; a member changes nobody', async () => {
    const admin = await berth.token('adam', 'acme', 'admin')
    const member = await berth.token('martha', 'acme', 'member')
    expect(await changeRole(owner, 'admin', admin)).toBe('NOT_PERMITTED_FOR_ROLE')
    expect(await removeMember(owner, admin)).toBe('NOT_PERMITTED_FOR_ROLE')
    expect(await changeRole(member, 'owner', admin)).toBe('NOT_PERMITTED_FOR_ROLE')
    expect(await changeRole(admin, 'owner', admin)).toBe('NOT_PERMITTED_FOR_ROLE')
    expect(await changeRole(member, 'admin', member)).toBe('NOT_PERMITTED_FOR_ROLE')
    expect(await changeRole(member, 'viewer', admin)).toBeUndefined()
    expect(await changeRole(member, 'owner', owner)).toBeUndefined()
    expect(await changeRole(member, 'member', owner)).toBeUndefined()
  })

  test('there is always an owner: the last one is neither removed nor demoted, also when two go at once', async () => {
    const pairs = await Promise.all(
      Array.from(
        { length: 8 },
        async (_, at) =>
          [
            await berth.token('ona', `two-owners-${at}`, 'owner'),
            await berth.token('otto', `two-owners-${at}`, 'owner'),
          ] as const,
      ),
    )
    const outcomes = await Promise.all(
      pairs.map(async ([one, other]) => Promise.all([removeMember(one, other), changeRole(other, 'viewer', one)])),
    )
    for (const codes of outcomes) expect(codes.filter((code) => code === undefined)).toHaveLength(1)
    const alone = await berth.token('lone', 'one-owner', 'owner')
    expect(await removeMember(alone, alone)).toBe('LAST_OWNER')
    expect(await changeRole(alone, 'viewer', alone)).toBe('LAST_OWNER')
    const { rows } = await berth.services.database.pool.query(
      "select o.name, count(*) filter (where m.role = 'owner' and m.deactivated_at is null)::int as owners from organizations o join memberships m on m.organization_id = o.id where o.name like 'two-owners-%' or o.name = 'one-owner' group by 1",
    )
    expect(rows.map(({ owners }: { owners: number }) => owners)).toEqual(Array.from({ length: 9 }, () => 1))
  })
})

describe('a role', () => {
  test('that is lowered applies to existing tokens, and never grants more than they do', async () => {
    const admin = await berth.token('demi', 'acme', 'admin')
    expect(await makesKeys(admin)).toBeUndefined()
    expect(await changeRole(admin, 'viewer', owner)).toBeUndefined()
    expect(await soon(async () => (await makesKeys(admin)) === 'NOT_PERMITTED_FOR_ROLE')).toBe(true)
    expect((await berth.ask('{ viewer { role } }', { token: admin })).body.data).toEqual({ viewer: { role: 'VIEWER' } })
    const weak = await berth.token('wanda', 'acme', 'viewer')
    expect(await changeRole(weak, 'owner', owner)).toBeUndefined()
    expect(await makesKeys(weak)).toBe('NOT_PERMITTED_FOR_ROLE') // the token still says viewer
  })

  test('that is lowered by hand in the database, without a notice, applies after 5 s at most', async () => {
    const admin = await berth.token('hannah', 'acme', 'admin')
    expect(await makesKeys(admin)).toBeUndefined()
    await berth.services.database.pool.query("update memberships set role = 'viewer' where id = $1", [
      decodeId('membership', membershipOf(admin)),
    ])
    expect(
      await pollUntil(async () => (await makesKeys(admin)) === 'NOT_PERMITTED_FOR_ROLE', {
        limitMs: promisedMs + 1_000,
        everyMs: 100,
      }),
    ).toBe(true)
  })

  test('that another issuer claims grants no more than the table, and another person’s membership grants nothing', async () => {
    const viewer = await berth.token('vera', 'acme', 'viewer')
    const claims = decodeJwt<{ org_memberships: { org_id: string; membership_id: string; role: string }[] }>(viewer)
    const sign = (membershipId: string): Promise<string> =>
      new SignJWT({
        org_id: claims['org_id'],
        role: 'owner',
        org_memberships: [{ org_id: claims['org_id'], membership_id: membershipId, role: 'owner' }],
      })
        .setProtectedHeader({ alg: 'HS256' })
        .setIssuer('https://elsewhere.example')
        .setAudience('berth')
        .setSubject(claims.sub ?? '')
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(Buffer.from(elsewhereSecret))
    const raised = await sign(membershipOf(viewer))
    expect((await berth.ask('{ viewer { role } }', { token: raised })).body.data).toEqual({
      viewer: { role: 'VIEWER' },
    })
    expect(await makesKeys(raised)).toBe('NOT_PERMITTED_FOR_ROLE')
    expect(await makesKeys(await sign(membershipOf(owner)))).toBe('AUTHENTICATION_INVALID')
  })

  test('applies as it is in an organization that is named besides the active one', async () => {
    const elsewhere = await berth.token('bella', 'elsewhere', 'owner')
    const there = await berth.token('bella', 'acme', 'member') // active: acme; names both
    const organization = encodeId('organization', idsOf(elsewhere).organizationId)
    const builds = async (): Promise<number> =>
      (
        await berth.call('POST', '/api/v1/build/jobs', {
          token: there,
          body: { org_id: organization, spec: [123, 125] },
        })
      ).status
    expect(await builds()).toBe(201)
    await berth.token('boss', 'elsewhere', 'owner')
    expect(await changeRole(elsewhere, 'viewer', await berth.token('boss', 'elsewhere', 'owner'))).toBeUndefined()
    expect(await soon(async () => (await builds()) === 403)).toBe(true)
  })

  test('that a token states twice counts as the lesser one, also where a request names the organization', async () => {
    const { db, sealer } = berth.services
    const token = await new SignJWT({ ...decodeJwt(owner), role: 'viewer' })
      .setProtectedHeader({ ...decodeProtectedHeader(owner), alg: 'ES256' })
      .sign(await importJWK((await findSigningKey(db, sealer)) ?? {}, 'ES256'))
    const id = encodeId('organization', idsOf(owner).organizationId)
    for (const [path, body] of [
      ['/vms', {}],
      ['/build/jobs', { org_id: id, spec: [123, 125] }],
      ['/compute/uploads', { organization_id: id }],
    ] as const) {
      expect(await berth.call('POST', `/api/v1${path}`, { token, body }), path).toMatchObject({
        status: 403,
        body: { error: 'not_permitted_for_role' },
      })
    }
    expect(
      await codeOf(
        `mutation { setOrganizationBudget(input: { organizationId: "${id}", monthlyUsd: 5 }) { credits { plan } } }`,
        token,
      ),
    ).toBe('NOT_PERMITTED_FOR_ROLE')
  })

  test('that is lowered gives no access to stored responses that require a higher one', async () => {
    const member = await berth.token('ida', 'acme', 'member')
    const post = (): Promise<{ status: number; body: unknown }> =>
      berth.call('POST', '/agents/v1/vaults', {
        token: member,
        body: { display_name: 'mine' },
        headers: { 'idempotency-key': 'ida-1' },
      })
    const first = await post()
    expect(await post()).toMatchObject({ status: 201, body: first.body })
    expect(await changeRole(member, 'viewer', owner)).toBeUndefined()
    expect(await soon(async () => (await post()).status === 403)).toBe(true)
    expect(await changeRole(member, 'member', owner)).toBeUndefined()
    expect(await soon(async () => (await post()).status === 201)).toBe(true)
    expect(await post()).toMatchObject({ status: 201, body: first.body })
  })

  test('that is lowered ends the operations on a web socket that require a higher one, and no others', async () => {
    const admin = await berth.token('sunny', 'acme', 'member')
    const vm = await makeVmRow(berth.services.db, owner, node)
    const process = newUuid()
    await sql`insert into vm_processes (id, vm_id, command, status) values (${process}, ${decodeId('vm', vm)}, 'x', 'running')`.execute(
      berth.services.db,
    )
    const client = createClient({
      url: `ws://127.0.0.1:${berth.port}/graphql`,
      webSocketImpl: WebSocket,
      retryAttempts: 0,
      connectionParams: { authorization: `Bearer ${admin}` },
    })
    try {
      const chat = client.iterate({
        query:
          'subscription { chatCompletionEvents(input: {model: "berth/demo", messages: [{user: {content: [{text: "!pace 1000\\n!repeat 400 word"}]}}]}) { __typename } }',
      })
      const events = client.iterate({ query: `subscription { vmEvents(id: "${vm}") { __typename } }` })
      expect((await chat.next()).value).toMatchObject({ data: {} })
      expect((await events.next()).value).toMatchObject({ data: { vmEvents: { __typename: 'VmEvent' } } })
      const ended = (async (): Promise<string | undefined> => {
        for await (const { errors } of { [Symbol.asyncIterator]: () => chat })
          if (errors) return String(errors[0]?.extensions?.['code'])
        return undefined
      })()
      expect(await changeRole(admin, 'viewer', owner)).toBeUndefined()
      expect(await Promise.race([ended, new Promise((resolve) => setTimeout(() => resolve('late'), promisedMs))])).toBe(
        'NOT_PERMITTED_FOR_ROLE',
      )
      await sql`with moved as (update vms set event_position = event_position + 1 where id = ${decodeId('vm', vm)} returning *) insert into vm_events (vm_id, position, status) select id, event_position, status from moved`.execute(
        berth.services.db,
      )
      await sql`select pg_notify('berth', ${`vm ${decodeId('vm', vm)}`})`.execute(berth.services.db)
      expect((await events.next()).value).toMatchObject({ data: { vmEvents: {} } }) // viewers may follow it
    } finally {
      await client.dispose()
    }
  })

  test('that is lowered ends an event stream that requires a higher one', async () => {
    const member = await berth.token('sam', 'acme', 'member')
    const answer = await fetch(`${berth.url}/llm/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${member}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'berth/demo',
        stream: true,
        messages: [{ role: 'user', content: '!pace 1000\n!repeat 400 word' }],
      }),
    })
    expect(answer.status).toBe(200)
    expect(await changeRole(member, 'viewer', owner)).toBeUndefined()
    let text = ''
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) text += piece // ends within the test's time only when it is cut
    expect(text).toContain('Your role viewer may not do this')
  }, 15_000)
})

describe('a person who is removed', () => {
  test('is refused everywhere, their running work stops, and what they created is theirs again when they return', async () => {
    const member = await berth.token('ria', 'acme', 'member')
    const target = await makeAgentsTarget(berth, idsOf(member), 'ria')
    const [sessionId, environmentId] = [
      decodeId('session', target.session),
      decodeId('environment', target.environment),
    ]
    const vm = await makeVmRow(berth.services.db, member, node)
    const vmId = decodeId('vm', vm)
    await sql`update vms set owner_user_id = ${idsOf(member).userId} where id = ${vmId}`.execute(berth.services.db)
    await sql`update environments set config = '{"type": "vm"}', vm_id = ${vmId}, prepared_vm_id = ${vmId} where id = ${environmentId}`.execute(
      berth.services.db,
    )
    await sql`update sessions set status = 'running', running_since = now() where id = ${sessionId}`.execute(
      berth.services.db,
    )
    expect(await removeMember(member, owner)).toBeUndefined()
    expect(await soon(async () => (await berth.call('GET', '/api/v1/vms', { token: member })).status === 401)).toBe(
      true,
    )
    const { rows } = await sql`
      select s.status, s.stop_reason, v.desired_status, e.vm_id, e.status as environment from sessions s, vms v, environments e where s.id = ${sessionId} and v.id = ${vmId} and e.id = ${environmentId}`.execute(
      berth.services.db,
    )
    expect(rows).toEqual([
      {
        status: 'idle',
        stopReason: { type: 'retries_exhausted' },
        desiredStatus: 'deleted',
        vmId: null,
        environment: 'ready',
      },
    ])
    expect(await removeMember(member, owner)).toBe('NOT_FOUND')
    const again = await berth.token('ria', 'acme', 'member')
    expect((await berth.call('GET', `/agents/v1/vaults/${target.vault}`, { token: again })).status).toBe(200)
    expect((await berth.call('GET', '/api/v1/vms', { token: member })).status).toBe(401)
  })
})
