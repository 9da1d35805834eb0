/** Runs: a session started in one request, with an agent of the caller's or one of Berth's own. */
import { z } from 'zod'
import { allow, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { transaction, type Tx } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { builtinAgent, type BuiltinName, type ModeName } from './agents/builtin-agents.ts'
import { findEnvironmentRow } from './environments/rows.ts'
import { createEphemeralEnvironment } from './environments.ts'
import { demandVm } from './environments/vms.ts'
import { messageOf } from './sessions/event-shapes.ts'
import { readShape, type MetadataInput } from '#src/platform/shapes/fields.ts'
import { beginSession } from './sessions/beginning.ts'
import {
  readLabels,
  resolveAgent,
  resolveEnvironment,
  resolveVaults,
  type AgentChoice,
  type SessionAgent,
} from './sessions/plans.ts'
import type { Session } from './sessions/rows.ts'

/** What to run: exactly one of `agent`, `builtin` and `mode`. */
export type RunOrder = {
  agent?: AgentChoice | null
  builtin?: BuiltinName | null
  mode?: ModeName | null
  input?: string | null
  vaultIds?: readonly string[] | null
  environmentId?: string | null
  metadata?: MetadataInput | null
}

/** The started session; `sandboxId` is the stored id of its VM, null for a session without one. */
export type Run = { session: Session; sandboxId: string | null }

const input = z.string().min(1).nullish()

/**
 * Starts a run. Its VM is still starting when this returns; Berth's own agents that need a VM get a fresh one, unless
 * an environment is given.
 * @throws BerthError invalid_request, not_found, resource_archived, vault_archived, unknown_model,
 * capacity_unavailable, rate_limited.
 */
export async function createRun(call: Call, order: RunOrder): Promise<Run> {
  const scope = allow(call.caller, 'runs:write')
  const named = ([order.agent, order.builtin, order.mode] as const).filter((one) => one !== undefined && one !== null)
  if (named.length !== 1) throw new BerthError('invalid_request', 'Give exactly one of agent, builtin and mode.')
  const isMode = order.mode !== undefined && order.mode !== null
  if (isMode && order.environmentId)
    throw new BerthError('invalid_request', 'A mode brings its own environment; leave environment_id out.')
  const text = readShape(input, order.input, 'input')
  const labels = readLabels({ metadata: order.metadata })
  return transaction(call.db, async (tx) => {
    const { agent, needsVm } = await chooseAgent(call, tx, scope, order)
    const chosen = await resolveEnvironment(tx, scope, order.environmentId)
    const environment = chosen ?? (needsVm ? await freshEnvironment(call, tx, scope) : undefined)
    const vaultIds = await resolveVaults(tx, scope, order.vaultIds)
    const session = await beginSession(call, tx, scope, {
      agent,
      environmentId: environment?.id ?? null,
      vaultIds,
      ...labels,
      budgetNanoUsd: null,
      source: 'run',
      initialEvents: text ? [messageOf(text)] : [],
    })
    if (!environment || environment.config.type === 'self_hosted') return { session, sandboxId: null }
    await demandVm(call, tx, environment.id, {})
    return { session, sandboxId: (await findEnvironmentRow(tx, environment.id))?.vmId ?? null }
  })
}

async function chooseAgent(
  call: Call,
  tx: Tx,
  scope: Scope,
  { agent, builtin, mode }: RunOrder,
): Promise<{ agent: SessionAgent; needsVm: boolean }> {
  if (agent !== undefined && agent !== null)
    return { agent: await resolveAgent(call, tx, scope, agent), needsVm: false }
  const name = builtin ?? mode
  if (!name) throw new Error('a run has no agent')
  const { definition, needsVm } = builtinAgent(call.config, name)
  return { agent: { agentId: null, builtinAgent: name, version: 1, definition }, needsVm }
}

async function freshEnvironment(call: Call, tx: Tx, scope: Scope): ReturnType<typeof createEphemeralEnvironment> {
  await call.limiter.spend(`environments:${scope.organizationId}`, limits.environmentsPerMinute)
  return createEphemeralEnvironment(tx, scope)
}
