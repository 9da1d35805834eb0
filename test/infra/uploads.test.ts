/** Uploads: a file put by a signed address, and what it is good for. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { bytes, clearBuilds, organizationOf, submit, type Job } from '../support/builds.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
})
afterEach(() => clearBuilds(berth))
afterAll(() => berth.stop())

const post = (body: unknown, as = token) => berth.call<Job & { error: string; message: string }>('POST', '/api/v1/build/jobs', { token: as, body })

describe('an upload', () => {
  type Upload = { upload_url: string; binary_url: string; expires_at: string }
  const make = (body: unknown, as = token) => berth.call<Upload & { error: string }>('POST', '/api/v1/compute/uploads', { token: as, body })

  test('is put by its signed address without a token, and becomes the context of a build of its organization only', async () => {
    const { status, body } = await make({ organization_id: organizationOf(token) })
    expect([status, Object.keys(body)]).toEqual([200, ['upload_url', 'binary_url', 'expires_at']])
    expect(body.binary_url).toMatch(new RegExp(`/compute/${organizationOf(token)}/upl_[0-9a-z]{26}$`))
    expect(Date.parse(body.expires_at) - Date.now()).toBeLessThanOrEqual(limits.uploadUrlSeconds * 1000)
    expect((await fetch(body.upload_url, { method: 'PUT', body: 'hello', headers: { 'content-type': 'application/octet-stream' } })).ok).toBe(true)
    expect((await submit(berth, token, { context: body.binary_url })).status).toBe('queued')
    const stranger = await berth.token('eve', 'elsewhere')
    expect(await post({ org_id: organizationOf(stranger), spec: bytes({ context: body.binary_url }) }, stranger)).toMatchObject({ status: 400, body: { error: 'invalid_spec' } })
    expect(await post({ org_id: organizationOf(token), spec: bytes({ context: body.binary_url }), repo_url: 'https://example.com/a/b' })).toMatchObject({ status: 400, body: { error: 'invalid_spec' } })
  })

  test('without an organization, or for one that the caller is not in, is 400', async () => {
    for (const body of [{}, { organization_id: null }, { organization_id: 'x' }, { organization_id: newId('organization') }, { organization_id: organizationOf(await berth.token('eve', 'elsewhere')) }]) {
      expect(await make(body)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    }
    expect(await make({ organization_id: organizationOf(token) }, await berth.token('victor', 'acme', 'viewer'))).toMatchObject({ status: 403 })
  })
})
