/** Every type of event that endpoints can ask for is emitted by the change that it is about, and by no other. */
import { expect, test } from 'vitest'
import { fromNow, momentAt } from '#src/platform/clock.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { findAll, sql, transaction } from '#src/platform/postgres.ts'
import { addVaultEvent } from '#src/resources/agents/vaults/events.ts'
import { moveBuild } from '#src/resources/infra/builds/states.ts'
import { claimCertificate, recordFailure, recordIssued } from '#src/resources/infra/certificates/claims.ts'
import { moveBackup } from '#src/resources/infra/database-backups/states.ts'
import { moveDatabase } from '#src/resources/infra/databases/states.ts'
import { moveDomain, noteCertificateChange } from '#src/resources/infra/domains/states.ts'
import { moveVm } from '#src/resources/infra/vms/states.ts'
import { webhookEventTypes } from '#src/resources/infra/webhooks/event-types.ts'
import {
  berth,
  create,
  fireOf,
  token,
  useTriggers,
  agent,
  call as callTriggers,
} from '../../agents/triggers/trigger-world.ts'
import { callAgents } from '../../support/agents-service.ts'
import { submit, uuidOf } from '../../support/builds.ts'
import { payloads } from '../../support/code-host/deliveries.ts'
import { databaseUuid, makeDatabase } from '../../support/databases.ts'
import { idsOf, makeSilentNode } from '../../support/makers.ts'
import { startRowWorker } from '../../support/row-worker.ts'
import { append } from '../../support/sessions.ts'
import { webhooksOf } from './receiver.ts'

useTriggers() // with an endpoint that wants everything, made by the first that asks; nothing is delivered

const call = async <Body = { id: string }>(method: string, path: string, body?: unknown): Promise<Body> => {
  const answer = await callAgents<Body>(berth, token, method, path, body)
  expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300)
  return answer.body
}
const mutate = async (text: string): Promise<void> => void (await webhooksOf(berth, token).done(`mutation { ${text} }`))
const changing = <Result>(work: Parameters<typeof transaction<Result>>[1]): Promise<Result> =>
  transaction(berth.services.db, work)
const uuid = (kind: Parameters<typeof decodeId>[0], id: string): string => decodeId(kind, id) ?? ''

