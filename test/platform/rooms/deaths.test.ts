/** Counts of what is stored when the process that writes is killed in the middle. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { foldStoredBytes, readRooms, recountStoredBytes } from '#src/platform/metrics/rooms.ts'
import { getOne, sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let organizationId: string
beforeAll(async () => {
  berth = await startBerth()
  ;({ organizationId } = idsOf(await berth.token()))
})
afterAll(() => berth.stop())

const writer = new URL('mortal-writer.ts', import.meta.url).pathname

test('a writer that is killed in the middle, again and again, leaves counts that are the sum of what is stored', async () => {
  const { db, database } = berth.services
  for (const rounds of [1, 4, 9]) {
    await killAfter(rounds, database.url)
    await until('its connections are gone', async () => {
      const { open } = await getOne<{ open: number }>(
        db,
        sql`select count(*) as open from pg_stat_activity where application_name = 'mortal-writer'`,
      )
      return open === 0
    })
    const { bytes } = await getOne<{ bytes: number }>(
      db,
      sql`select sum(size)::bigint as bytes from (select octet_length(definition::text) as size from agents union all select octet_length(definition::text) from agent_versions) stored`,
    )
    expect(bytes).toBeGreaterThan(0)
    for (const fold of [false, true]) {
      if (fold) await foldStoredBytes(db)
      const rooms = await readRooms(berth.services, organizationId)
      expect(rooms.find(({ name }) => name === 'definitions')?.usedBytes).toBe(bytes)
    }
    expect(await recountStoredBytes(db)).toBe(0)
  }
})

async function killAfter(rounds: number, url: string): Promise<void> {
  const child = spawn(process.execPath, [writer, url, organizationId], { stdio: ['ignore', 'pipe', 'inherit'] })
  let written = 0
  for await (const line of createInterface(child.stdout)) {
    written += line === 'written' ? 1 : 0
    if (written === rounds) child.kill('SIGKILL')
  }
  expect(written).toBeGreaterThanOrEqual(rounds)
}
