/** What a session starts with: its agent, environment and vaults, as a request names them. */
import type { RawBuilder } from 'kysely'
import { z } from 'zod'
import { closedToVmTokens, ownedByCaller, type Scope } from '#src/platform/access.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { change, findAll, findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Services } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { changeDefinition, type AgentFields } from '#src/resources/agents/agents/definitions.ts'
import { findAgentVersion, readAgent, type AgentDefinition } from '#src/resources/agents/agents/rows.ts'
import { environmentArchived, readEnvironment, type Environment } from '#src/resources/agents/environments/rows.ts'
import type { ResourceOrder } from '#src/resources/agents/sessions/resources/orders.ts'
import { readMetadata, readShape, readText, type Metadata, type MetadataInput } from '#src/platform/shapes/fields.ts'
import { pinSkills } from '#src/resources/agents/skills/sessions.ts'
import { readSession, type Session, type SessionSource } from './rows.ts'
import { vaultArchived } from '#src/resources/agents/vaults/rows.ts'

/** The agent of a session: one of the caller's, or one of Berth's own, by name. */
export type SessionAgent = {
  agentId: string | null
  builtinAgent: string | null
  version: number
  definition: AgentDefinition
}

/** What starting a session needs of a process. */
export type StartServices = Pick<Services, 'config' | 'jobs' | 'sealer'>

/** What a session starts with, besides its agent; ids are uuids. */
export type SessionPlan = {
  environmentId: string | null
  vaultIds: string[]
  title: string | null
  metadata: Metadata
  budgetNanoUsd: number | null
  /** The sessions against whose budgets its cost counts as well. */
  spendsFrom?: readonly string[]
  source: SessionSource
  deploymentId?: string | null
  resources?: readonly ResourceOrder[]
}

const reference = z.object({ id: z.string(), version: z.int().min(1).nullish() })

/** An agent as a request names it; without a version the newest. */
export type AgentReference = { id: string; version?: number | null }
type Overrides = Pick<AgentFields, 'model' | 'system' | 'tools' | 'mcpServers' | 'mcpServices' | 'skills'>
/** The agent of a session as a request names it, perhaps with parts of its definition overridden. */
export type AgentChoice = { agent?: AgentReference | null; agentWithOverrides?: (AgentReference & Overrides) | null }

/**
 * The agent that a request names.
 * @throws BerthError invalid_request, not_found, resource_archived; unknown_model, unknown_tool of what is overridden.
 */
export async function resolveAgent(
  { config }: { config: Config },
  tx: Tx,
  scope: Scope,
  given: AgentChoice,
): Promise<SessionAgent> {
  const overrides = given.agentWithOverrides
  const named = readShape(reference, overrides ?? given.agent, 'agent')
  const latest = await readAgent(tx, scope, named.id, sql`for key share`)
  if (latest.archivedAt)
    throw new BerthError(
      'resource_archived',
      'This agent is archived, so no session can start with it. Choose another one.',
    )
  const version = named.version ?? latest.version
  const agent = version === latest.version ? latest : await findAgentVersion(tx, latest.id, version)
  if (!agent) throw notFound('version of this agent')
  const definition = overrides ? changeDefinition(config, agent.definition, overrides) : agent.definition
  const skills = await pinSkills(tx, scope, definition.skills)
  return { agentId: agent.id, builtinAgent: null, version: agent.version, definition: { ...definition, skills } }
}

/**
 * The environment that a request names, locked so that it cannot be deleted; undefined for none.
 * @throws BerthError not_found, resource_archived.
 */
export async function resolveEnvironment(
  tx: Tx,
  scope: Scope,
  publicId: string | null | undefined,
): Promise<Environment | undefined> {
  if (publicId === null || publicId === undefined) return undefined
  if (scope.vmId) throw closedToVmTokens('environments, whose VMs may hold secrets of vaults')
  const environment = await readEnvironment(tx, scope, publicId, sql`for key share`)
  if (environment.status === 'archived') throw environmentArchived()
  return environment
}