/** What changes, by the first word of the types; each answers the others. */
const changes: Readonly<Record<string, () => Promise<string[]>>> = {
  async agent() {
    const { id } = await call('POST', '/agents', { name: 'one', model: 'berth/demo' })
    await call('PATCH', `/agents/${id}`, { version: 1, name: 'two' })
    await call('POST', `/agents/${id}/archive`)
    await call('DELETE', `/agents/${id}`)
    return ['created', 'updated', 'archived', 'deleted']
  },
  async session() {
    const { id } = await call('POST', '/sessions', { agent })
    await call('POST', `/sessions/${id}`, { title: 'new' })
    await append(
      berth.services.db,
      uuid('session', id),
      { type: 'session.status_running' },
      { type: 'session.status_rescheduled' },
      { type: 'session.status_idle', data: { stop_reason: { type: 'requires_action', event_ids: [] } } },
      { type: 'session.status_idle', data: { stop_reason: { type: 'budget_reached' } } },
      { type: 'span.outcome_evaluation_end', data: {} },
    )
    await call('POST', `/sessions/${id}/archive`)
    await call('DELETE', `/sessions/${id}`)
    return [
      ...['created', 'updated', 'status_run_started', 'status_rescheduled', 'status_idled', 'requires_action'],
      ...['status_idled', 'budget_reached', 'outcome_evaluation_ended', 'status_terminated', 'archived', 'deleted'],
    ]
  },
  async deployment() {
    const { id } = await call('POST', '/deployments', { name: 'one', agent, kickoff: 'Go.' })
    await call('POST', `/deployments/${id}`, { name: 'two' })
    await call('POST', `/deployments/${id}/pause`)
    await mutate(`updateDeployment(input: { id: "${id}", status: ACTIVE }) { deployment { id } }`)
    await call('POST', `/deployments/${id}/archive`)
    await call('DELETE', `/deployments/${id}`)
    return ['created', 'updated', 'paused', 'unpaused', 'archived', 'deleted']
  },
  async deployment_run() {
    const { id: own } = await call('POST', '/agents', { name: 'one', model: 'berth/demo' })
    const { id } = await call('POST', '/deployments', { name: 'one', agent: own, kickoff: 'Go.' })
    await call('POST', `/deployments/${id}/run`)
    await call('POST', `/agents/${own}/archive`)
    expect((await callAgents(berth, token, 'POST', `/deployments/${id}/run`)).status).toBe(409)
    return ['started', 'succeeded', 'failed']
  },
  async trigger() {
    const { id } = await create()
    await fireOf(id, 'push', payloads.push())
    await callTriggers('PATCH', `/${id}`, { enabled: false })
    await fireOf(id, 'push', payloads.push())
    return ['fired', 'skipped']
  },
  async environment() {
    const { id } = await call('POST', '/environments', { name: 'one', config: { type: 'cloud' } })
    await mutate(`updateEnvironment(input: { id: "${id}", description: "two" }) { environment { id } }`)
    await call('POST', `/environments/${id}/archive`)
    await call('DELETE', `/environments/${id}`)
    return ['created', 'updated', 'archived', 'deleted']
  },
  async vault() {
    const { id } = await call('POST', '/vaults', { display_name: 'one' })
    await call('POST', `/vaults/${id}/archive`)
    await call('DELETE', `/vaults/${id}`)
    return ['created', 'archived', 'deleted']
  },
  async vault_credential() {
    const { id: vault } = await call('POST', '/vaults', { display_name: 'one' })
    const auth = { type: 'static_bearer', mcp_server_url: 'https://example.com/mcp', token: 'x' }
    const { id } = await call('POST', `/vaults/${vault}/credentials`, { display_name: 'two', auth })
    await changing((tx) =>
      addVaultEvent(tx, uuid('vault', vault), 'vault_credential.refresh_failed', uuid('credential', id)),
    )
    await call('POST', `/vaults/${vault}/credentials/${id}/archive`)
    await call('DELETE', `/vaults/${vault}/credentials/${id}`)
    return ['created', 'refresh_failed', 'archived', 'deleted']
  },
  async vm() {
    await startRowWorker(berth.services, { memoryMb: 65_536 })
    const make = async (): Promise<string> =>
      (await berth.call<{ vm_id: string }>('POST', '/api/v1/vms', { token, body: {} })).body.vm_id
    const one = await make()
    for (const to of [
      'pausing',
      'paused',
      'resuming',
      'running',
      'stopping',
      'stopped',
      'error',
      'deleting',
      'deleted',
    ] as const)
      expect(await moveVm(berth.services.db, berth.services, uuid('vm', one), to)).toBeDefined()
    return ['created', 'running', 'paused', 'running', 'stopped', 'error', 'deleted']
  },
  async database() {
    const { id } = await makeDatabase(berth, token, await makeSilentNode(berth.services.db), { status: 'deleted' })
    for (const to of ['creating', 'active', 'error', 'deleting', 'deleted'] as const)
      expect(
        await moveDatabase(berth.services.db, berth.services, databaseUuid(id), to, { withoutJob: true }),
      ).toBeDefined()
    return ['created', 'active', 'error', 'deleted']
  },
  async backup() {
    const { db } = berth.services
    const { id } = await makeDatabase(berth, token, await makeSilentNode(db))
    const stored = sql`completed_at = now(), sha256 = repeat('a', 64)`
    for (const [to, set] of [
      ['completed', stored],
      ['failed', undefined],
    ] as const) {
      const backup = newUuid()
      await sql`insert into database_backups (id, organization_id, database_id, status, triggered_by, event_position)
        values (${backup}, ${idsOf(token).organizationId}, ${databaseUuid(id)}, 'running', 'manual', 1)`.execute(db)
      expect(await moveBackup(db, backup, to, set)).toBeDefined()
    }
    return ['completed', 'failed']
  },
  async build() {
    const ending = sql`finished_at = now(), log_end_ms = 1, log_end_seq = 1`
    const nodeId = await makeSilentNode(berth.services.db)
    for (const to of ['succeeded', 'failed', 'cancelled'] as const) {
      const build = uuidOf(await submit(berth, token))
      await changing((tx) => moveBuild(tx, build, 'running', sql`node_id = ${nodeId}, started_at = now()`))
      expect(await changing((tx) => moveBuild(tx, build, to, ending))).toBeDefined()
    }
    return ['succeeded', 'failed', 'cancelled']
  },
  async domain() {
    const [{ db }, id, name, { organizationId }] = [berth.services, newUuid(), 'told.example.test', idsOf(token)]
    await sql`insert into domains (id, organization_id, name, status, verification_token, pending_since) values (${id}, ${organizationId}, ${name}, 'pending', ${'a'.repeat(32)}, now())`.execute(
      db,
    )
    for (const to of ['verified', 'active'] as const) await changing((tx) => moveDomain(tx, { id }, to))
    await endCertificate(organizationId, id, name)
    await changing((tx) => moveDomain(tx, { id }, 'failed'))
    return ['verified', 'active', 'certificate_expiring', 'certificate_expiring', 'failed']
  },
  async webhook_endpoint() {
    const mine = webhooksOf(berth, token)
    const { webhookEndpoint } = await mine.create({ url: 'https://example.com/test', eventTypes: ['BUILD_FAILED'] })
    await mine.test(webhookEndpoint.id)
    return ['test']
  },
}

