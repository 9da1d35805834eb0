/** Build secrets: who may set them, and that nobody sees them but the builds of their organization. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import { findBuildRow } from '#src/resources/infra/build-rows.ts'
import { openBuildSecrets } from '#src/resources/infra/build-secrets.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { clearBuilds, submit, uuidOf } from '../support/builds.ts'

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
    expect((await ask(`mutation { setBuildSecret(name: "NPM_TOKEN", value: "${secret}") { name updatedAt } }`)).body.errors).toBeUndefined()
    const listed = await ask('{ buildSecrets { name updatedAt } }', await berth.token('victor', 'acme', 'viewer'))
    expect(listed.body.data).toEqual({ buildSecrets: [{ name: 'NPM_TOKEN', updatedAt: expect.any(String) }] })
    expect(JSON.stringify(listed)).not.toContain(secret)
    const { rows } = await sql<{ organizationId: string }>`select organization_id, encode(sealed_value, 'escape') as text from build_secrets`.execute(berth.services.db)
    expect(JSON.stringify(rows)).not.toContain(secret)
    const job = await submit(berth, token, { secrets: ['NPM_TOKEN'] })
    const { organizationId } = (await findBuildRow(berth.services.db, uuidOf(job)))!
    expect(await openBuildSecrets(berth.services, organizationId, ['NPM_TOKEN', 'OTHER'])).toEqual({ NPM_TOKEN: secret })
    expect((await ask('mutation { setBuildSecret(name: "X", value: "y") { name } }', await berth.token('martha', 'acme', 'member'))).body.errors?.[0]?.extensions.code).toBe('NOT_PERMITTED_FOR_ROLE')
    expect((await ask('mutation { deleteBuildSecret(name: "NPM_TOKEN") }')).body.errors).toBeUndefined()
    expect((await ask('mutation { deleteBuildSecret(name: "NPM_TOKEN") }')).body.errors?.[0]?.extensions.code).toBe('NOT_FOUND')
  })

  test.each([['PATH', 'x', 'INVALID_ENV_KEY'], ['BERTH_X', 'x', 'INVALID_ENV_KEY'], ['1A', 'x', 'INVALID_ENV_KEY'], ['A', '', 'INVALID_ENV_VALUE']])('named %s with the value %j are refused', async (name, value, code) => {
    expect((await ask(`mutation { setBuildSecret(name: "${name}", value: "${value}") { name } }`)).body.errors?.[0]?.extensions.code).toBe(code)
  })
})
