/** What a route leads to, and how a connection to it is opened. */
import type { Duplex } from 'node:stream'
import { BerthError } from '#src/platform/errors.ts'
import type { VmPlace } from '#src/resources/infra/vms/places.ts'
import type { Route } from '#src/resources/infra/routes.ts'

/** A function, and the organization that it is started for; by their stored ids. */
export type FunctionRef = { functionId: string; organizationId: string }

/** A port of a VM, or a function, by their stored ids. `wakes`: a VM that its user paused is woken, too. */
export type Target = { kind: 'vm'; vmId: string; port: number; wakes?: boolean } | ({ kind: 'function' } & FunctionRef)

/**
 * Opens a connection to a target, on which HTTP/1.1 is spoken. It may wait until the target is awake.
 * @throws TargetRefusal, or BerthError: vm_unreachable, upstream_error, capacity_unavailable, timeout
 */
export type Reach = (target: Target) => Promise<Duplex>

/** Why a target takes no request now: a page says so in these words. */
export class TargetRefusal extends Error {
  override name = 'TargetRefusal'
  readonly kind: 'sleeping' | 'starting' | 'failing' | 'crashed' | 'refused' | 'busy' | 'empty' | 'gone'
  readonly retryAfterSeconds: number | null

  constructor(kind: TargetRefusal['kind'], sentence: string, retryAfterSeconds: number | null = null) {
    super(sentence)
    this.kind = kind
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Where a route leads; null when it leads nowhere yet. */
export function targetOf({ organizationId, vmId, vmPort, functionId, wakes }: Route): Target | null {
  if (functionId !== null) return { kind: 'function', functionId, organizationId }
  return vmId !== null && vmPort !== null ? { kind: 'vm', vmId, port: vmPort, ...(wakes ? { wakes } : {}) } : null
}

/** The same text for the same target. */
export function targetKey(target: Target): string {
  return target.kind === 'vm' ? `${target.vmId}:${target.port}` : target.functionId
}

/** What somebody outside is told of an error on the way to a target: nothing of the inside. */
export function refusalFrom(error: unknown): TargetRefusal {
  if (error instanceof TargetRefusal) return error
  if (!(error instanceof BerthError))
    return new TargetRefusal('failing', 'The service cannot be reached right now. Try again in a moment.')
  if (error.code === 'upstream_error')
    return new TargetRefusal(
      'refused',
      'Nothing listens at the port of this service. Its owner can start a server there.',
    )
  if (error.code === 'capacity_unavailable')
    return new TargetRefusal('busy', 'The service has too many connections. Try again in a moment.', 1)
  return new TargetRefusal('failing', 'The service does not answer right now. Try again in a few seconds.', 3)
}

/** What is said of a VM that does not run. */
export function restingRefusal(status: VmPlace['status']): TargetRefusal {
  if (status === 'creating' || status === 'starting' || status === 'resuming')
    return new TargetRefusal('starting', 'The machine behind this address is starting. Try again in a few seconds.', 3)
  if (status === 'deleting' || status === 'deleted')
    return new TargetRefusal('gone', 'The machine behind this address is gone.')
  if (status === 'error')
    return new TargetRefusal('failing', 'The machine behind this address has failed. Its owner can start it again.')
  return new TargetRefusal('sleeping', 'The machine behind this address is not running. Its owner can start it.')
}
