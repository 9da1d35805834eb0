/** Something of the owner's in the agents service for the callers to try to reach, each holding the canary. */
import { Readable } from 'node:stream'
import { objectStore } from '#src/drivers/objects.ts'
import { decodeId, encodeId, newId, newUuid } from '#src/platform/ids.ts'
import { change, sql, transaction } from '#src/platform/postgres.ts'
import { triggerLimits } from '#src/resources/agents/triggers/limits.ts'
import { sealSecrets } from '#src/resources/agents/vaults/credentials/rows.ts'
import { lockPerson } from '#src/resources/agents/mcp-services/people.ts'
import { putConnection } from '#src/resources/agents/mcp-services/rows.ts'
import { fileKey } from '#src/resources/agents/files/rows.ts'
import { sealToken } from '#src/resources/agents/sessions/resources/rows.ts'
import { appendEvents } from '#src/resources/agents/sessions/log.ts'
import type { Berth } from '../../support/berth.ts'
import {
  absentGroupsTarget,
  groupsPicture,
  makeGroupsTarget,
  malformedGroupsTarget,
  type GroupsTarget,
} from './groups.ts'
import {
  absentSkillsTarget,
  makeSkillsTarget,
  malformedSkillsTarget,
  skillsPicture,
  type SkillsTarget,
} from './skills.ts'

/** Public ids. */
export type AgentsTarget = {
  agent: string
  environment: string
  vault: string
  agentSchedule: string
  credential: string
  session: string
  sessionResource: string
  event: string
  file: string
  deployment: string
  deploymentRun: string
  trigger: string
  fire: string
  memory: string
  connector: string
  connection: string
  exchange: string
} & SkillsTarget &
  GroupsTarget

/** Ids of the same kinds that nothing has. */
export const absentAgentsTarget = (): AgentsTarget => ({
  agent: newId('agent'),
  environment: newId('environment'),
  vault: newId('vault'),
  agentSchedule: newId('schedule'),
  credential: newId('credential'),
  session: newId('session'),
  sessionResource: newId('sessionResource'),
  event: newId('sessionEvent'),
  file: newId('file'),
  deployment: newId('deployment'),
  deploymentRun: newId('deploymentRun'),
  trigger: newId('trigger'),
  fire: newId('triggerFire'),
  memory: newId('memory'),
  connector: 'nowhere',
  connection: newId('mcpConnection'),
  exchange: newId('peerExchange'),
  ...absentSkillsTarget(),
  ...absentGroupsTarget(),
})
/** Texts that are no ids. */
export const malformedAgentsTarget: AgentsTarget = {
  agent: 'agt_x',
  environment: 'env_x',
  vault: 'vlt_x',
  agentSchedule: 'sch_x',
  credential: 'vcrd_x',
  session: 'sesn_x',
  sessionResource: 'sesrsc_x',
  event: 'sevt_x',
  file: 'file_x',
  deployment: 'depl_x',
  deploymentRun: 'drun_x',
  trigger: 'trg_x',
  fire: 'fire_x',
  memory: 'mem_x',
  connector: 'NOWHERE',
  connection: 'svcn_x',
  exchange: 'pex_x',
  ...malformedSkillsTarget,
  ...malformedGroupsTarget,
}

