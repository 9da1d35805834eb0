/** Tunnels: connections of callers to ports of a running VM, and to its SSH server, each opened once by a ticket (tunnels/opening.ts). */
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { tunnelLimits } from '#src/platform/limits/tunnels.ts'
import type { Call } from '#src/platform/services.ts'
import { sshPort } from '#src/drivers/node/tunnels.ts'
import { readPublicKey } from './public-keys.ts'
import { makeTunnelTicket, type TunnelTicket } from './tickets.ts'
import { reachVm } from '../vms/access.ts'

const portMax = 65_535
/** Who is logged in by SSH. */
const sshUser = 'user'

/** What an SSH client needs: who to log in as, the server's host key as a line of known_hosts has it, and a ticket for port 22. */
export type OpenedSsh = TunnelTicket & { user: string; hostKey: string }

/**
 * Makes a ticket for a tunnel to a port of a VM; one that sleeps is woken.
 * @throws BerthError invalid_request, not_found, rate_limited; as wakeVm.
 */
export async function createTunnelTicket(
  call: Call,
  { vmId, port }: { vmId: string; port: number },
): Promise<TunnelTicket> {
  if (!Number.isInteger(port) || port < 1 || port > portMax)
    throw new BerthError('invalid_request', `port is a whole number from 1 to ${portMax}.`)
  const vm = await reachVm(call, vmId, 'vms:write')
  await call.limiter.spend(`exec:${vm.id}`, limits.execsPerMinute)
  return makeTunnelTicket(call.db, call.caller, vm.id, port)
}

/**
 * Starts the SSH server of `user` in a running VM, lets a public key in, and makes a ticket for it. Once more has no effect but
 * another ticket.
 * @throws BerthError invalid_request, not_found, vm_unreachable, timeout, rate_limited; as wakeVm.
 */
export async function openVmSsh(
  call: Call,
  { vmId, publicKey }: { vmId: string; publicKey: string },
): Promise<OpenedSsh> {
  const vm = await reachVm(call, vmId, 'vms:write')
  const key = readPublicKey(publicKey)
  await call.limiter.spend(`exec:${vm.id}`, limits.execsPerMinute)
  const { hostKey } = await vm.node.call(
    'openSsh',
    { vmId: vm.id, envGeneration: vm.envGeneration, publicKey: key },
    { silenceMs: (tunnelLimits.sshOpenSeconds + limits.execSilenceSeconds) * 1000 },
  )
  return { user: sshUser, hostKey, ...(await makeTunnelTicket(call.db, call.caller, vm.id, sshPort)) }
}
