/**
 * Starts on behalf of a person who is not calling: by a deployment, a schedule or a trigger. What counts is what the
 * person may do, and what is there, at this moment.
 */
import type { Scope } from '#src/platform/access.ts'
import { isAtLeast, permissions } from '#src/platform/access/permissions.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { startLimits } from '#src/platform/limits/starts.ts'
import { getOne, sql, type Tx } from '#src/platform/postgres.ts'
import { inSavepoint } from '#src/platform/postgres/savepoints.ts'
import { lockMember } from '#src/resources/identity/memberships.ts'
import { checkMaySpend } from '#src/resources/llm/billing.ts'
import { findModel } from '#src/resources/llm/models.ts'
import {
  agentErrors,
  creditErrors,
  environmentErrors,
  Refused,
  refusing,
  rejected,
  vaultErrors,
  type StartError,
} from './starts/errors.ts'
import type { Metadata } from '#src/platform/shapes/fields.ts'
import { createEphemeralEnvironment } from './environments.ts'
import type { EnvironmentConfig } from './environments/configs.ts'
import { eventsOf, type Kickoff } from './kickoffs.ts'
import { beginSessions, type Beginning } from './sessions/beginning.ts'
import {
  resolveAgent,
  resolveEnvironment,
  resolveVaults,
  type SessionAgent,
  type StartServices,
} from './sessions/plans.ts'
import type { Session } from './sessions/rows.ts'

/** Where a started session works: nowhere, in an environment of the person's (a uuid), or in a fresh one of its own. */
export type StartEnvironment =
  | { type: 'none' }
  | { type: 'existing'; environmentId: string }
  | { type: 'ephemeral'; config: EnvironmentConfig | null }

/** Whom to start something for, and with what, besides the agent; ids are uuids. */
type StartPlan = {
  organizationId: string
  userId: string
  environment: StartEnvironment
  vaultIds: readonly string[]
  budgetNanoUsd: number | null
  title?: string | null
  metadata: Metadata
  source: 'schedule' | 'trigger' | 'deployment'
  deploymentId: string | null
}

/** An agent to start, and what it is told first. Version null: the newest. */
export type AgentStart = { agent: { id: string; version: number | null }; kickoff: Kickoff }

/** What to start. */
export type StartOrder = StartPlan & AgentStart

/** A plan without a deployment, and so without an environment, vaults or a budget. */
type PlanAlone = Pick<StartPlan, 'organizationId' | 'userId'> & { source: 'schedule' | 'trigger' }

/** Why nothing was started: `refusal` is the same error as a request would have got it. */
type NotStarted = { error: StartError; refusal: BerthError }

/** What became of a start. */
export type Started = { session: Session; error?: never; refusal?: never } | ({ session?: never } & NotStarted)

/** What became of several that start together. */
export type StartedAll = { sessions: Session[]; error?: never; refusal?: never } | ({ sessions?: never } & NotStarted)

/**
 * Starts a session in the caller's transaction. What keeps it from starting is answered, and leaves nothing behind;
 * faults of Berth itself, such as a database that is away, are thrown.
 */
export async function startOnBehalf(
  services: StartServices,
  tx: Tx,
  { agent, kickoff, ...plan }: StartOrder,
): Promise<Started> {
  const started = await startAll(services, tx, plan, [{ agent, kickoff }])
  if (!started.sessions) return { error: started.error, refusal: started.refusal }
  const [session] = started.sessions
  if (!session) throw new Error('a session was not started')
  return { session }
}

/** Starts a session of an agent without a deployment, as startOnBehalf. */
export async function startAgent(
  services: StartServices,
  tx: Tx,
  { agent, kickoff, ...given }: PlanAlone & AgentStart,
): Promise<Started> {
  return startOnBehalf(services, tx, { ...planOf(given), agent, kickoff })
}

/**
 * The same for several sessions, with one statement for each agent and else as many as for one session: all of them, or
 * none when something keeps one from starting.
 * @returns the sessions in the order of `starts`.
 */
export async function startAgentsTogether(
  services: StartServices,
  tx: Tx,
  given: PlanAlone,
  starts: readonly AgentStart[],
): Promise<StartedAll> {
  return startAll(services, tx, planOf(given), starts)
}

async function startAll(
  services: StartServices,
  tx: Tx,
  plan: StartPlan,
  starts: readonly AgentStart[],
): Promise<StartedAll> {
  return inSavepoint<StartedAll>(
    tx,
    ({ sessions }) => sessions !== undefined,
    async () => {
      try {
        return { sessions: await start(services, tx, plan, starts) }
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        const { type, refusal } = error
        return { error: { type, message: refusal.message }, refusal }
      }
    },
  )
}

