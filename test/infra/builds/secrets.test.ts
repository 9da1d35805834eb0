/** Build secrets: who may set them, and that nobody sees them but the builds of their organization. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { findBuildRow, type Build } from '#src/resources/infra/builds/rows.ts'
import { openBuildSecrets } from '#src/resources/infra/builds/secrets.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { clearBuilds, submit, uuidOf } from '../../support/builds.ts'
import { idsOf, makeKey } from '../../support/makers.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
})
afterEach(() => clearBuilds(berth))
afterAll(() => berth.stop())

describe('build secrets', () => {
  const ask = (document: string, as = token) => berth.ask(document, { token: as })

  test('are set and deleted by admins, listed without values, and opened for the builds of their organization only', async () => {
    const secret = 'canary-91ab'
    expect(
      (
        await ask(
          `mutation { setBuildSecret(input: { name: "NPM_TOKEN", value: "${secret}" }) { buildSecret { name updatedAt } } }`,
        )
      ).body.errors,
    ).toBeUndefined()
    const listed = await ask('{ buildSecrets { name updatedAt } }', await berth.token('victor', 'acme', 'viewer'))
    expect(listed.body.data).toEqual({ buildSecrets: [{ name: 'NPM_TOKEN', updatedAt: expect.any(String) }] })
    expect(JSON.stringify(listed)).not.toContain(secret)
    const { rows } = await sql<{
      organizationId: string
    }>`select organization_id, encode(sealed_value, 'escape') as text from build_secrets`.execute(berth.services.db)
    expect(JSON.stringify(rows)).not.toContain(secret)
    const job = await submit(berth, token, { secrets: ['NPM_TOKEN'] })
    const build = (await findBuildRow(berth.services.db, uuidOf(job)))!
    expect(await openBuildSecrets(berth.services, build, ['NPM_TOKEN', 'OTHER'])).toEqual({ NPM_TOKEN: secret })
    expect(
      (
        await ask(
          'mutation { setBuildSecret(input: { name: "X", value: "y" }) { buildSecret { name } } }',
          await berth.token('martha', 'acme', 'member'),
        )
      ).body.errors?.[0]?.extensions.code,
    ).toBe('NOT_PERMITTED_FOR_ROLE')
    expect(
      (await ask('mutation { deleteBuildSecret(input: { name: "NPM_TOKEN" }) { deletedName } }')).body.errors,
    ).toBeUndefined()
    expect(
      (await ask('mutation { deleteBuildSecret(input: { name: "NPM_TOKEN" }) { deletedName } }')).body.errors?.[0]
        ?.extensions.code,
    ).toBe('NOT_FOUND')
  })

  const build = (as: string, name: string): Promise<{ status: number; body: Record<string, unknown> }> =>
    berth.call('POST', '/api/v1/build/jobs', {
      token: as,
      body: {
        org_id: encodeId('organization', idsOf(token).organizationId),
        spec: [...Buffer.from(JSON.stringify({ secrets: [name] }))],
      },
    })

  test('are for the builds of admins, unless they are opened to members and keys, or kept for owners', async () => {
    const member = await berth.token('martha', 'acme', 'member')
    const admin = await berth.token('adam', 'acme', 'admin')
    const { key } = await makeKey(berth, token)
    const set = (name: string, more: string): Promise<unknown> =>
      ask(
        `mutation { setBuildSecret(input: { name: "${name}", value: "canary-77c0"${more} }) { buildSecret { leastRole } } }`,
      ).then(({ body }) => body.data ?? body.errors?.[0]?.extensions.code)
    expect([
      await set('DEPLOY', ''),
      await set('ROOT', ', leastRole: OWNER'),
      await set('SHARED', ', leastRole: MEMBER'),
    ]).toEqual(['ADMIN', 'OWNER', 'MEMBER'].map((leastRole) => ({ setBuildSecret: { buildSecret: { leastRole } } })))
    expect(await set('SHARED', '')).toEqual({ setBuildSecret: { buildSecret: { leastRole: 'MEMBER' } } }) // as it was
    const statuses = async (name: string): Promise<number[]> =>
      Promise.all([key, member, admin, token].map(async (as) => (await build(as, name)).status))
    expect([await statuses('SHARED'), await statuses('DEPLOY'), await statuses('ROOT')]).toEqual([
      [201, 201, 201, 201],
      [403, 403, 201, 201],
      [403, 403, 403, 201],
    ])
    const refused = await build(member, 'DEPLOY')
    expect(refused.body).toEqual({
      error: 'not_permitted_for_role',
      message: expect.stringContaining('DEPLOY is for builds of admins and higher'),
    })
    expect(
      (
        await ask(
          'mutation { setBuildSecret(input: { name: "X", value: "y", leastRole: VIEWER }) { buildSecret { name } } }',
        )
      ).body.errors?.[0]?.extensions.code,
    ).toBe('INVALID_REQUEST')
  })

  test('are not given to a build whose submitter was demoted or removed while it waited, nor for a role that its token did not say', async () => {
    await ask('mutation { setBuildSecret(input: { name: "DEPLOY", value: "canary-77c0" }) { buildSecret { name } } }')
    const queue = async (as: string): Promise<Build> =>
      (await findBuildRow(berth.services.db, decodeId('build', String((await build(as, 'DEPLOY')).body['id'])) ?? ''))!
    const admin = await berth.token('ada', 'acme', 'admin')
    const queued = await queue(admin)
    expect(await openBuildSecrets(berth.services, queued, ['DEPLOY'])).toEqual({ DEPLOY: 'canary-77c0' })
    await expect(
      openBuildSecrets(berth.services, { ...queued, submittedRole: 'member' }, ['DEPLOY']),
    ).rejects.toMatchObject({ code: 'not_permitted_for_role' })
    for (const change of ["role = 'member'", 'deactivated_at = now()']) {
      await berth.services.database.pool.query(
        `update memberships set ${change} where user_id = $1 and deactivated_at is null`,
        [idsOf(admin).userId],
      )
      await expect(openBuildSecrets(berth.services, queued, ['DEPLOY'])).rejects.toMatchObject({
        code: 'not_permitted_for_role',
      })
    }
  })

  test.each([
    ['PATH', 'x', 'INVALID_ENV_KEY'],
    ['BERTH_X', 'x', 'INVALID_ENV_KEY'],
    ['1A', 'x', 'INVALID_ENV_KEY'],
    ['A', '', 'INVALID_ENV_VALUE'],
  ])('named %s with the value %j are refused', async (name, value, code) => {
    expect(
      (await ask(`mutation { setBuildSecret(input: { name: "${name}", value: "${value}" }) { buildSecret { name } } }`))
        .body.errors?.[0]?.extensions.code,
    ).toBe(code)
  })
})
