/** The secrets that the way out of a machine inserts: those of its VM's vaults, those of the repositories of sessions in it, and a connected account's for git. */
import type { FindSecretHosts, FindSecrets } from '#src/drivers/compute/egress/secrets.ts'
import { codeHostPlace } from '#src/drivers/code-host/places.ts'
import type { Services } from '#src/platform/services.ts'
import { findSecretHosts, findSecretUses } from '#src/resources/agents/vaults/credentials/use.ts'
import {
  findCheckoutSecrets,
  findGitHosts,
  findGitSecrets,
  type Checkout,
} from '#src/resources/infra/code-host/machines.ts'
import { findRepositoryHosts, findRepositorySecrets } from '#src/resources/agents/sessions/resources/tokens.ts'
import { vmIdOf } from './machine-specs.ts'

/** The checkouts that are under way on this node, by machine: a build's machine has an account only meanwhile. */
export type Checkouts = Map<string, Checkout>

/** Makes both lookups for the egress proxy. */
export function machineSecrets(
  services: Services,
  checkouts: Checkouts,
): { findSecrets: FindSecrets; findSecretHosts: FindSecretHosts } {
  return {
    async findSecrets(machineId) {
      const checkout = checkouts.get(machineId)
      if (checkout) return findCheckoutSecrets(services, checkout)
      const vmId = vmIdOf(machineId)
      return (
        await Promise.all([
          findSecretUses(services, vmId),
          findRepositorySecrets(services, vmId),
          findGitSecrets(services, vmId),
        ])
      ).flat()
    },
    async findSecretHosts(machineId) {
      if (checkouts.has(machineId)) return [[codeHostPlace(services.config).host]]
      return findVmSecretHosts(services, vmIdOf(machineId))
    },
  }
}

/** The hosts of a VM's secrets, one entry for each; null means every host. */
export async function findVmSecretHosts(services: Services, vmId: string): Promise<(readonly string[] | null)[]> {
  const found: (readonly (readonly string[] | null)[])[] = await Promise.all([
    findSecretHosts(services, vmId),
    findRepositoryHosts(services, vmId),
    findGitHosts(services, vmId),
  ])
  return found.flat()
}
