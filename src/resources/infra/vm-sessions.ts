/** The caller's session in a VM, and the VM's system credentials. */
import { allow } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { sql, transaction } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { timestamp } from '#src/platform/clock.ts'
import { identityOf } from '#src/resources/identity/memberships.ts'
import { signVmToken } from '#src/resources/identity/access-tokens.ts'
import { findLinkOfVm, findOwnLink } from './code-host/rows.ts'
import { linkVariables } from './code-host/variables.ts'
import { setSystemVariables } from './vms/variables.ts'
import { reachVm } from './vms/access.ts'
import { setCodeHostLink } from './vms/code-host.ts'
import { lockVm, noteEnvChange } from './vms/rows.ts'

/** The outcome of a request. */
export type SessionStatus = 'synced' | 'removed' | 'not_present' | 'refreshed' | 'unchanged'
/** The outcome of a request, and a warning if there is one. */
export type SessionChange = { status: SessionStatus; warning: string | null }

const sessionSeconds = 15 * 60
const callSilenceMs = 10_000

/**
 * Writes a 15-minute token of the caller, which has fewer permissions than their own (see access/permissions.ts),
 * to /run/berth/session.json in the VM: memory only, readable by `user` alone.
 */
export async function syncSession(call: Call, vmId: string): Promise<SessionChange> {
  const { userId, organizationId } = allow(call.caller, 'sessions-in-vm:write')
  const vm = await reachVm(call, vmId, 'sessions-in-vm:write')
  if (!call.config.builtInIssuer)
    throw new BerthError(
      'invalid_request',
      'This Berth does not sign tokens itself, so it has no session to put into a VM.',
    )
  const identity = await identityOf(call.db, userId ?? '', organizationId)
  const { token, expiresAtSeconds } = await signVmToken(call, identity, vm.id, sessionSeconds)
  const session = JSON.stringify({
    access_token: token,
    token_type: 'Bearer',
    expires_at: timestamp(expiresAtSeconds * 1000),
    base_url: call.config.publicUrl,
  })
  await vm.node.call('writeSession', { vmId: vm.id, session }, { silenceMs: callSilenceMs })
  return { status: 'synced', warning: null }
}

/** Removes the session from the VM. A VM that is not running has none, because it is kept in memory only. */
export async function removeSession(call: Call, vmId: string): Promise<SessionChange> {
  try {
    const vm = await reachVm(call, vmId, 'sessions-in-vm:write', { wakes: false })
    const { removed } = await vm.node.call('removeSession', { vmId: vm.id }, { silenceMs: callSilenceMs })
    return { status: removed ? 'removed' : 'not_present', warning: null }
  } catch (error) {
    if (error instanceof BerthError && error.code === 'invalid_request') return { status: 'not_present', warning: null }
    throw error
  }
}

/**
 * Brings the variables of a connected account at the code host up to date in the VM. The person who ordered the VM also
 * gives it the account that they have connected since; others only refresh what it has.
 */
export async function refreshSystem(call: Call, vmId: string): Promise<SessionChange> {
  const vm = await reachVm(call, vmId, 'env:write', { ifNotRunning: 'service_unavailable' })
  const { isNew, link, envGeneration } = await transaction(call.db, async (tx) => {
    const row = await lockVm(tx, vm.scope, vmId, 'update')
    const isOwn = vm.scope.userId !== null && vm.scope.userId === row.userId
    const own = isOwn ? await findOwnLink(tx, call.config, vm.scope, sql`for key share`) : undefined
    const link = own ?? (await findLinkOfVm(tx, call.config, row.id))
    await setCodeHostLink(tx, row.id, link?.id ?? null)
    const isNew = await setSystemVariables(call, tx, row.id, link ? linkVariables(link) : {})
    if (isNew) await noteEnvChange(tx, row.id)
    return { isNew, link, envGeneration: row.envGeneration + (isNew ? 1 : 0) }
  })
  await vm.node.call('pushEnv', { vmId: vm.id, envGeneration }, { silenceMs: callSilenceMs })
  return {
    status: isNew ? 'refreshed' : 'unchanged',
    warning: link
      ? null
      : 'The person who ordered this VM has connected no account at the code host, so git has no credentials of theirs. They can connect one, and call this again.',
  }
}
