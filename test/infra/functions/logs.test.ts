/** The log of a function, as rows. No node runs functions here. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { decodeId } from '#src/platform/ids.ts'
import { change, getOne, sql } from '#src/platform/postgres.ts'
import { appendFunctionLog } from '#src/resources/infra/functions/logs.ts'
import type { InstanceProgress } from '#src/resources/infra/functions/runs.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'

let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
})
afterAll(() => berth.stop())

const progress: InstanceProgress = {
  isPrepared: true,
  attempt: 1,
  batch: 1,
  takenBytes: 0,
  maskingState: 0,
  cut: '',
  endsLine: true,
  keptBytes: 0,
}

test('a program that prints a byte at a time has a log of limited size, which says what was dropped', async () => {
  const { db } = berth.services
  const { body } = await berth.ask('mutation { createFunction(input: {}) { function { id } } }', { token })
  const { id } = (body.data as { createFunction: { function: { id: string } } }).createFunction.function
  const functionId = decodeId('function', id) ?? ''
  const vmId = decodeId('vm', await makeVmRow(db, token, node)) ?? ''
  await change(
    db,
    sql`
    with version as (insert into function_versions (id, function_id, organization_id, number, object_key, binary_url, port)
      select gen_random_uuid(), id, organization_id, 1, 'x', 'x', 80 from functions where id = ${functionId} returning id)
    insert into function_instances (vm_id, function_id, version_id, generation, worker_number) select ${vmId}, ${functionId}, id, 1, 7 from version`,
  )
  const claim = { vmId, functionId, versionNumber: 1, workerNumber: 7 }
  const most = functionLimits.logLinesMax
  await change(
    db,
    sql`
    with whole as (update function_logs set position = ${most}::int, bytes = ${most}::int where function_id = ${functionId} returning position)
    insert into function_log_lines (function_id, position, version_number, output) select ${functionId}, at, 1, 'a' from whole, generate_series(1, position) at`,
  )
  expect(await appendFunctionLog(db, claim, ['b'], progress)).toBe(true)
  const { lines, first } = await getOne<{ lines: number; first: number }>(
    db,
    sql`select count(*) as lines, min(position) as first from function_log_lines where function_id = ${functionId}`,
  )
  expect([lines, first]).toEqual([most * 0.9, most * 0.1 + 2])
  const { body: read } = await berth.ask(`{ function(id: "${id}") { log(last: 1) { totalCount nodes { output } } } }`, {
    token,
  })
  expect(read.data).toEqual({ function: { log: { totalCount: most * 0.9, nodes: [{ output: 'b' }] } } })
})
