/** Organizations that people make, and the links by which others join them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findAll, sql } from '#src/platform/postgres.ts'
import { invitationLimits } from '#src/resources/identity/invitations/limits.ts'
import { invitationRetention } from '#src/resources/identity/invitations.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf, makeKey } from '../support/makers.ts'

let berth: Berth
let owner: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000', BERTH_ORGANIZATIONS_PER_PERSON: '2' } })
  owner = await berth.token('alice', 'acme', 'owner')
})
afterAll(() => berth.stop())

type Outcome = {
  data: Record<string, Record<string, never>> | null
  code: string | undefined
  message: string | undefined
}
async function ask(document: string, token = owner, at = berth): Promise<Outcome> {
  const { body } = await at.ask(document, { token })
  const [error] = body.errors ?? []
  return { data: (body.data ?? null) as Outcome['data'], code: error?.extensions.code, message: error?.message }
}
const create = (name: string, token: string, at = berth): Promise<Outcome> =>
  ask(
    `mutation { createOrganization(input: { name: ${JSON.stringify(name)} }) { organization { id name } } }`,
    token,
    at,
  )
const invite = (given: string, token = owner): Promise<Outcome> =>
  ask(`mutation { createInvitation(input: { ${given} }) { url invitation { id role note acceptedAt } } }`, token)
const linkOf = async (role: string): Promise<string> =>
  (await invite(`role: ${role}`)).data?.['createInvitation']?.['url'] ?? ''
const accept = (url: string, token: string): Promise<Outcome> =>
  ask(`mutation { acceptInvitation(input: { url: "${url}" }) { organization { name } } }`, token)
const roleOf = async (user: string): Promise<string | undefined> =>
  (
    await findAll<{ role: string }>(
      berth.services.db,
      sql`
      select role from memberships m join users u on u.id = m.user_id join organizations o on o.id = m.organization_id
      where u.name = ${user} and o.name = 'acme' and m.deactivated_at is null`,
    )
  )[0]?.role

describe('an organization', () => {
  test('is made by a person, who owns it, with a name that nobody else has, up to a number', async () => {
    const token = await berth.token('petra', 'home', 'member')
    expect(await create('  petra’s  ', token)).toMatchObject({
      data: { createOrganization: { organization: { name: 'petra’s' } } },
    })
    expect(await create('home', token)).toMatchObject({ code: 'ORGANIZATION_NAME_TAKEN' })
    for (const name of ['', ' ', 'x'.repeat(256), 'a\0b'])
      expect((await create(name, token)).code).toBe('INVALID_REQUEST')
    expect((await create('petra 2', token)).code).toBeUndefined()
    expect(await create('petra 3', token)).toMatchObject({
      code: 'RATE_LIMITED',
      message: expect.stringContaining('BERTH_ORGANIZATIONS_PER_PERSON'),
    })
    const [held] = await findAll<{ role: string; plan: string }>(
      berth.services.db,
      sql`
      select m.role, a.plan from organizations o join memberships m on m.organization_id = o.id
        join inference_accounts a on a.organization_id = o.id where o.name = 'petra’s'`,
    )
    expect(held).toMatchObject({ role: 'owner' })
    expect((await create('by a key', (await makeKey(berth, owner)).key)).code).toBe('FORBIDDEN')
  })

  test('that many ask for at once is made once, and no more than a person may have', async () => {
    const token = await berth.token('pat', 'home', 'member')
    const codes = (await Promise.all(Array.from({ length: 6 }, (_, at) => create(`pat ${at % 3}`, token)))).map(
      ({ code }) => code ?? 'made',
    )
    expect(codes.filter((code) => code === 'made')).toHaveLength(2)
  })

  test('is not made where only the operator makes them', async () => {
    const closed = await startBerth({ settings: { BERTH_ORGANIZATIONS_PER_PERSON: '0' } })
    try {
      expect(await create('mine', await closed.token(), closed)).toMatchObject({
        code: 'FORBIDDEN',
        message: expect.stringContaining('operator'),
      })
    } finally {
      await closed.stop()
    }
  })

  test('is renamed by its owner, to a name that nobody else has', async () => {
    const token = await berth.token('rita', 'renamed', 'owner')
    const rename = (name: string, as = token): Promise<Outcome> =>
      ask(`mutation { updateOrganization(input: { name: "${name}" }) { organization { name } } }`, as)
    expect((await rename('renewed')).data).toEqual({ updateOrganization: { organization: { name: 'renewed' } } })
    expect((await rename('acme')).code).toBe('ORGANIZATION_NAME_TAKEN')
    expect((await rename('theirs', await berth.token('adam', 'acme', 'admin'))).code).toBe('NOT_PERMITTED_FOR_ROLE')
  })
})

describe('an invitation', () => {
  test('makes whoever opens its link first a member with its role, and nobody after', async () => {
    const made = await invite('role: MEMBER, note: "for Nora"')
    expect(made.data?.['createInvitation']).toMatchObject({
      url: expect.stringMatching(new RegExp(`^http://localhost:${berth.port}/join#[\\w-]{43}$`)),
      invitation: { role: 'MEMBER', note: 'for Nora', acceptedAt: null },
    })
    const url = made.data?.['createInvitation']?.['url'] ?? ''
    const nora = await berth.token('nora', 'elsewhere', 'owner')
    expect((await accept(url, nora)).data).toEqual({ acceptInvitation: { organization: { name: 'acme' } } })
    expect(await roleOf('nora')).toBe('member')
    expect((await accept(url, nora)).code).toBeUndefined() // once more changes nothing
    expect((await accept(url, await berth.token('otto', 'elsewhere', 'owner'))).code).toBe('NOT_FOUND')
    expect(await roleOf('otto')).toBeUndefined()
    const { data } = await ask('{ invitations { nodes { id } } }')
    expect(data?.['invitations']?.['nodes']).toEqual([])
  })

  test('that two open at once lets in one of them', async () => {
    const url = await linkOf('VIEWER')
    const tokens = await Promise.all(
      ['one', 'two', 'three'].map((name) => berth.token(`racer ${name}`, 'elsewhere', 'member')),
    )
    const codes = (await Promise.all(tokens.map((token) => accept(url, token)))).map(({ code }) => code ?? 'in')
    expect(codes.sort()).toEqual(['NOT_FOUND', 'NOT_FOUND', 'in'])
  })

  test('raises a role that its receiver has, and lowers none', async () => {
    const mia = await berth.token('mia', 'acme', 'viewer')
    await accept(await linkOf('ADMIN'), mia)
    expect(await roleOf('mia')).toBe('admin')
    await accept(await linkOf('MEMBER'), mia)
    expect(await roleOf('mia')).toBe('admin')
  })

  test('for an owner is made by owners alone, and none by members or keys', async () => {
    const admin = await berth.token('ada', 'acme', 'admin')
    expect((await invite('role: OWNER', admin)).code).toBe('NOT_PERMITTED_FOR_ROLE')
    expect((await invite('role: ADMIN', admin)).code).toBeUndefined()
    expect((await invite('role: OWNER')).code).toBeUndefined()
    expect((await invite('role: VIEWER', await berth.token('max', 'acme', 'member'))).code).toBe(
      'NOT_PERMITTED_FOR_ROLE',
    )
    expect((await accept(await linkOf('VIEWER'), (await makeKey(berth, owner)).key)).code).toBe('FORBIDDEN')
    expect((await invite(`role: VIEWER, note: "${'x'.repeat(256)}"`)).code).toBe('INVALID_REQUEST')
  })

  test('counts no more when whoever made it has left, or may not make it any more', async () => {
    const admin = await berth.token('axel', 'acme', 'admin')
    const url = (await invite('role: ADMIN', admin)).data?.['createInvitation']?.['url'] ?? ''
    const members = await ask('{ members(first: 100) { nodes { id user { name } } } }')
    const nodes = members.data?.['members']?.['nodes'] as unknown as { id: string; user: { name: string } }[]
    const id = nodes.find(({ user }) => user.name === 'axel')?.id
    const guest = await berth.token('gil', 'elsewhere', 'owner')
    await ask(`mutation { updateMember(input: { id: "${id}", role: MEMBER }) { member { role } } }`)
    expect((await accept(url, guest)).code).toBe('NOT_FOUND')
    await ask(`mutation { removeMember(input: { id: "${id}" }) { member { id } } }`)
    expect((await accept(url, await berth.token('axel', 'elsewhere', 'owner'))).code).toBe('NOT_FOUND')
    expect(await roleOf('axel')).toBeUndefined()
    const { data } = await ask('{ invitations { nodes { createdBy { name } } } }')
    expect(JSON.stringify(data)).not.toContain('axel')
  })

  test('that is revoked, expired or unknown lets nobody in', async () => {
    const guest = await berth.token('gus', 'elsewhere', 'owner')
    const made = (await invite('role: VIEWER')).data?.['createInvitation']
    const id = (made?.['invitation'] as { id: string } | undefined)?.id
    const revoke = `mutation { revokeInvitation(input: { id: "${id}" }) { invitation { id } } }`
    expect((await ask(revoke, await berth.token('sid', 'strangers', 'owner'))).code).toBe('NOT_FOUND')
    expect((await ask(revoke)).code).toBeUndefined()
    expect((await ask(revoke)).code).toBe('NOT_FOUND')
    expect((await accept(made?.['url'] ?? '', guest)).code).toBe('NOT_FOUND')
    const late = await linkOf('VIEWER')
    await sql`update invitations set expires_at = now() - interval '31 days' where accepted_at is null`.execute(
      berth.services.db,
    )
    for (const url of [late, 'x', '', `https://berth.example/join#${'x'.repeat(43)}`])
      expect((await accept(url, guest)).code).toBe('NOT_FOUND')
    await invitationRetention[0]?.forget(berth.services as never)
    expect(await findAll(berth.services.db, sql`select id from invitations where accepted_at is null`)).toEqual([])
  })

  test('is one of a limited number that are open', async () => {
    const token = await berth.token('lee', 'limited', 'owner')
    await sql`
      insert into invitations (id, organization_id, role, secret_sha256, created_by, expires_at)
      select gen_random_uuid(), ${idsOf(token).organizationId}, 'viewer', sha256(n::text::bytea), ${idsOf(token).userId}, now() + interval '1 day'
      from generate_series(2, ${invitationLimits.openMax}) n`.execute(berth.services.db)
    expect((await invite('role: VIEWER', token)).code).toBeUndefined()
    expect(await invite('role: VIEWER', token)).toMatchObject({ code: 'RATE_LIMITED' })
  })

  test('has its secret nowhere in the database', async () => {
    const secret = (await linkOf('VIEWER')).split('#')[1] ?? ''
    const rows = await findAll<{ text: string }>(berth.services.db, sql`select i::text as text from invitations i`)
    expect(rows.length).toBeGreaterThan(0)
    for (const { text } of rows) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(Buffer.from(secret).toString('hex'))
      expect(text).not.toContain(Buffer.from(secret, 'base64url').toString('hex'))
    }
  })
})