const vaultIds = z
  .array(z.string())
  .max(limits.sessionVaultsMax, `a session has at most ${limits.sessionVaultsMax} vaults`)

/**
 * The stored ids of the vaults that a request names, each once, in its order, which decides when two have the same key.
 * @throws BerthError invalid_request, not_found, vault_archived.
 */
export async function resolveVaults(
  tx: Tx,
  scope: Scope,
  given: readonly string[] | null | undefined,
): Promise<string[]> {
  const named = readShape(vaultIds, given ?? [], 'vault_ids')
  if (named.length > 0 && scope.vmId) throw closedToVmTokens('vaults')
  const ids = [...new Set(named.flatMap((id) => decodeId('vault', id) ?? []))]
  if (ids.length < new Set(named).size) throw notFound('vault')
  if (ids.length === 0) return []
  const found = await findAll<Pick<Row<'vaults'>, 'archivedAt'>>(
    tx,
    sql`select archived_at from vaults where id = any(${ids}::uuid[]) and ${ownedByCaller(scope)}`,
  )
  if (found.length < ids.length) throw notFound('vault')
  if (found.some(({ archivedAt }) => archivedAt)) throw vaultArchived()
  return ids
}

/**
 * Whether a session of `sessions` is closed to the token inside a VM, which may read it and change nothing of it: it is a
 * member of a group, it has vaults or resources, or it works in a VM that may hold secrets, resources or skills of other
 * sessions, or what a deployment has set up in it.
 */
const isClosedToVms = sql<boolean>`(cardinality(vault_ids) > 0
  or exists (select from group_members m where m.session_id = sessions.id)
  or environment_id is not null and (deployment_id is not null or exists (
    select from environments e where e.id = sessions.environment_id and (not e.ephemeral
      or exists (select from vm_env v where v.vm_id = e.vm_id and v.source = 'vault')
      or exists (select from vm_skills k where k.vm_id = e.vm_id)
      or exists (select from session_resources r where r.session_id = sessions.id or r.vm_id = e.vm_id)))))`

/**
 * Keeps the token inside a VM from the sessions among these that are closed to it.
 * @param which a condition on `sessions`.
 * @throws BerthError forbidden.
 */
export async function refuseSecretsToVmTokens(db: Db, { vmId }: Scope, which: RawBuilder<unknown>): Promise<void> {
  if (vmId === null) return
  if (await findOne(db, sql`select 1 from sessions where ${which} and ${isClosedToVms} limit 1`))
    throw closedToVmTokens(
      'sessions with vaults, resources, skills in a VM or an environment of their own, and members of groups',
    )
}

/**
 * The caller's session, locked, for whatever changes or ends it or shows it to others.
 * @throws BerthError not_found; forbidden for the token inside a VM where the session is closed to it.
 */
export async function readSessionToChange(
  tx: Tx,
  scope: Scope,
  publicId: string,
  lock: RawBuilder<unknown> = sql`for no key update`,
): Promise<Session> {
  const session = await readSession(tx, scope, publicId, lock)
  await refuseSecretsToVmTokens(tx, scope, sql`id = ${session.id}`)
  return session
}

/**
 * Notes that a VM's token uses a session, which its agent gets memories no more: the token may not read those, and
 * whoever can tell the agent what to do, can have them told.
 */
export async function noteVmToken(tx: Tx, { vmId }: Scope, { id, usedByVm }: Session): Promise<void> {
  if (vmId === null || usedByVm) return
  await change(tx, sql`update sessions set used_by_vm = true where id = ${id}`)
}

/** The fields that every way of starting a session reads alike. @throws BerthError invalid_request. */
export function readLabels(given: { title?: string | null; metadata?: MetadataInput | null }): {
  title: string | null
  metadata: Metadata
} {
  return { title: readText(given.title, 'title', limits.nameLength), metadata: readMetadata(given.metadata) }
}
