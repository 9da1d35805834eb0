/** What the doctor looks at for VMs: packages, KVM or emulation, templates. */
import type { Config } from '../platform/config.ts'
import { missingRequirements } from '../drivers/vm-requirements.ts'
import { verdict, type Check } from './checks.ts'

/** Every check of VMs; those that make no sense yet are left out. */
export async function checkVms(_config: Config): Promise<Check[]> {
  const missing = missingRequirements()
  if (missing) return [verdict('what VMs need of this host', 'not all here', missing.sentence)]
  return [verdict('what VMs need of this host', null)]
}
