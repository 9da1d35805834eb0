/** The doctor's checks of VMs: packages, isolation, the template, KVM or emulation. */
import { probeAcceleration } from '#src/drivers/compute/qemu/acceleration.ts'
import { createMachineUsers } from '#src/drivers/compute/qemu/machine-users.ts'
import { currentTemplate, templateStatus } from '../drivers/compute/templates.ts'
import { laterTemplates, type LaterTemplate } from '../drivers/compute/templates/names.ts'
import { missingRequirements } from '../drivers/vm-requirements.ts'
import type { Config } from '../platform/config.ts'
import type { UidRange } from '../platform/settings/readers.ts'
import { verdict, type Check } from './checks.ts'

const megabyte = 1024 ** 2

/** Every check of VMs; those that do not apply yet are omitted. */
export async function checkVms({ cacheDir, vmUids }: Config): Promise<Check[]> {
  const missing = missingRequirements(vmUids)
  const needs = verdict('what VMs need on this host', missing ? 'not all installed' : null, missing?.sentence)
  if (missing) return [needs]
  const apart = isolation(vmUids)
  const { built, sizeBytes } = templateStatus(cacheDir, 'base')
  if (!built)
    return [needs, apart, verdict('VM template base', 'not built yet', 'npm start builds it, in about two minutes.')]
  const template = verdict(`VM template base, ${Math.round(sizeBytes / megabyte)} MB`, null)
  const later = laterTemplates.map((name) => checkLater(cacheDir, name))
  const acceleration = await probeAcceleration(
    cacheDir,
    currentTemplate(cacheDir, 'base').places,
    vmUids && createMachineUsers(vmUids),
  )
  if (acceleration === 'kvm')
    return [needs, apart, template, ...later, verdict('KVM boots a kernel here: VMs run at full speed', null)]
  return [
    needs,
    apart,
    template,
    ...later,
    {
      verdict: 'neither',
      what: 'KVM does not work here: VMs run under emulation, several times slower',
      remedy: 'If the host supports it, turn on (nested) virtualization and let the group kvm open /dev/kvm.',
    },
  ]
}

const whenBuilt: Readonly<Record<LaterTemplate, string>> = {
  data: 'Berth builds it when somebody first asks for a VM of it, in two to three minutes; that VM waits for it.',
  postgres: 'Berth builds it while it runs, in about two minutes; the first database waits for it.',
}

/** A template that a running Berth builds by itself. */
function checkLater(cacheDir: string, name: LaterTemplate): Check {
  const { built, beingBuilt, sizeBytes } = templateStatus(cacheDir, name)
  if (built) return verdict(`VM template ${name}, ${Math.round(sizeBytes / megabyte)} MB`, null)
  return {
    verdict: 'neither',
    what: `VM template ${name}: ${beingBuilt ? 'being built' : 'not built yet'}`,
    remedy: whenBuilt[name],
  }
}

/** The isolation between VMs if one is broken out of, which depends on the user that Berth runs as. */
function isolation(vmUids: UidRange | null): Check {
  if (vmUids) return verdict(`each VM runs as its own system user, numbered ${vmUids.first} to ${vmUids.last}`, null)
  return {
    verdict: 'neither',
    what: 'all VMs run as this user: code that breaks out of one can read this user’s files and the other VMs’ disks',
    remedy: 'Start Berth as root, and each VM gets a system user of its own that owns nothing else.',
  }
}
