/** What one organization may store and have on its way, and that the next one still uploads. */
import { existsSync, mkdirSync, readdirSync, statfsSync, writeFileSync } from 'node:fs'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stage } from '#src/drivers/objects/staging.ts'
import { readConfig } from '#src/platform/config.ts'
import { decodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { processName } from '#src/platform/locks/process-marks.ts'
import { sql } from '#src/platform/postgres.ts'
import { checkFileRoom } from '#src/resources/infra/file-room.ts'
import { clearDeadWrites } from '#src/resources/infra/uploads/writes.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { organizationOf } from '../../support/builds.ts'
import { idsOf } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100', BERTH_ORG_FILES_GB: '8' } })
  token = await berth.token()
})
afterAll(() => berth.stop())

type Upload = { upload_url: string; binary_url: string }
type Refusal = { error: string; message: string }
async function make(as = token): Promise<Upload> {
  const { status, body } = await berth.call<Upload & Refusal>('POST', '/api/v1/compute/uploads', {
    token: as,
    body: { organization_id: organizationOf(as) },
  })
  if (status !== 200) throw new Error(`${status} ${body.message}`)
  return { ...body, upload_url: body.upload_url.replace(/^http:\/\/[^/]+/, berth.url) }
}
const idOf = ({ binary_url }: Upload): string => decodeId('upload', binary_url.split('/').at(-1) ?? '') ?? ''
const put = async (
  { upload_url }: Upload,
  text = 'hello',
): Promise<{ status: number; body: Refusal | null; headers: Headers }> => {
  const answer = await fetch(upload_url, {
    method: 'PUT',
    body: text,
    headers: { 'content-type': 'application/octet-stream' },
  })
  const said = await answer.text()
  return { status: answer.status, body: said ? (JSON.parse(said) as Refusal) : null, headers: answer.headers }
}
const rowOf = async (upload: Upload): Promise<{ writer: string | null; reserved: number; size: number }> =>
  (
    await sql<{
      writer: string | null
      reserved: number
      size: number
    }>`select writer, reserved_bytes as reserved, size_bytes as size from uploads where id = ${idOf(upload)}`.execute(
      berth.services.db,
    )
  ).rows[0]!
const incoming = (): string[] => {
  const folder = join(berth.dataDir, 'objects', 'incoming')
  return existsSync(folder) ? readdirSync(folder) : []
}

/** A PUT of which only the beginning has come, once it holds its lease. */
async function begin(
  upload: Upload,
  headers: Record<string, string> = {},
): Promise<{ sending: ClientRequest; answered: Promise<IncomingMessage | Error> }> {
  const sending = request(upload.upload_url, {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream', ...headers },
  })
  const answered = new Promise<IncomingMessage | Error>((resolve) =>
    sending.once('error', resolve).once('response', resolve),
  )
  sending.write('begun')
  await until('the PUT has begun', async () => (await rowOf(upload)).writer !== null)
  return { sending, answered }
}
async function over(upload: Upload): Promise<void> {
  await until('the PUT is over', async () => (await rowOf(upload)).writer === null && incoming().length === 0)
}