/** A certificate of ninety days that ends in ten is told of at the first failure, and again only after it was renewed. */
async function endCertificate(organizationId: string, domainId: string, host: string): Promise<void> {
  const { db } = berth.services
  const id = newUuid()
  await sql`insert into certificates (id, organization_id, domain_id, host, status, issuer, not_before, not_after, next_attempt_at)
    values (${id}, ${organizationId}, ${domainId}, ${host}, 'issued', 'https://acme.example/dir', now() - interval '60 days', now() + interval '30 days', now())`.execute(
    db,
  )
  const failure = { reason: 'It is away.', endsOrder: true, counts: true }
  const attempt = async (daysLeft: number): Promise<void> => {
    await sql`update certificates set not_after = now() + ${daysLeft} * interval '1 day', next_attempt_at = now(), claimed_until = null where id = ${id}`.execute(
      db,
    )
    const claimed = await claimCertificate(db, id)
    if (!claimed) throw new Error('the certificate is not due')
    expect(await recordFailure(db, claimed, failure, noteCertificateChange)).toBe(true)
  }
  for (const daysLeft of [30, 15, 13, 12]) await attempt(daysLeft)
  await sql`update certificates set next_attempt_at = now() where id = ${id}`.execute(db)
  const claimed = await claimCertificate(db, id)
  if (!claimed) throw new Error('the certificate is not due')
  const issued = {
    issuer: 'https://acme.example/dir',
    chain: 'x',
    sealedKey: Buffer.from('x'),
    notBefore: momentAt(Date.now()),
    notAfter: fromNow(90 * 86_400_000),
  }
  await recordIssued(db, claimed, issued, noteCertificateChange)
  for (const daysLeft of [13, -1]) await attempt(daysLeft)
}

test.each(Object.keys(changes))('what happens to a %s is told, each change once', async (noun) => {
  const { db } = berth.services
  await sql`delete from webhook_endpoints`.execute(db)
  await webhooksOf(berth, token).create({ url: 'https://example.com/all' })
  await sql`delete from webhook_events`.execute(db)
  const types = await changes[noun]?.()
  const told = await findAll<{ type: string }>(db, sql`select type from webhook_events where type like ${`${noun}.%`}`)
  expect(told.map(({ type }) => type).toSorted()).toEqual(types?.map((type) => `${noun}.${type}`).toSorted())
  for (const type of types ?? []) seen.add(`${noun}.${type}`)
})
const seen = new Set<string>()

test('there is no type but these', () => {
  expect(Object.keys(webhookEventTypes).toSorted()).toEqual([...seen].toSorted())
})