/** Makes an agent of one version, an environment without a VM, a vault with a credential whose tool server may not be reached, a trigger with a fire, a schedule with a run, an idle session with an event, a file, a memory, a group, and an exchange that has not begun. */
export async function makeAgentsTarget(
  berth: Berth,
  { organizationId, userId }: { organizationId: string; userId: string },
  canary: string,
): Promise<AgentsTarget> {
  const { services } = berth
  const { db, sealer } = services
  const [agentId, environmentId] = [newUuid(), newUuid()]
  const definition = JSON.stringify({
    name: canary,
    description: canary,
    model: { id: 'berth/demo', effort: null, speed: 'standard' },
    system: canary,
    tools: [],
    mcp_servers: [],
    mcp_services: [],
    skills: [],
    metadata: { note: canary },
  })
  await sql`insert into agents (id, organization_id, owner_user_id, version, definition) values (${agentId}, ${organizationId}, ${userId}, 1, ${definition})`.execute(
    db,
  )
  await sql`insert into agent_versions (agent_id, version, definition) values (${agentId}, 1, ${definition})`.execute(
    db,
  )
  const config = JSON.stringify({ type: 'self_hosted' })
  await sql`
    insert into environments (id, organization_id, owner_user_id, name, description, config, metadata, status, event_position)
    values (${environmentId}, ${organizationId}, ${userId}, ${`${canary} ${environmentId}`}, ${canary}, ${config}, ${JSON.stringify({ note: canary })}, 'ready', 1)`.execute(
    db,
  )
  await sql`insert into environment_events (environment_id, position, status) values (${environmentId}, 1, 'ready')`.execute(
    db,
  )
  const [sessionId, eventId] = [newUuid(), newUuid()]
  await sql`
    insert into sessions (id, organization_id, owner_user_id, agent_id, agent_version, agent_definition, kind, source, title, metadata, status)
    values (${sessionId}, ${organizationId}, ${userId}, ${agentId}, 1, ${definition}, 'chat', 'user', ${canary}, ${JSON.stringify({ note: canary })}, 'idle')`.execute(
    db,
  )
  await transaction(db, (tx) =>
    appendEvents(tx, sessionId, [
      { type: 'agent.message', id: eventId, data: { content: [{ type: 'text', text: canary }] } },
    ]),
  )
  const resourceId = newUuid()
  await sql`
    insert into session_resources (id, session_id, type, mount_path, url, checkout, sealed_token)
    values (${resourceId}, ${sessionId}, 'github_repository', ${`/workspace/${canary}`}, ${`https://127.0.0.1/octocat/${canary}`}, ${JSON.stringify({ type: 'branch', name: canary })},
      ${sealToken(sealer, resourceId, canary)})`.execute(db)
  const [vaultId, credentialId] = [newUuid(), newUuid()]
  const auth = { type: 'mcp_oauth', mcp_server_url: `https://127.0.0.1/${canary}`, expires_at: null, refresh: null }
  const sealed = sealSecrets(sealer, credentialId, { access_token: canary, refresh_token: null, client_secret: null })
  await sql`insert into vaults (id, organization_id, owner_user_id, display_name, metadata, event_position) values (${vaultId}, ${organizationId}, ${userId}, ${canary}, ${JSON.stringify({ note: canary })}, 1)`.execute(
    db,
  )
  await sql`insert into vault_events (vault_id, position, type) values (${vaultId}, 1, 'vault.created')`.execute(db)
  await sql`
    insert into vault_credentials (id, vault_id, display_name, auth, key_kind, key, sealed_secrets)
    values (${credentialId}, ${vaultId}, ${canary}, ${JSON.stringify(auth)}, 'mcp_server_url', ${auth.mcp_server_url}, ${sealed})`.execute(
    db,
  )
  const fileId = newUuid()
  const { sizeBytes, sha256 } = await objectStore(services).put(
    fileKey({ organizationId, id: fileId }),
    Readable.from([Buffer.from(canary)]),
    1000,
  )
  await sql`
    insert into files (id, organization_id, owner_user_id, filename, mime_type, size_bytes, sha256, stored_at)
    values (${fileId}, ${organizationId}, ${userId}, ${canary}, 'text/plain', ${sizeBytes}, ${sha256}, now())`.execute(
    db,
  )
  const [deploymentId, runId] = [newUuid(), newUuid()]
  const kickoff = JSON.stringify({
    text: canary,
    events: [{ type: 'user.message', content: [{ type: 'text', text: canary }] }],
  })
  await sql`
    insert into deployments (id, organization_id, owner_user_id, name, description, agent_id, environment_type, kickoff, metadata, status, run_position)
    values (${deploymentId}, ${organizationId}, ${userId}, ${canary}, ${canary}, ${agentId}, 'none', ${kickoff}, ${JSON.stringify({ note: canary })}, 'active', 1)`.execute(
    db,
  )
  await sql`
    insert into deployment_runs (id, deployment_id, organization_id, owner_user_id, position, agent_id, agent_version, error, trigger)
    values (${runId}, ${deploymentId}, ${organizationId}, ${userId}, 1, ${agentId}, 1, ${JSON.stringify({ type: 'unknown_error', message: canary })}, '{"type": "manual"}')`.execute(
    db,
  )
  const [triggerId, deliveryId, fireId] = [newUuid(), newUuid(), newUuid()]
  await sql`
    insert into triggers (id, organization_id, owner_user_id, agent_id, repo, repo_key, events, filters, event_position)
    values (${triggerId}, ${organizationId}, ${userId}, ${agentId}, ${`octocat/${canary}`}, ${`octocat/${triggerId}`}, '{push}',
      ${JSON.stringify({ branches: [canary], paths: null, labels: null, comment_prefix: null, allow_forks: false, allow_bots: false, author_associations: ['OWNER'] })}, 1)`.execute(
    db,
  )
  // The limit of triggers is lower than the number of targets: those of earlier tests make room.
  await sql`
    delete from triggers where organization_id = ${organizationId} and id not in (
      select id from triggers where organization_id = ${organizationId} order by id desc limit ${triggerLimits.triggersMax / 2})`.execute(
    db,
  )
  await sql`insert into trigger_deliveries (id, organization_id, delivery, event, routed, payload) values (${deliveryId}, ${organizationId}, ${deliveryId}, 'push', '{}', ${Buffer.from(JSON.stringify({ note: canary }))})`.execute(
    db,
  )
  await sql`
    insert into trigger_fires (id, trigger_id, organization_id, delivery_row_id, delivery, event, repo, shown, ref, sender, position, status, error, finished_at)
    values (${fireId}, ${triggerId}, ${organizationId}, ${deliveryId}, ${canary}, 'push', ${canary}, true, ${canary}, ${JSON.stringify({ login: canary, type: 'User' })}, 1, 'failed', ${JSON.stringify({ type: 'unknown_error', message: canary })}, now())`.execute(
    db,
  )
  const spaceId = newUuid()
  const memoryId = newUuid()
  await sql`
    insert into memory_spaces (id, organization_id, owner_user_id, memory_count, event_position) values (${spaceId}, ${organizationId}, ${userId}, 1, 1)
    on conflict (organization_id, owner_user_id) do nothing`.execute(db)
  await sql`
    insert into memories (id, space_id, organization_id, owner_user_id, body, category, idempotency_key, request_digest, actor_type, actor_id, author_user_id, source_session_id)
    select ${memoryId}, id, organization_id, owner_user_id, ${canary}, 'fact', ${memoryId}, '', 'agent', ${agentId}, ${userId}, ${sessionId}
    from memory_spaces where organization_id = ${organizationId} and owner_user_id = ${userId}`.execute(db)
  await sql`
    with shared as (insert into memory_spaces (id, organization_id, event_position) values (${newUuid()}, ${organizationId}, 1)
      on conflict (organization_id, owner_user_id) do nothing returning id)
    insert into memory_events (space_id, position, type, memory_id, revision) select id, 1, 'memory.created', ${newUuid()}, 1 from shared`.execute(
    db,
  )
  const connectionId = await makeConnection(berth, organizationId, userId, canary)
  // Of a session that is gone: an open task of the agent's own session would keep the agent from being deleted.
  const [exchangeId, responderId] = [newUuid(), newUuid()]
  await sql`
    with task as (
      insert into session_tasks (id, kind, organization_id, owner_user_id, session_id, status, expires_at)
      values (${exchangeId}, 'peer_exchange', ${organizationId}, ${userId}, ${responderId}, 'queued', now() + interval '1 day')),
    event as (insert into peer_exchange_events (exchange_id, position, status) values (${exchangeId}, 1, 'submitted'))
    insert into peer_exchanges (id, organization_id, owner_user_id, requester_session_id, responder_session_id, turn_id, depth, request_text, file_id, status, expires_at, event_position)
    values (${exchangeId}, ${organizationId}, ${userId}, ${sessionId}, ${responderId}, ${eventId}, 1, ${canary}, ${fileId}, 'submitted', now() + interval '1 day', 1)`.execute(
    db,
  )
  const scheduleId = newUuid()
  await sql`
    insert into schedules (id, organization_id, owner_user_id, agent_id, kickoff, cron, timezone, enabled, overlap, jitter_ms, planned_at, last_error, run_position)
    values (${scheduleId}, ${organizationId}, ${userId}, ${agentId}, ${kickoff}, '0 3 1 1 *', 'UTC', false, 'skip', 0, now(), ${canary}, 1)`.execute(
    db,
  )
  await sql`
    insert into schedule_runs (id, schedule_id, scheduled_at, position, status, error_type, message)
    values (${newUuid()}, ${scheduleId}, now(), 1, 'failed', 'unknown_error', ${canary})`.execute(db)
  return {
    deployment: encodeId('deployment', deploymentId),
    deploymentRun: encodeId('deploymentRun', runId),
    agent: encodeId('agent', agentId),
    environment: encodeId('environment', environmentId),
    vault: encodeId('vault', vaultId),
    agentSchedule: encodeId('schedule', scheduleId),
    credential: encodeId('credential', credentialId),
    session: encodeId('session', sessionId),
    sessionResource: encodeId('sessionResource', resourceId),
    event: encodeId('sessionEvent', eventId),
    file: encodeId('file', fileId),
    trigger: encodeId('trigger', triggerId),
    fire: encodeId('triggerFire', fireId),
    memory: encodeId('memory', memoryId),
    connector: 'linear',
    connection: encodeId('mcpConnection', connectionId),
    exchange: encodeId('peerExchange', exchangeId),
    ...(await makeSkillsTarget(berth, organizationId, userId, canary)),
    ...(await makeGroupsTarget(berth, { organizationId, userId }, { agentId, environmentId, canary })),
  }
}

