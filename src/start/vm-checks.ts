/** What the doctor looks at for VMs: packages and the user of QEMU, the template, KVM or emulation. */
import { probeAcceleration } from '../drivers/compute/acceleration.ts'
import { currentTemplate, templateStatus } from '../drivers/compute/templates.ts'
import { qemuUser } from '../drivers/system-users.ts'
import { missingRequirements } from '../drivers/vm-requirements.ts'
import type { Config } from '../platform/config.ts'
import { verdict, type Check } from './checks.ts'

const megabyte = 1024 ** 2

/** Every check of VMs; those that make no sense yet are left out. */
export async function checkVms({ cacheDir }: Config): Promise<Check[]> {
  const missing = missingRequirements()
  const needs = verdict('what VMs need of this host', missing ? 'not all here' : null, missing?.sentence)
  if (missing) return [needs]
  const { built, sizeBytes } = templateStatus(cacheDir)
  if (!built) return [needs, verdict('VM template base', 'not built yet', 'npm start builds it, in about two minutes.')]
  const template = verdict(`VM template base, ${Math.round(sizeBytes / megabyte)} MB`, null)
  const acceleration = await probeAcceleration(cacheDir, currentTemplate(cacheDir).places, qemuUser())
  if (acceleration === 'kvm') return [needs, template, verdict('KVM boots a kernel here: VMs run at full speed', null)]
  return [needs, template, {
    verdict: 'neither',
    what: 'KVM does not work here: VMs run under emulation, several times slower',
    remedy: 'Where the host can, turn on (nested) virtualization and let the user of QEMU open /dev/kvm (group kvm).',
  }]
}
