/** The fresh VMs of sessions that started by themselves: deleted when the run is over, and not before. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { findOne, getOne, sql, transaction } from '#src/platform/postgres.ts'
import { endVmsOfRuns } from '#src/resources/agents/environments/ended-runs.ts'
import { createEphemeralEnvironment } from '#src/resources/agents/environments.ts'
import { findVmRow } from '#src/resources/infra/vms/rows.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf, makeSilentNode, makeVmRow } from '../../support/makers.ts'

let berth: Berth
let token: string
let node: string
let agent: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
  const made = await berth.call<{ id: string }>('POST', '/agents/v1/agents', {
    token,
    body: { name: 'a', model: 'berth/demo' },
  })
  agent = made.body.id
})
afterAll(() => berth.stop())

type State = {
  source?: string
  status?: string
  stop?: string | null
  used?: string
  environmentStatus?: string
  fresh?: boolean
}
/** A session in such a state, in an environment with a running VM; whether the VM is left once the ended ones are deleted. */
async function isLeft(state: State): Promise<boolean> {
  const {
    source = 'schedule',
    status = 'idle',
    stop = 'end_turn',
    used = '1 minute',
    environmentStatus = 'ready',
    fresh = true,
  } = state
  const { db } = berth.services
  const owner = idsOf(token)
  const scope = { ...owner, role: 'member' as const, keyId: null, vmId: null }
  const environment = await transaction(db, (tx) => createEphemeralEnvironment(tx, scope))
  const vm = await makeVmRow(db, token, node)
  const vmId = decodeId('vm', vm) ?? ''
  await sql`update environments set vm_id = ${vmId}, prepared_vm_id = ${vmId}, ephemeral = ${fresh}, status = ${environmentStatus}, used_at = now() - ${used}::interval where id = ${environment.id}`.execute(
    db,
  )
  const begun = await berth.call<{ id: string }>('POST', '/agents/v1/sessions', {
    token,
    body: { agent, environment_id: encodeId('environment', environment.id) },
  })
  const stopReason = stop === null ? null : JSON.stringify({ type: stop, event_ids: [newUuid()] })
  await sql`update sessions set source = ${source}, status = ${status}, stop_reason = ${stopReason}::jsonb, running_since = ${status === 'running' ? sql`now()` : sql`null`}
    where id = ${decodeId('session', begun.body.id)}`.execute(db)
  await endVmsOfRuns(berth.services)
  await endVmsOfRuns(berth.services) // again changes nothing
  const after = await findOne<{ vmId: string | null }>(
    db,
    sql`select vm_id from environments where id = ${environment.id}`,
  )
  const row = await findVmRow(db, vmId)
  expect(after?.vmId === null, 'the environment has forgotten it').toBe(row?.desiredStatus === 'deleted')
  return after?.vmId !== null
}

test.each<[string, State]>([
  ['a schedule started', {}],
  ['a deployment started', { source: 'deployment' }],
  ['a trigger started', { source: 'trigger' }],
  ['has given up', { stop: 'retries_exhausted' }],
  ['has reached its budget', { stop: 'budget_reached' }],
  ['never had anything to do', { stop: null }],
  ['could not be prepared', { environmentStatus: 'error' }],
])('the VM of a session that is over is deleted: one that %s', async (_, state) => {
  expect(await isLeft(state)).toBe(false)
})

test.each<[string, State]>([
  ['is at work', { status: 'running', stop: null }],
  ['tries again later', { status: 'rescheduling', stop: null }],
  ['waits for an answer', { stop: 'requires_action' }],
  ['was at work a moment ago', { used: '5 seconds' }],
  ['a person started', { source: 'run' }],
  ['is being prepared', { environmentStatus: 'provisioning' }],
  ['works in a person’s own environment', { fresh: false }],
])('the VM of a session stays: of one that %s', async (_, state) => {
  expect(await isLeft(state)).toBe(true)
})

test('environments of single runs do not count among the organization’s own', async () => {
  const { organizationId } = idsOf(token)
  const { count } = await getOne<{ count: number }>(
    berth.services.db,
    sql`select count(*) from environments where organization_id = ${organizationId} and ephemeral`,
  )
  expect(count).toBeGreaterThan(5)
  const scope = { ...idsOf(token), role: 'member' as const, keyId: null, vmId: null }
  await sql`insert into environments (id, organization_id, owner_user_id, name, config, status, ephemeral)
    select gen_random_uuid(), ${organizationId}, ${scope.userId}, 'own-' || n, '{"type": "self_hosted"}', 'ready', false from generate_series(1, 10000) n`.execute(
    berth.services.db,
  )
  const full = await berth.call('POST', '/agents/v1/environments', { token, body: { name: 'one more' } })
  expect(full.status).toBe(429)
  const made = await transaction(berth.services.db, (tx) => createEphemeralEnvironment(tx, scope))
  expect(made.ephemeral).toBe(true)
})
