/** The ten kinds of caller (the issue's list), and a VM of the first one's organization for them to try. */
import { decodeJwt } from 'jose'
import { nowMs } from '#src/platform/clock.ts'
import { encodeId, decodeId, newUuid } from '#src/platform/ids.ts'
import { sql, type Db } from '#src/platform/postgres.ts'
import { appendBuildLog } from '#src/resources/infra/builds/logs.ts'
import { readSpec, sealSpec } from '#src/resources/infra/builds/specs.ts'
import { deactivateMembership } from '#src/resources/identity/memberships.ts'
import { makeApiKey } from '#src/resources/identity/api-keys.ts'
import type { Berth } from '../support/berth.ts'
import { claimOf } from '../support/builds.ts'
import { makeDatabase } from '../support/databases.ts'
import { idsOf, makeKey, makeVmRow } from '../support/makers.ts'
import { agentsPicture, makeAgentsTarget, type AgentsTarget } from './targets/agents.ts'
import { makeNounsTarget, nounsPicture, type NounsTarget } from './targets/nouns.ts'
import { makeWebhooksTarget, webhooksPicture, type WebhooksTarget } from './targets/webhooks.ts'
import { startStubNode } from './stub-node.ts'

/** Who calls. `member`: another user of the owner's organization; `stranger`: the owner of another organization. */
export const callerNames = [
  'none',
  'garbage',
  'expired',
  'deactivated',
  'owner',
  'member',
  'viewer',
  'stranger',
  'keyWithout',
  'keyWith',
] as const
export type CallerName = (typeof callerNames)[number]
/** Each caller's bearer credential. */
export type Callers = Readonly<Record<CallerName, string | undefined>> & {
  readonly owner: string
  readonly stranger: string
}

/** Text that only the owner's organization may read; it stands in everything that its VMs hold. */
export const canary = 'canary-8d2f61'
const expiredSeconds = -3600

/** Makes all ten. */
export async function makeCallers(berth: Berth): Promise<Callers> {
  const owner = await berth.token('alice', 'acme', 'owner')
  const key = async (scopes: readonly string[]): Promise<string> => (await makeKey(berth, owner, { scopes })).key
  const deactivated = await berth.token('quentin', 'acme', 'owner')
  const memberships = decodeJwt<{ org_memberships: { membership_id: string }[] }>(deactivated).org_memberships
  await deactivateMembership(berth.services.db, decodeId('membership', memberships[0]?.membership_id ?? '') ?? '')
  return {
    none: undefined,
    garbage: 'not.a.token',
    expired: await berth.token('alice', 'acme', 'owner', expiredSeconds),
    deactivated,
    owner,
    member: await berth.token('martha', 'acme', 'member'),
    viewer: await berth.token('victor', 'acme', 'viewer'),
    stranger: await berth.token('mallory', 'evil', 'owner'),
    keyWithout: await key(['models:read', 'chat:stateless', 'agents:use']),
    keyWith: await key(['compute:use']),
  }
}

/** Something of the owner's to try to reach: public ids. */
export type Target = {
  vm: string
  process: string
  terminal: string
  folder: string
  database: string
  backup: string
  restore: string
  schedule: string
  proxy: string
  domain: string
  function: string
  functionVersion: string
  externalRef: string
  build: string
  secret: string
  organization: string
  apiKey: string
  membership: string
} & NounsTarget &
  AgentsTarget &
  WebhooksTarget

