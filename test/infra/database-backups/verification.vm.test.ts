/** The nightly test of backups, with a real database and a real throw-away machine. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runSql } from '#src/drivers/compute/guest/postgres.ts'
import { verifyBackups } from '#workers/infra/database-verification.ts'
import { databaseMachine } from '#workers/infra/databases.ts'
import type { VmWork } from '#workers/infra/vms.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { organizationOf } from '../../support/builds.ts'
import { databaseUuid } from '../../support/databases.ts'
import { until } from '../../support/until.ts'

const path = '/api/v1/databases'
const limitMs = 300_000

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth({ worker: true, pool: 0 })
  token = await berth.token()
}, limitMs)
afterAll(() => berth?.stop())

type Answer = { id: string; status: string; error: string | null; pg_user: string }
const call = async (method: string, below: string, body?: unknown): Promise<Answer> =>
  (await berth.call<Answer>(method, `${path}${below}`, { token, body })).body

test('a backup is restored into a machine of its own, found to be good, and nothing of that is left', async () => {
  const { worker, workerServices } = berth
  if (!worker?.compute || !workerServices) throw new Error('there is no worker')
  const { id } = await call('POST', '', { organization_id: organizationOf(token) })
  await until('the database is active', async () => (await call('GET', `/${id}`)).status === 'active', limitMs, 200)
  const work = {
    services: workerServices,
    compute: worker.compute,
    nodeId: worker.nodeId,
    workerNumber: 1,
    egress: { dropMachine: () => undefined },
  } as unknown as VmWork // all that it needs
  const machine = await databaseMachine(work, databaseUuid(id))
  const { pg_user: owner } = await call('GET', `/${id}`)
  const sql = `set role ${owner}; create table public.kept as select n, md5(n::text) from generate_series(1, 5000) n;`
  await runSql(machine, { database: 'app', sql, timeoutMs: 60_000 })
  const { id: backup } = await call('POST', `/${id}/backups`)
  await until(
    'it ends',
    async () => (await call('GET', `/${id}/backups/${backup}`)).status === 'completed',
    limitMs,
    200,
  )
  const before = (await worker.compute.residents()).map((resident) => resident.id)
  await verifyBackups(work, new AbortController().signal)
  const { body } = await berth.ask(`{ backup(id: "${backup}") { verifiedAt verificationError } }`, { token })
  expect(body.data).toEqual({ backup: { verifiedAt: expect.any(String), verificationError: null } })
  expect((await worker.compute.residents()).map((resident) => resident.id)).toEqual(before)
}, 900_000)