describe('an upload', () => {
  test('is written by one PUT at a time: another is refused with a sentence, and the first continues', async () => {
    const upload = await make()
    const { sending, answered } = await begin(upload)
    for (let tries = 0; tries < 3; tries++) {
      const second = await put(upload)
      expect(second).toMatchObject({
        status: 409,
        body: { error: 'invalid_transition', message: expect.stringContaining('Another PUT') },
      })
    }
    expect(incoming()).toHaveLength(1)
    sending.end(' and ended')
    expect(await answered).toMatchObject({ statusCode: 200 })
    await over(upload)
    expect(await rowOf(upload)).toMatchObject({ size: 15, reserved: 0 })
    expect((await put(upload, 'anew')).status).toBe(200)
    expect(await rowOf(upload)).toMatchObject({ size: 4 })
  })

  test('releases its room when its PUT is interrupted', async () => {
    const upload = await make()
    const { sending } = await begin(upload)
    expect(await rowOf(upload)).toMatchObject({ reserved: limits.uploadBytes })
    sending.destroy()
    await over(upload)
    expect(await rowOf(upload)).toMatchObject({ reserved: 0, size: 0 })
    expect((await put(upload)).status).toBe(200)
  })

  test('that no longer exists accepts nothing', async () => {
    const upload = await make()
    await sql`delete from uploads where id = ${idOf(upload)}`.execute(berth.services.db)
    expect((await put(upload)).status).toBe(404)
    expect(incoming()).toEqual([])
  })

  test('whose PUT is too slow is cut off', async () => {
    const folder = join(berth.dataDir, 'slow')
    const silent = new Readable({ read: () => undefined })
    await expect(
      stage(folder, silent, 100, async () => undefined, { stalledSeconds: 0.05, bytesPerSecondMin: 0 }),
    ).rejects.toMatchObject({ code: 'timeout' })
    const dribbling = Readable.from(
      (async function* () {
        for (;;) yield await new Promise<Buffer>((resolve) => setTimeout(() => resolve(Buffer.from('x')), 10))
      })(),
    )
    await expect(
      stage(folder, dribbling, 1_000_000, async () => undefined, {
        stalledSeconds: 0.05,
        bytesPerSecondMin: 1_000_000,
      }),
    ).rejects.toMatchObject({ code: 'timeout' })
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('an organization', () => {
  test('may have so many bytes in progress, and another organization can still upload', async () => {
    const uploads = await Promise.all(Array.from({ length: 4 }, () => make()))
    const begun = await Promise.all(uploads.map((upload) => begin(upload))) // each may become 1 GiB
    const fifth = await make()
    expect(await put(fifth)).toMatchObject({
      status: 429,
      body: { error: 'rate_limited', message: expect.stringMatching(/4096 MiB.*Content-Length/) },
    })
    expect((await put(await make(await berth.token('bob', 'second')))).status).toBe(200)
    for (const { sending } of begun) sending.destroy()
    for (const upload of uploads) await over(upload)
    expect((await put(fifth)).status).toBe(200)
  })

  test('with many concurrent PUTs reserves no more than that', async () => {
    const uploads = await Promise.all(Array.from({ length: 12 }, () => make()))
    const tries = uploads.map(({ upload_url }) => {
      const sending = request(upload_url, { method: 'PUT', headers: { 'content-type': 'application/octet-stream' } })
      const answered = new Promise<number>((resolve) =>
        sending.once('error', () => resolve(0)).once('response', (answer) => resolve(answer.statusCode ?? 0)),
      )
      sending.write('x')
      return { sending, answered }
    })
    let refused = 0
    for (const { answered } of tries) void answered.then((status) => (refused += status === 429 ? 1 : 0))
    await until('eight are refused', () => refused === 8)
    expect(incoming()).toHaveLength(4)
    for (const { sending } of tries) sending.destroy()
    for (const upload of uploads) await over(upload)
  })

  test('may store so much, uploads and outputs of builds together, and another organization can still upload', async () => {
    const [upload, next] = [await make(), await make()]
    await sql`update uploads set size_bytes = ${8 * 1024 ** 3}::bigint - 3 where id = ${idOf(upload)}`.execute(
      berth.services.db,
    )
    expect(await put(next)).toMatchObject({
      status: 429,
      body: {
        error: 'rate_limited',
        message: expect.stringMatching(/8192 MiB is the limit.*BERTH_ORG_FILES_GB/),
      },
    })
    expect((await put(await make(await berth.token('bob', 'second')))).status).toBe(200)
    await sql`update uploads set size_bytes = ${8 * 1024 ** 3}::bigint where id = ${idOf(upload)}`.execute(
      berth.services.db,
    )
    await expect(make()).rejects.toThrow(/^429 .*BERTH_ORG_FILES_GB/)
    await sql`update uploads set size_bytes = 0 where id = ${idOf(upload)}`.execute(berth.services.db)
  })

  test('may have so many unused upload URLs', async () => {
    const { organizationId } = idsOf(await berth.token('carl', 'many'))
    await sql`insert into uploads (id, organization_id, expires_at) select gen_random_uuid(), ${organizationId}, now() from generate_series(1, ${limits.uploadsUnfinishedMax}::int)`.execute(
      berth.services.db,
    )
    await expect(make(await berth.token('carl', 'many'))).rejects.toThrow(/^429 .*1000 upload/)
    await make()
  })
})

describe('a disk that is nearly full', () => {
  const free = (): number => {
    const { bavail, bsize } = statfsSync(berth.dataDir)
    return bavail * bsize
  }
  const withFloor = (floorBytes: number) => ({
    ...berth.services.config,
    orgFilesGb: 0,
    diskFloorMb: Math.floor(floorBytes / 1024 / 1024),
  })

  test('accepts no file and no upload, with 503 and a sentence', async () => {
    const full = await startBerth({ settings: { BERTH_DISK_FLOOR_MB: '999999' } })
    try {
      const as = await full.token()
      const answer = await full.call<Refusal>('POST', '/api/v1/compute/uploads', {
        token: as,
        body: { organization_id: organizationOf(as) },
      })
      expect(answer).toMatchObject({
        status: 503,
        body: { error: 'capacity_unavailable', message: expect.stringContaining('nearly full') },
      })
      expect(answer.headers.get('retry-after')).toBe('60')
    } finally {
      await full.stop()
    }
  })

  test('may be filled closer to its floor by an organization that stores little than by one that stores much', async () => {
    const config = withFloor(free() * 0.7)
    const nothing = { storedBytes: 0, stagedBytes: 0, allStagedBytes: 0 }
    await checkFileRoom(config, nothing, 1024)
    await expect(checkFileRoom(config, { ...nothing, storedBytes: limits.uploadBytes }, 1024)).rejects.toMatchObject({
      code: 'capacity_unavailable',
    })
    await expect(checkFileRoom(config, { ...nothing, allStagedBytes: free() }, 1024)).rejects.toMatchObject({
      code: 'capacity_unavailable',
    })
  })

  test('has a floor of five percent without a setting', () => {
    expect(readConfig({}).diskFloorMb).toBeNull()
  })
})

test('the uploads of a killed process are cleared at the next start, and live ones continue', async () => {
  const [dead, living] = [await make(), await make()]
  const folder = join(berth.dataDir, 'objects', 'incoming')
  mkdirSync(folder, { recursive: true })
  const deadName = `${hostname()}.4194304.12345` // above the largest number a process may have
  for (const name of [`${deadName}~a`, `elsewhere.1.1~b`, `${processName}~c`]) writeFileSync(join(folder, name), 'half')
  for (const [upload, writer] of [
    [dead, `${deadName}/x`],
    [living, `${processName}/y`],
  ] as const) {
    await sql`update uploads set writer = ${writer}, writing_until = now() + interval '30 seconds', reserved_bytes = 5 where id = ${idOf(upload)}`.execute(
      berth.services.db,
    )
  }
  expect((await put(dead)).status).toBe(409)
  await clearDeadWrites(berth.services)
  expect(incoming().sort()).toEqual([`${processName}~c`, 'elsewhere.1.1~b'].sort())
  expect((await put(dead)).status).toBe(200)
  expect((await put(living)).status).toBe(409)
})