/** A path, body or arguments with the target's ids in the places of `{vm}`, `{vm_id}` and so on; `{id}` is that of what `of` names. */
export function fill(
  text: string,
  target: Target,
  of: 'build' | 'proxy' | keyof NounsTarget | keyof AgentsTarget = 'build',
): string {
  const names: Readonly<Record<string, string>> = {
    ...target,
    vm_id: target.vm,
    process_id: target.process,
    db_id: target.database,
    backup_id: target.backup,
    org: target.organization,
    org_id: target.organization,
    function_id: target.function,
    folder_id: target.folder,
    version: target.functionVersion,
    ref: target.externalRef,
    external_ref: target.externalRef,
    key: 'KEPT',
    id: target[of],
    model: 'berth%2Fdemo',
    provider: 'berth',
    name: 'demo',
    owner: 'octocat',
    repo: 'hello-world',
    apikey: target.apiKey,
    agent_schedule: target.agentSchedule,
    cid: target.credential,
    rid: target.sessionResource,
    vid: target.skillVersion,
    webhook_event: target.webhookEvent,
    run_id: target.groupRun,
    approval_id: target.approval,
    tool_call_id: target.question,
    fresh: newUuid(),
  }
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => names[name] ?? whole)
}

/**
 * A node that refuses whatever it is asked and has no disk left, so that nothing here makes a real VM. It answers at once:
 * one that did not listen would be waited for.
 */
export async function makeRefusingNode({ services: { db } }: Pick<Berth, 'services'>): Promise<string> {
  const node = await startStubNode(db)
  node.answer = { refuse: 502, code: 'vm_unreachable', message: 'The VM’s node refuses whatever it is asked.' }
  await sql`update nodes set name = 'refusing', memory_mb = 1000000000, disk_mb = 1, heartbeat_at = now() + interval '1 hour' where id = ${node.id}`.execute(
    db,
  )
  return node.id
}

/** A running VM of the owner with a variable, a process and a folder, each holding the canary. */
export async function makeTarget(berth: Berth, owner: string, nodeId: string): Promise<Target> {
  const { db, sealer } = berth.services
  const { organizationId, userId } = idsOf(owner)
  const [vmId, processId, terminalId, folderId] = [newUuid(), newUuid(), newUuid(), newUuid()]
  const externalRef = `${canary}-${vmId}`
  const vm = await makeVmRow(db, owner, nodeId, { id: vmId })
  await sql`update vms set name = ${canary}, external_ref = ${externalRef}, metadata = ${JSON.stringify({ note: canary })} where id = ${vmId}`.execute(
    db,
  )
  await sql`insert into vm_env (vm_id, key, source, visibility, sealed_value) values (${vmId}, 'KEPT', 'user', 'plaintext', ${sealer.seal(canary, `vm_env.value:${vmId}:user:KEPT`)})`.execute(
    db,
  )
  await sql`insert into vm_processes (id, vm_id, command, status) values (${processId}, ${vmId}, ${canary}, 'running')`.execute(
    db,
  )
  await sql`insert into terminals (id, organization_id, vm_id, command, columns, rows, status, finished_at) values (${terminalId}, ${organizationId}, ${vmId}, ${canary}, 80, 24, 'exited', now())`.execute(
    db,
  )
  await sql`insert into folders (id, organization_id, user_id, name, node_id, size_mb) values (${folderId}, ${organizationId}, ${userId}, ${canary}, ${nodeId}, 10240)`.execute(
    db,
  )
  const membershipId = newUuid()
  await sql`with person as (insert into users (id, name) values (${newUuid()}, ${`${canary} ${membershipId}`}) returning id) insert into memberships (id, organization_id, user_id, role) select ${membershipId}, ${organizationId}, id, 'viewer' from person`.execute(
    db,
  )
  const expired = '2020-01-01T00:00:00.000Z' // so that the many targets of a test are not too many keys
  const { keyId } = await makeApiKey(db, {
    organizationId,
    createdBy: userId,
    name: canary,
    prefix: berth.services.config.apiKeyPrefix,
    expiresAt: expired,
  })
  await makeSettledRequest(berth, organizationId, keyId)
  return {
    apiKey: keyId,
    membership: encodeId('membership', membershipId),
    vm,
    process: encodeId('process', processId),
    terminal: encodeId('terminal', terminalId),
    folder: encodeId('folder', folderId),
    proxy: await makeProxyTarget(db, organizationId, vmId),
    ...(await makeDatabaseTarget(berth, owner, nodeId)),
    ...(await makeNounsTarget(db, organizationId, canary)),
    domain: await makeDomainTarget(berth, organizationId),
    ...(await makeFunctionTarget(berth, owner)),
    externalRef,
    organization: encodeId('organization', organizationId),
    ...(await makeBuildTarget(berth, organizationId, nodeId)),
    ...(await makeAgentsTarget(berth, { organizationId, userId }, canary)),
    ...(await makeWebhooksTarget(berth, organizationId, canary)),
  }
}

