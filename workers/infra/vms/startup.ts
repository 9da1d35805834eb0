/** Says at which step a VM is that is being created or started, where the step lasts: most do not, and cost nothing then. */
import { fromNow, timestamp } from '#src/platform/clock.ts'
import { encodeId } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import { transaction } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { StartupStep, Vm } from '#src/resources/infra/vms/rows.ts'
import { hostedVmStepped, noteStartup } from '#src/resources/infra/vms/states.ts'

const lastsMs = 1_000

/**
 * Does what a step is about. When that has taken a second the step is stored, with an event; `vm` is then as it is stored.
 * @throws what it throws.
 */
export async function during<Done>(
  { services }: { services: Background },
  vm: Vm,
  step: StartupStep,
  what: () => Promise<Done>,
): Promise<Done> {
  const since = timestamp(fromNow(0))
  let noted: Promise<void> | undefined
  const note = async (): Promise<void> => {
    try {
      await transaction(services.db, async (tx) => {
        const changed = await noteStartup(tx, vm, step, since)
        if (!changed) return
        Object.assign(vm, changed) // what is said of it later starts from this
        await hostedVmStepped.run(services, tx, vm)
      })
    } catch (error) {
      log.warn({ vm: encodeId('vm', vm.id), err: error }, 'it could not be said at which step a VM is')
    }
  }
  const timer = setTimeout(() => {
    noted = note()
  }, lastsMs)
  try {
    return await what()
  } finally {
    clearTimeout(timer)
    await noted
  }
}
