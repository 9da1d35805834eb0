import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nodeClient } from '#src/drivers/node.ts'
import { asDriverSocket } from '#src/platform/postgres/driver-sockets.ts'
import { openLogins } from '#src/resources/infra/databases/setup.ts'
import { wakeDatabase } from '#src/resources/infra/databases/sleep.ts'
import { nodeTokenPurpose } from '#src/resources/infra/vms/access.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { organizationOf } from '../support/builds.ts'
import { rowOf, type DatabaseAnswer } from '../support/databases.ts'
import { qemuProcesses } from '../support/qemu-processes.ts'
import { until } from '../support/until.ts'
let berth: Berth
let token: string
let id: string
beforeAll(async () => {
  berth = await startBerth({ worker: true, pool: 0 })
  token = await berth.token()
  await berth.worker?.compute?.prepareDatabases()
  const made = await berth.call<DatabaseAnswer>('POST', '/api/v1/databases', {
    token,
    body: { organization_id: organizationOf(token), name: 'shop' },
  })
  id = made.body.id
  await until('active', async () => (await rowOf(berth, id)).status === 'active', 120_000)
}, 600_000)
afterAll(() => berth.stop())
async function query(text: string): Promise<Record<string, unknown>[]> {
  const { services } = berth
  const database = await rowOf(berth, id)
  const { vmId, nodeAgentUrl } = await wakeDatabase(services, database.id)
  const tunnel = await nodeClient(nodeAgentUrl, services.sealer.derive(nodeTokenPurpose)).tunnel({ vmId })
  const client = new pg.Client({
    user: database.pgUser,
    password: openLogins(services.sealer, database).owner,
    database: database.pgDatabase,
    stream: () => asDriverSocket(tunnel),
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}
test('long recovery', async () => {
  await query('create table big (a int, b text)')
  let n = 0
  const t0 = performance.now()
  while (performance.now() - t0 < 150_000) {
    await query('insert into big select g, repeat(md5(g::text), 4) from generate_series(1,60000) g; ')
    n++
  }
  console.log(
    'inserts',
    n,
    JSON.stringify(
      await query(
        'select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::bigint as wal from pg_control_checkpoint()',
      ).catch((e: Error) => e.message),
    ),
  )
  const count = JSON.stringify(await query('select count(*) from big'))
  const [pid] = qemuProcesses(berth.dataDir)
  process.kill(pid ?? 0, 'SIGKILL')
  const at = performance.now()
  let last = ''
  for (;;) {
    const { body } = await berth.ask(`{ database(id: "${id}") { status statusReason vm { status statusReason } } }`, {
      token,
    })
    const now = JSON.stringify(body.data)
    if (now !== last) console.log(Math.round(performance.now() - at), now)
    last = now
    if (performance.now() - at > 3000 && now.includes('"status":"RUNNING"')) break
    if (performance.now() - at > 300_000) break
    await new Promise((r) => setTimeout(r, 500))
  }
  expect(JSON.stringify(await query('select count(*) from big'))).toBe(count)
}, 550_000)