/** A proxy entry of the VM, and its route. */
async function makeProxyTarget(db: Db, organizationId: string, vmId: string): Promise<string> {
  const earlier = sql`service_name = ${canary} and created_at < now() - interval '5 seconds'` // so that the many targets of a test are not too many entries
  await sql`delete from proxies where organization_id = ${organizationId} and ${earlier}`.execute(db)
  const id = newUuid()
  const host = `${canary}-${id}.berth.localhost`
  await sql`insert into proxies (id, organization_id, vm_id, service_name, vm_port, deployment_type, host, path, wakes) values (${id}, ${organizationId}, ${vmId}, ${canary}, 80, 'vm', ${host}, '/', false)`.execute(
    db,
  )
  await sql`insert into routes (id, organization_id, kind, host, vm_id, vm_port) values (${id}, ${organizationId}, 'proxy', ${host}, ${vmId}, 80)`.execute(
    db,
  )
  return encodeId('proxy', id)
}

/** A function with a version, a variable and a line in its log. */
async function makeFunctionTarget(
  { services: { db, sealer } }: Berth,
  owner: string,
): Promise<Pick<Target, 'function' | 'functionVersion'>> {
  const { organizationId, userId } = idsOf(owner)
  const [id, versionId] = [newUuid(), newUuid()]
  const earlier = sql`status_reason = ${canary} and created_at < now() - interval '5 seconds'` // so that the many targets of a test are not too many functions
  await sql`update functions set status = 'deleted' where organization_id = ${organizationId} and ${earlier}`.execute(
    db,
  )
  const variables = sealer.seal(JSON.stringify({ KEPT: canary }), `functions.variables:${id}`)
  await sql`insert into functions (id, organization_id, user_id, name, host, status, status_reason, event_position, version_id, versions_made, sealed_variables, vcpu_count, memory_mb, idle_seconds)
    values (${id}, ${organizationId}, ${userId}, ${`f-${id}`}, ${`f-${id}.localhost`}, 'stopped', ${canary}, 1, ${versionId}, 1, ${variables}, 2, 2048, 300)`.execute(
    db,
  )
  await sql`insert into function_versions (id, function_id, organization_id, number, object_key, binary_url, start_command, port) values (${versionId}, ${id}, ${organizationId}, 1, 'x', ${canary}, ${canary}, 8080)`.execute(
    db,
  )
  await sql`insert into function_events (function_id, position, status, status_reason, version_number) values (${id}, 1, 'stopped', ${canary}, 1)`.execute(
    db,
  )
  await sql`insert into function_logs (function_id, position, bytes) values (${id}, 1, 10)`.execute(db)
  await sql`insert into function_log_lines (function_id, position, version_number, output) values (${id}, 1, 1, ${canary})`.execute(
    db,
  )
  return { function: encodeId('function', id), functionVersion: encodeId('functionVersion', versionId) }
}

/** A database with a measurement, a backup, a restore and a schedule. */
async function makeDatabaseTarget(
  berth: Berth,
  owner: string,
  nodeId: string,
): Promise<Pick<Target, 'database' | 'backup' | 'restore' | 'schedule'>> {
  const name = `${canary}-${newUuid()}`
  const { id } = await makeDatabase(berth, owner, nodeId, { name })
  await sql`insert into database_metrics (database_id, connections, size_bytes, transactions, rolled_back, rows_read, rows_written, blocks_hit, blocks_read, deadlocks)
    values (${decodeId('database', id)}, 1, 1, 1, 0, 1, 1, 1, 0, 0)`.execute(berth.services.db)
  return { database: id, ...(await makeBackupTarget(berth, id)) }
}

