/**
 * The templates that a node builds when somebody first needs one, which takes minutes. A VM's job comes back until it is there,
 * and waits in no place that others need; a build waits in its own.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Compute, MachineSpec } from '#src/drivers/compute/machine.ts'
import { isLater, type LaterTemplate } from '#src/drivers/compute/templates/names.ts'
import { BerthError } from '#src/platform/errors.ts'
import { onNode } from '#src/platform/jobs.ts'
import { log } from '#src/platform/log.ts'
import { transaction } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { machineTemplate } from '#src/resources/infra/templates.ts'
import { reconcileVm } from '#src/resources/infra/vms/lifecycle.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'
import { explainVm, hostedVmStepped } from '#src/resources/infra/vms/states.ts'

const againSeconds = 2
/** For so long after a failure everybody who needs the template gets it, and nobody tries again. */
const failedMs = 30_000

/** What this worker builds, or has failed to build. */
export type TemplateBuilds = {
  /** Begins to build it, unless that is done or under way. */
  begin(name: LaterTemplate): void
  /**
   * A sentence that says how far this template is; it is begun when it was not. Null when machines can start from it.
   * @throws BerthError capacity_unavailable when it has just failed.
   */
  findDelay(template: MachineSpec['template']): string | null
  /** Whether the job of a waiting VM is to be made again: not while another one is due, as after each change of the VM. */
  comesBack(vmId: string): boolean
}

/** @param compute a node that is prepared by the time somebody asks. */
export function createTemplateBuilds(compute: Pick<Compute, 'isPrepared' | 'prepareLater'>): TemplateBuilds {
  const underway = new Map<LaterTemplate, string>()
  const failed = new Map<LaterTemplate, number>()
  /** Until when which VMs' jobs are not made again, the earliest first. */
  const untilMs = new Map<string, number>()
  const begin = (name: LaterTemplate): void => {
    if (underway.has(name)) return
    underway.set(name, 'it begins')
    compute
      .prepareLater(name, (fraction, sentence) => {
        const percent = Math.round(fraction * 100)
        if (underway.get(name)?.startsWith(`${sentence} (`)) return
        log.info({ template: name, percent }, sentence)
        underway.set(name, `${sentence} (${percent} %)`)
      })
      .catch((error: Error) => {
        failed.set(name, performance.now())
        log.error({ err: error, template: name }, 'a template could not be built')
      })
      .finally(() => underway.delete(name))
  }
  return {
    begin,
    comesBack(vmId) {
      const now = performance.now()
      for (const [id, until] of untilMs) {
        if (until > now) break
        untilMs.delete(id)
      }
      if (untilMs.has(vmId)) return false
      untilMs.set(vmId, now + (againSeconds * 1000) / 2)
      return true
    },
    findDelay(template) {
      if (!isLater(template)) return null
      if (!underway.has(template)) {
        if (compute.isPrepared(template)) return null
        if (performance.now() - (failed.get(template) ?? -Infinity) < failedMs) throw new TemplateNotBuilt(template)
        begin(template)
      }
      return `The template ${template} is being built on this node, which happens once: ${underway.get(template) ?? 'it begins'}.`
    },
  }
}

/** A template could not be built: whoever needs it fails at once, because further attempts would be told the same. */
export class TemplateNotBuilt extends BerthError {
  constructor(template: LaterTemplate) {
    super(
      'capacity_unavailable',
      `The template ${template} could not be built on its node. The worker’s log says why; once that is put right, try again.`,
      { retryAfterSeconds: Math.ceil(failedMs / 1000) },
    )
  }
}

/**
 * Waits until machines can start from a template.
 * @param say is told how far it is, each time that changes.
 * @throws BerthError capacity_unavailable when it could not be built; what the signal fires with.
 */
export async function waitForTemplate(
  templates: TemplateBuilds,
  template: MachineSpec['template'],
  say: (sentence: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let reported: string | null = null
  for (;;) {
    signal.throwIfAborted()
    const delay = templates.findDelay(template)
    if (delay === null) return
    if (delay !== reported) say(delay)
    reported = delay
    await pause(againSeconds * 1000, undefined, { signal }).catch(() => undefined) // thrown above
  }
}

/**
 * Whether a VM may start from its template. If it is not there yet, the VM says how far it is, and its job comes back.
 * @throws BerthError capacity_unavailable when it could not be built.
 */
export async function isTemplateThere(
  { services, templates }: { services: Background; templates: TemplateBuilds },
  vm: Vm,
): Promise<boolean> {
  const template = machineTemplate(vm.templateId)
  const reason = templates.findDelay(template)
  if (reason === null) return true
  await transaction(services.db, async (tx) => {
    if (vm.statusReason !== reason && (await explainVm(tx, vm, reason, 'building_template')))
      await hostedVmStepped.run(services, tx, vm)
    if (!templates.comesBack(vm.id)) return
    const kind = onNode(reconcileVm, vm.nodeId)
    await services.jobs.enqueue(tx, kind, { vmId: vm.id }, { startAfterSeconds: againSeconds })
  })
  return false
}
