/** Uploads: a file put by a signed address, and what it is good for. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { objectStore } from '#src/drivers/objects.ts'
import { readConfig } from '#src/platform/config.ts'
import { decodeId, newId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { sql } from '#src/platform/postgres.ts'
import { forgetUnfinishedUploads, forgetUnusedUploads } from '#src/resources/infra/uploads/retention.ts'
import { uploadKey } from '#src/resources/infra/uploads.ts'
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

const post = (body: unknown, as = token) =>
  berth.call<Job & { error: string; message: string }>('POST', '/api/v1/build/jobs', { token: as, body })

type Upload = { upload_url: string; binary_url: string; expires_at: string }
const make = (body: unknown, as = token) =>
  berth.call<Upload & { error: string }>('POST', '/api/v1/compute/uploads', { token: as, body })

describe('an upload', () => {
  test('is PUT to its signed URL without a token, and can be the context of its organization’s builds only', async () => {
    const { status, body } = await make({ organization_id: organizationOf(token) })
    expect([status, Object.keys(body)]).toEqual([200, ['upload_url', 'binary_url', 'expires_at']])
    expect(body.binary_url).toMatch(new RegExp(`/compute/${organizationOf(token)}/upl_[0-9a-z]{26}$`))
    expect(Date.parse(body.expires_at) - Date.now()).toBeLessThanOrEqual(limits.uploadUrlSeconds * 1000)
    expect(
      (
        await fetch(body.upload_url, {
          method: 'PUT',
          body: 'hello',
          headers: { 'content-type': 'application/octet-stream' },
        })
      ).ok,
    ).toBe(true)
    expect((await submit(berth, token, { context: body.binary_url })).status).toBe('queued')
    const stranger = await berth.token('eve', 'elsewhere')
    expect(
      await post({ org_id: organizationOf(stranger), spec: bytes({ context: body.binary_url }) }, stranger),
    ).toMatchObject({ status: 400, body: { error: 'invalid_spec' } })
    expect(
      await post({
        org_id: organizationOf(token),
        spec: bytes({ context: body.binary_url }),
        repo_url: 'https://example.com/a/b',
      }),
    ).toMatchObject({ status: 400, body: { error: 'invalid_spec' } })
  })

  test('without an organization, or for one that the caller is not in, is 400', async () => {
    for (const body of [
      {},
      { organization_id: null },
      { organization_id: 'x' },
      { organization_id: newId('organization') },
      { organization_id: organizationOf(await berth.token('eve', 'elsewhere')) },
    ]) {
      expect(await make(body)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    }
    expect(
      await make({ organization_id: organizationOf(token) }, await berth.token('victor', 'acme', 'viewer')),
    ).toMatchObject({ status: 403 })
  })
})

describe('what housekeeping keeps', () => {
  const put = async (): Promise<string> => {
    const { body } = await make({ organization_id: organizationOf(token) })
    await fetch(body.upload_url, {
      method: 'PUT',
      body: 'hello',
      headers: { 'content-type': 'application/octet-stream' },
    })
    return body.binary_url
  }
  const idOf = (binaryUrl: string): string => decodeId('upload', binaryUrl.split('/').at(-1) ?? '') ?? ''
  const age = (binaryUrl: string, days: number) =>
    sql`update uploads set created_at = now() - ${days} * interval '1 day', used_at = now() - ${days} * interval '1 day' where id = ${idOf(binaryUrl)}`.execute(
      berth.services.db,
    )
  const isStored = async (binaryUrl: string): Promise<boolean> =>
    (await objectStore(berth.services).find(
      uploadKey(decodeId('organization', organizationOf(token)) ?? '', idOf(binaryUrl)),
    )) !== undefined
  const hasRow = async (binaryUrl: string): Promise<boolean> =>
    (await sql`select 1 from uploads where id = ${idOf(binaryUrl)}`.execute(berth.services.db)).rows.length === 1
  const sweep = async (days = '30'): Promise<void> => {
    await forgetUnfinishedUploads(berth.services)
    await forgetUnusedUploads({
      ...berth.services,
      config: { ...berth.services.config, uploadDays: readConfig({ BERTH_UPLOAD_DAYS: days }).uploadDays },
    })
  }

  test('of an upload that a function runs from: the file, until no version of it does', async () => {
    const binaryUrl = await put()
    const { body } = await berth.ask(
      'mutation ($input: CreateFunctionInput!) { createFunction(input: $input) { function { id } } }',
      { token, variables: { input: { binaryUrl } } },
    )
    await age(binaryUrl, 31)
    await sweep()
    await sweep()
    expect(await isStored(binaryUrl)).toBe(true)
    const { id } = (body.data as { createFunction: { function: { id: string } } }).createFunction.function
    await berth.ask(`mutation { deleteFunction(input: {id: "${id}"}) { deletedId } }`, { token })
    await age(binaryUrl, 31)
    await sweep()
    expect([await isStored(binaryUrl), await hasRow(binaryUrl)]).toEqual([false, false])
  })

  test('of the uploads of a function’s versions: those of the versions that it keeps', async () => {
    const usual = functionLimits.versionsKept
    Object.assign(functionLimits, { versionsKept: 1 })
    try {
      const [dropped, kept] = [await put(), await put()]
      const { body } = await berth.ask(
        'mutation ($input: CreateFunctionInput!) { createFunction(input: $input) { function { id } } }',
        { token, variables: { input: { binaryUrl: dropped } } },
      )
      const { id } = (body.data as { createFunction: { function: { id: string } } }).createFunction.function
      await berth.ask('mutation ($input: DeployFunctionInput!) { deployFunction(input: $input) { function { id } } }', {
        token,
        variables: { input: { id, binaryUrl: kept } },
      })
      for (const binaryUrl of [dropped, kept]) await age(binaryUrl, 31)
      await sweep()
      expect([await isStored(dropped), await isStored(kept)]).toEqual([false, true])
    } finally {
      Object.assign(functionLimits, { versionsKept: usual })
    }
  })

  test('of an upload that no build has asked for in 30 days: nothing; of one that a build asks for: the file, for 30 days more', async () => {
    const [unused, young, used] = [await put(), await put(), await put()]
    await age(unused, 31)
    await age(young, 29)
    await age(used, 31)
    await submit(berth, token, { context: used })
    await sweep()
    await sweep()
    expect([await isStored(unused), await hasRow(unused)]).toEqual([false, false])
    expect(await post({ org_id: organizationOf(token), spec: bytes({ context: unused }) })).toMatchObject({
      status: 400,
      body: { error: 'invalid_spec' },
    })
    for (const kept of [young, used]) expect([await isStored(kept), await hasRow(kept)]).toEqual([true, true])
  })

  test('of an address where nothing was put: no row after a day', async () => {
    const { body } = await make({ organization_id: organizationOf(token) })
    await sweep()
    expect(await hasRow(body.binary_url)).toBe(true)
    await age(body.binary_url, 2)
    await sweep()
    expect(await hasRow(body.binary_url)).toBe(false)
  })

  test('is what BERTH_UPLOAD_DAYS says, and everything when it is 0', async () => {
    const upload = await put()
    await age(upload, 5)
    for (const days of ['0', '6']) await sweep(days)
    expect(await isStored(upload)).toBe(true)
    await sweep('4')
    expect(await isStored(upload)).toBe(false)
  })
})