/** An active domain. */
async function makeDomainTarget({ services: { db } }: Berth, organizationId: string): Promise<string> {
  const id = newUuid()
  await sql`insert into domains (id, organization_id, name, status, status_reason, verification_token, event_position)
    values (${id}, ${organizationId}, ${`${id}.example.test`}, 'active', ${canary}, ${id.replaceAll('-', '')}, 1)`.execute(
    db,
  )
  await sql`insert into domain_events (domain_id, position, status, status_reason) values (${id}, 1, 'active', ${canary})`.execute(
    db,
  )
  return encodeId('domain', id)
}

/** A completed backup of a database, a restore that has ended, and a schedule. */
async function makeBackupTarget(
  { services: { db } }: Berth,
  database: string,
): Promise<Pick<Target, 'backup' | 'restore' | 'schedule'>> {
  const [databaseId, backupId, restoreId, scheduleId] = [
    decodeId('database', database),
    newUuid(),
    newUuid(),
    newUuid(),
  ]
  const owner = sql`(select organization_id from databases where id = ${databaseId})`
  await sql`insert into database_backups (id, organization_id, database_id, status, triggered_by, pg_version, sha256, completed_at, event_position)
    values (${backupId}, ${owner}, ${databaseId}, 'completed', 'manual', ${canary}, repeat('a', 64), now(), 1)`.execute(
    db,
  )
  await sql`insert into database_backup_events (backup_id, position, status, stored_bytes, error) values (${backupId}, 1, 'completed', 0, ${canary})`.execute(
    db,
  )
  await sql`insert into database_restores (id, organization_id, database_id, backup_id, number, status, error, backup_bytes, finished_at, event_position)
    values (${restoreId}, ${owner}, ${databaseId}, ${backupId}, 1, 'failed', ${canary}, 0, now(), 1)`.execute(db)
  await sql`insert into database_restore_events (restore_id, position, status, step, loaded_bytes, error) values (${restoreId}, 1, 'failed', 'load', 0, ${canary})`.execute(
    db,
  )
  await sql`insert into backup_schedules (id, organization_id, database_id, cron, timezone, last_error, next_run_at)
    values (${scheduleId}, ${owner}, ${databaseId}, '0 3 * * *', 'UTC', ${canary}, now() + interval '1 day')`.execute(
    db,
  )
  return {
    backup: encodeId('backup', backupId),
    restore: encodeId('restore', restoreId),
    schedule: encodeId('backupSchedule', scheduleId),
  }
}

/** A request to a model that the ledger has. */
async function makeSettledRequest({ services: { db } }: Berth, organizationId: string, keyId: string): Promise<void> {
  await sql`
    with numbered as (update inference_accounts set settled_position = settled_position + 1 where organization_id = ${organizationId} returning settled_position)
    insert into inference_requests (organization_id, id, key_id, model, route, status, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nano_usd, process_id, settled_position, started_at, ended_at)
    select ${organizationId}, ${newUuid()}, ${keyId}, ${canary}, 'chat', 'completed', 1, 1, 0, 0, 0, 0, ${newUuid()}, settled_position, now(), now() from numbered`.execute(
    db,
  )
}

