/** The environment variables of guests: they are pushed after a change, before the next command. */
import type { EgressAuthority } from '#src/drivers/compute/egress/authority.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { trustAuthority } from '#src/drivers/compute/guest/trust.ts'
import { pushEnv } from '#src/drivers/compute/guest/env.ts'
import type { Services } from '#src/platform/services.ts'
import { openEnv } from '#src/resources/infra/vms/variables.ts'
import { findVmSecretHosts } from './machine-secrets.ts'

/** Keeps guests' environments up to date. */
export type GuestEnv = {
  /** Pushes the VM's variables, unless the guest already has this generation or a later one; returns whether it did. */
  push(vmId: string, machine: Machine, generation: number): Promise<boolean>
  /** Forgets a guest that is new or gone: it has no variables. */
  forget(vmId: string): void
}

/**
 * Makes the node's keeper. A restarted worker pushes again, which changes nothing. A guest with a placeholder is made
 * to trust the node's authority before any command can use it.
 */
export function createGuestEnv(services: Services, authority: EgressAuthority): GuestEnv {
  const pushed = new Map<string, { machine: Machine; generation: number }>()
  const trusting = new WeakMap<Machine, Record<string, string>>()
  const trust = async (vmId: string, machine: Machine): Promise<Record<string, string>> => {
    const known = trusting.get(machine)
    if (known || (await findVmSecretHosts(services, vmId)).length === 0) return known ?? {}
    const variables = await trustAuthority(machine, await authority.certificate())
    trusting.set(machine, variables)
    return variables
  }
  return {
    async push(vmId, machine, generation) {
      const known = pushed.get(vmId)
      if (known?.machine === machine && known.generation >= generation) return false
      if (generation === 0 && !known) {
        pushed.set(vmId, { machine, generation }) // never had a variable: nothing to push to a fresh guest
        return false
      }
      await pushEnv(machine, { ...(await trust(vmId, machine)), ...(await openEnv(services, vmId)) })
      pushed.set(vmId, { machine, generation })
      return true
    },
    forget: (vmId) => pushed.delete(vmId),
  }
}
