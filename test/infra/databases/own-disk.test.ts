/** The own disk of a database's VM: what is reserved for it on the node is what it can take. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql, transaction } from '#src/platform/postgres.ts'
import { insertDatabaseVm } from '#src/resources/infra/vms/databases.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeDatabase, rowOf } from '../../support/databases.ts'
import { idsOf, makeSilentNode } from '../../support/makers.ts'

const dataDiskMb = 10 * 1024
let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
})
afterAll(() => berth.stop())

async function promisedMb(): Promise<number> {
  const { rows } = await sql<{ megabytes: number }>`
    select sum(v.disk_mb + d.disk_mb)::int as megabytes from databases d join vms v on v.id = d.vm_id`.execute(
    berth.services.db,
  )
  return rows[0]?.megabytes ?? 0
}

test('has 2 GiB for the system and a quarter of the data’s disk for temporary files, and grows with that', async () => {
  const { services } = berth
  const { id } = await makeDatabase(berth, token, node)
  const { vmId } = await rowOf(berth, id)
  const vm = await transaction(services.db, (tx) =>
    insertDatabaseVm(services, tx, {
      ...idsOf(token),
      name: 'database',
      vcpuCount: 2,
      memoryMb: 1024,
      dataDiskMb,
      folder: null,
      projectId: null,
    }),
  )
  expect(vm.diskMb).toBe(2 * 1024 + dataDiskMb / 4)
  await sql`update vms set disk_mb = ${vm.diskMb} where id = ${vmId}`.execute(services.db)
  const before = await promisedMb()
  const change = (diskMb: number) =>
    berth.ask(`mutation { updateDatabase(input: {id: "${id}", diskMb: ${diskMb}}) { database { vm { diskMb } } } }`, {
      token,
    })
  expect((await change(2 * dataDiskMb)).body.data).toEqual({
    updateDatabase: { database: { vm: { diskMb: vm.diskMb + dataDiskMb / 4 } } },
  })
  expect((await promisedMb()) - before).toBe(dataDiskMb * 1.25)
})