/** A connection to a service at an address at which it no longer is, in place of the one before, with an event. */
async function makeConnection(
  { services: { db, sealer } }: Berth,
  organizationId: string,
  userId: string,
  canary: string,
): Promise<string> {
  const id = newUuid()
  await transaction(db, async (tx) => {
    const owner = { organizationId, userId }
    const person = await lockPerson(tx, owner)
    await change(tx, sql`delete from mcp_connections where person_id = ${person.id}`)
    await putConnection(
      sealer,
      tx,
      { id, personId: person.id, owner },
      {
        serviceId: 'linear',
        serverUrl: `https://127.0.0.1/${canary}`,
        issuer: `https://127.0.0.1/${canary}`,
        tokenEndpoint: `https://127.0.0.1/${canary}`,
        revocationEndpoint: null,
        clientId: canary,
        clientAuth: 'none',
        resource: null,
        scope: canary,
        expiresAt: null,
        secrets: { access_token: canary, refresh_token: null, client_secret: null },
      },
    )
  })
  return id
}

/** Everything stored of it, as text. */
export async function agentsPicture(berth: Berth, target: AgentsTarget): Promise<string[]> {
  const { agent, environment, vault, agentSchedule, session, file, deployment, trigger, memory, exchange } = target
  const { db } = berth.services
  const agentId = decodeId('agent', agent)
  const environmentId = decodeId('environment', environment)
  const vaultId = decodeId('vault', vault)
  const sessionId = decodeId('session', session)
  const deploymentId = decodeId('deployment', deployment)
  const triggerId = decodeId('trigger', trigger)
  const memoryId = decodeId('memory', memory)
  const scheduleId = decodeId('schedule', agentSchedule)
  const { rows } = await sql<{ row: string }>`
    select 'agent ' || a::text as row from agents a where id = ${agentId} union all select 'version ' || v::text from agent_versions v where agent_id = ${agentId}
    union all select 'environment ' || e::text from environments e where id = ${environmentId} union all select 'environment event ' || e::text from environment_events e where environment_id = ${environmentId}
    union all select 'vault ' || v::text from vaults v where id = ${vaultId} union all select 'credential ' || c::text from vault_credentials c where vault_id = ${vaultId}
    union all select 'session ' || s::text from sessions s where id = ${sessionId} union all select 'session event ' || e::text from session_events e where session_id = ${sessionId}
    union all select 'file ' || f::text from files f where id = ${decodeId('file', file)}
    union all select 'deployment ' || d::text from deployments d where id = ${deploymentId} union all select 'run ' || r::text from deployment_runs r where deployment_id = ${deploymentId}
    union all select 'trigger ' || t::text from triggers t where id = ${triggerId} union all select 'fire ' || f::text from trigger_fires f where trigger_id = ${triggerId}
    union all select 'vault event ' || e::text from vault_events e where vault_id = ${vaultId}
    union all select 'connection ' || c::text from mcp_connections c where id = ${decodeId('mcpConnection', target.connection)}
    union all select 'memory ' || m::text from memories m where id = ${memoryId}
    union all select 'exchange ' || x::text from peer_exchanges x where id = ${decodeId('peerExchange', exchange)}
    union all select 'schedule ' || s::text from schedules s where id = ${scheduleId} union all select 'schedule run ' || r::text from schedule_runs r where schedule_id = ${scheduleId} order by 1`.execute(
    db,
  )
  return [
    ...rows.map(({ row }) => row),
    ...(await skillsPicture(berth, target)),
    ...(await groupsPicture(berth, target)),
  ]
}
