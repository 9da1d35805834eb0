/** Triggers that get another repository while an event of the one before waits. */
import { expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { decideFire } from '#src/resources/agents/triggers/fires.ts'
import { payloads } from '../../support/code-host/deliveries.ts'
import { berth, call, connect, create, deliver, firesOf, host, makeAgent, useTriggers } from './trigger-world.ts'

useTriggers({ decides: false })

test('an event that waits is not told to somebody who points the trigger to another repository meanwhile', async () => {
  const frank = await berth.token('frank', 'acme', 'member')
  await connect(frank)
  const { id } = await create({ agent: await makeAgent(frank), events: ['push'] }, frank)
  host.fail('/api/v3/repos/octocat/site', (response) => response.writeHead(404).end('{}'))
  await sql`update triggers set access_checked_at = now() - interval '6 minutes'`.execute(berth.services.db)
  expect((await deliver('push', payloads.push())).body['fires']).toBe(1)
  expect((await call('PATCH', `/${id}`, { repo: 'octocat/other' }, frank)).status).toBe(200)
  const { rows } = await sql<{
    id: string
  }>`select id from trigger_fires where trigger_id = ${decodeId('trigger', id)}`.execute(berth.services.db)
  await decideFire(berth.services, rows[0]?.id ?? '')
  host.heal()
  expect(await firesOf(id, frank)).toMatchObject([
    { status: 'failed', session_id: null, ref: null, sender: null, error: { type: 'repository_access_error' } },
  ])
  const graph = await berth.ask(`{ trigger(id: "${id}") { fires { nodes { payload } } } }`, { token: frank })
  expect(graph.body.data).toMatchObject({ trigger: { fires: { nodes: [{ payload: null }] } } })
})
