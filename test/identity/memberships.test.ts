/** What a process remembers of memberships. */
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { createMembershipChecker } from '#src/resources/identity/memberships.ts'
import { startApp, type RunningApp } from '../gateway/running-app.ts'
import { idsOf } from '../support/makers.ts'
import { until } from '../support/until.ts'

let running: RunningApp
beforeAll(async () => {
  running = await startApp()
})
afterAll(() => running.stop())

test('a value that was read while a notice came is not cached: it may be older than the change', async () => {
  const { db, database } = running.services
  const text = await running.token('olga', 'quick')
  const [claim] = decodeJwt<{ org_memberships: { membership_id: string }[] }>(text).org_memberships
  const id = decodeId('membership', claim?.membership_id ?? '') ?? ''
  const { organizationId, userId } = idsOf(text)
  const token = {
    userId,
    issuedAtSeconds: 0,
    memberships: [{ membershipId: id, organizationId, role: 'owner' as const }],
  }
  let notice: ((id: string | null) => void) | undefined
  const checker = createMembershipChecker(db, {
    connected: true,
    listen: (_topic, onNotice) => void (notice = onNotice),
  })
  const client = await database.pool.connect()
  await client.query('begin')
  await client.query('lock table memberships in access exclusive mode')
  const checking = checker.check(token)
  await until(
    'the check waits',
    async () =>
      (
        await database.pool.query(
          "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%from memberships m%' and datname = current_database()",
        )
      ).rowCount === 1,
  )
  notice?.(id)
  await client.query('commit')
  client.release()
  await checking
  await database.pool.query('update memberships set deactivated_at = now() where id = $1', [id])
  await expect(Promise.resolve(checker.check(token))).rejects.toMatchObject({ code: 'authentication_invalid' })
})