/** A running build with a line in its log, and a build secret. */
async function makeBuildTarget(
  { services: { db, sealer } }: Berth,
  organizationId: string,
  nodeId: string,
): Promise<Pick<Target, 'build' | 'secret'>> {
  const id = newUuid()
  const secret = 'KEPT'
  const spec = sealSpec(sealer, id, readSpec({ env: { A: canary } }))
  await sql`
    insert into build_jobs (id, organization_id, status, repo_url, sealed_spec, template_id, vcpu_count, memory_mb, timeout_seconds, output_type, output_name, node_id, started_at, event_position)
    values (${id}, ${organizationId}, 'running', ${`https://example.com/${canary}`}, ${spec}, '00000000-0000-7000-8000-000000000001', 2, 2048, 60, 'artifact', ${canary}, ${nodeId}, now(), 1)`.execute(
    db,
  )
  await sql`insert into build_events (job_id, position, status, cancel_requested) values (${id}, 1, 'running', false)`.execute(
    db,
  )
  await appendBuildLog(db, await claimOf(db, id), [{ ms: nowMs(), seq: 0, output: canary }])
  await sql`insert into build_secrets (organization_id, name, sealed_value) values (${organizationId}, ${secret}, ${sealer.seal(canary, `build_secrets.value:${organizationId}:${secret}`)})
    on conflict do nothing`.execute(db)
  return { build: encodeId('build', id), secret }
}

/** Everything stored of the target, as text: equal before and after means that nothing was changed. */
export async function picture(
  berth: Berth,
  {
    vm,
    folder,
    database,
    backup,
    restore,
    schedule,
    proxy,
    domain,
    build,
    secret,
    apiKey,
    membership,
    ...others
  }: Target,
): Promise<string> {
  const vmId = decodeId('vm', vm)
  const buildId = decodeId('build', build)
  const { rows } = await sql<{ row: string }>`
    select 'vm ' || v::text as row from vms v where id = ${vmId} union all select 'env ' || e::text from vm_env e where vm_id = ${vmId}
    union all select 'process ' || p::text from vm_processes p where vm_id = ${vmId} union all select 'event ' || e::text from vm_events e where vm_id = ${vmId}
    union all select 'terminal ' || t::text from terminals t where vm_id = ${vmId} union all select 'ticket ' || encode(k.digest, 'hex') from terminal_tickets k join terminals t on t.id = k.terminal_id where t.vm_id = ${vmId} union all select 'tunnel ' || encode(k.digest, 'hex') from tunnel_tickets k where k.vm_id = ${vmId}
    union all select 'folder ' || f::text from folders f where id = ${decodeId('folder', folder)}
    union all select 'backup ' || b::text from database_backups b where database_id = ${decodeId('database', database)} union all select 'restore ' || r::text from database_restores r where id = ${decodeId('restore', restore)}
    union all select 'schedule ' || s::text from backup_schedules s where id = ${decodeId('backupSchedule', schedule)} union all select 'its ' || e::text from database_backup_events e where backup_id = ${decodeId('backup', backup)}
    union all select 'database ' || d::text from databases d where id = ${decodeId('database', database)}
    union all select 'proxy ' || p::text from proxies p where id = ${decodeId('proxy', proxy)} union all select 'route ' || r::text from routes r where vm_id = ${vmId}
    union all select 'domain ' || d::text from domains d where id = ${decodeId('domain', domain)} union all select 'its route ' || r::text from routes r where id = ${decodeId('domain', domain)}
    union all select 'build ' || b::text from build_jobs b where id = ${buildId} union all select 'build event ' || e::text from build_events e where job_id = ${buildId}
    union all select 'line ' || l::text from build_log_lines l where job_id = ${buildId} union all select 'secret ' || s::text from build_secrets s where name = ${secret}
    union all select 'key ' || k::text from api_keys k where key_id = ${apiKey} union all select 'membership ' || m::text from memberships m where id = ${decodeId('membership', membership)}
    union all select 'budget ' || b::text from inference_key_budgets b where key_id = ${apiKey} union all select 'account ' || concat_ws(',', a.plan, a.monthly_budget_nano_usd) from inference_accounts a join api_keys k using (organization_id) where k.key_id = ${apiKey} order by 1`.execute(
    berth.services.db,
  )
  return [
    ...rows.map(({ row }) => row),
    ...(await nounsPicture(berth.services.db, others)),
    ...(await agentsPicture(berth, others)),
    ...(await webhooksPicture(berth, others)),
  ].join('\n')
}