/** Whether a start has to wait until the organization has room again: it is tried again soon. */
export function mustWait({ refusal }: Started): boolean {
  return refusal?.code === 'rate_limited' || refusal?.code === 'capacity_unavailable'
}

function planOf(given: PlanAlone): StartPlan {
  return {
    ...given,
    environment: { type: 'none' },
    vaultIds: [],
    budgetNanoUsd: null,
    metadata: {},
    deploymentId: null,
  }
}

async function start(
  services: StartServices,
  tx: Tx,
  plan: StartPlan,
  starts: readonly AgentStart[],
): Promise<Session[]> {
  const scope = await readStarter(tx, plan)
  const resolved = new Map<string, SessionAgent>()
  const beginnings: Beginning[] = []
  for (const { agent: named, kickoff } of starts) {
    const key = `${named.id} ${named.version}`
    const agent = resolved.get(key) ?? (await refusing(agentErrors, () => resolve(services, tx, scope, named)))
    resolved.set(key, agent)
    beginnings.push({ agent, initialEvents: eventsOf(kickoff) })
  }
  const areFree = beginnings.every(({ agent }) => isFree(services, agent.definition.model.id))
  await refusing(creditErrors, () => checkMaySpend(tx, scope.organizationId, areFree))
  const environmentId = await refusing(environmentErrors, () => environmentOf(tx, scope, plan.environment))
  const named = plan.vaultIds.map((vaultId) => encodeId('vault', vaultId))
  const vaultIds = await refusing(vaultErrors, () => resolveVaults(tx, scope, named))
  const { title = null, metadata, budgetNanoUsd, source, deploymentId } = plan
  const session = { environmentId, vaultIds, title, metadata, budgetNanoUsd, source, deploymentId }
  return refusing({}, () => beginSessions(services, tx, scope, session, beginnings))
}

function resolve(
  services: StartServices,
  tx: Tx,
  scope: Scope,
  { id, version }: AgentStart['agent'],
): Promise<SessionAgent> {
  return resolveAgent(services, tx, scope, { agent: { id: encodeId('agent', id), version } })
}

/** The person as a member of the organization now. */
async function readStarter(tx: Tx, { organizationId, userId }: StartPlan): Promise<Scope> {
  const [leastRole] = permissions['sessions:write']
  const { role, isDeactivated } = await lockMember(tx, { organizationId, userId })
  if (isDeactivated)
    throw new Refused('organization_disabled_error', new BerthError('forbidden', 'The organization is deactivated.'))
  if (role === null)
    throw rejected(
      new BerthError(
        'forbidden',
        'Whoever this runs for has left the organization. Have a member of it create one of their own.',
      ),
    )
  if (!isAtLeast(role, leastRole))
    throw rejected(
      new BerthError(
        'not_permitted_for_role',
        `Whoever this runs for is a ${role} by now; to start a session requires ${leastRole} or higher. Ask an owner of the organization.`,
      ),
    )
  return { organizationId, userId, role, keyId: null, vmId: null }
}

async function environmentOf(tx: Tx, scope: Scope, environment: StartEnvironment): Promise<string | null> {
  switch (environment.type) {
    case 'none':
      return null
    case 'existing':
      return (await resolveEnvironment(tx, scope, encodeId('environment', environment.environmentId)))?.id ?? null
    case 'ephemeral':
      await checkPace(tx, scope.organizationId)
      return (await createEphemeralEnvironment(tx, scope, environment.config)).id
  }
}

/** Counted in rows, because the limiter would need a second connection while this transaction holds one. */
async function checkPace(tx: Tx, organizationId: string): Promise<void> {
  const { count } = await getOne<{ count: number }>(
    tx,
    sql`select count(*) from environments where organization_id = ${organizationId} and ephemeral and created_at > now() - interval '1 minute'`,
  )
  if (count < startLimits.environmentsPerMinute) return
  throw new BerthError(
    'rate_limited',
    `Your organization has started ${count} environments in the last minute, which is the limit. Try again in a minute.`,
    { retryAfterSeconds: 60 },
  )
}

function isFree({ config }: Pick<StartServices, 'config'>, modelId: string): boolean {
  const pricing = findModel(config, modelId)?.pricing
  return pricing !== undefined && Object.values(pricing).every((price) => price === 0)
}
