/** One organization's events do not hold up those of others, whatever it filters and however much comes for it. */
import { beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { matchesAny } from '#src/resources/agents/triggers/globs.ts'
import { handleTriggers } from '#workers/agents/triggers.ts'
import { payloads, repository } from '../../support/code-host/deliveries.ts'
import { until } from '../../support/until.ts'
import { berth, connect, create, deliver, makeAgent, useTriggers } from './trigger-world.ts'

useTriggers({ decides: false })

const slow = Array.from({ length: 20 }, (_, index) => `**/${'*a*/'.repeat(30)}b${index}`)
const deep = Array.from({ length: 1_000 }, (_, index) => `${'a/'.repeat(247)}x${String(index).padStart(4, '0')}`)

test('patterns that almost match cost an event little, and match once they cost too much', async () => {
  await matchesAny(deep.slice(0, 5), slow) // compiled
  const before = process.cpuUsage()
  expect(await matchesAny(deep, slow)).toBe(true)
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(1_000)
  const many = 'a'.repeat(500)
  const parts = Array.from({ length: 1_000 }, (_, index) => many.slice(0, 490) + index)
  const long = Array.from({ length: 20 }, (_, index) => `*${'a'.repeat(150)}b*${index}x`)
  const start = process.cpuUsage()
  await matchesAny(parts, long)
  const used = process.cpuUsage(start)
  expect((used.user + used.system) / 1000).toBeLessThan(1_000)
})

test('what a large repository changes and filters is still matched exactly', async () => {
  const changed = Array.from(
    { length: 1_000 },
    (_, index) => `services/team-${index % 40}/src/main/java/org/File${index}.java`,
  )
  const wanted = Array.from({ length: 20 }, (_, index) => `**/src/**/*Test${index}*.kt`)
  expect(await matchesAny(changed, wanted)).toBe(false)
  expect(await matchesAny([...changed, 'services/x/src/a/b/OneTest7a.kt'], wanted)).toBe(true)
})

let other: { id: string; repositoryId: number }
beforeAll(async () => {
  const { id } = await create({ repo: 'octocat/other', events: ['issues'] })
  const { rows } = await sql<{
    n: string
  }>`select repository_id as n from triggers where id = ${decodeId('trigger', id)}`.execute(berth.services.db)
  other = { id, repositoryId: Number(rows[0]?.n) }
})

test('a fire of one organization is decided before another’s thirtieth, which came earlier', async () => {
  const greta = await berth.token('greta', 'slow')
  await connect(greta)
  const { id } = await create({ agent: await makeAgent(greta), events: ['push'], filters: { paths: slow } }, greta)
  const push = payloads.push({ commits: [{ id: 'a'.repeat(40), message: 'm', modified: deep.slice(0, 20) }] })
  for (let sent = 0; sent < 30; sent++) await deliver('push', push)
  await deliver('issues', payloads.issues({ repository: repository('octocat/other', other.repositoryId) }))
  await handleTriggers(berth.services)
  await until('all are decided', async () => {
    const { rows } = await sql`select from trigger_fires where status = 'pending'`.execute(berth.services.db)
    return rows.length === 0
  })
  const { rows } = await sql<{ before: string }>`select count(*) as before from trigger_fires
    where trigger_id = ${decodeId('trigger', id)} and finished_at < (select finished_at from trigger_fires where trigger_id = ${decodeId('trigger', other.id)})`.execute(
    berth.services.db,
  )
  expect(Number(rows[0]?.before)).toBeLessThan(15)
})
