/**
 * Runs the functions of a node: their VMs are run by vms.ts, their programs here. In this worker one run at a time works on
 * an instance; it lasts as long as the program, so it is no job's, but started by one.
 */
import { encodeId } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { log } from '#src/platform/log.ts'
import { isDatabaseAway } from '#src/platform/postgres.ts'
import { instancesOfNode } from '#src/resources/infra/functions/instances.ts'
import { reconcileFunction } from '#src/resources/infra/functions/jobs.ts'
import { settleFunction } from '#src/resources/infra/functions/reconciling.ts'
import { inTurns } from './turns.ts'
import { createPlaces } from './functions/places.ts'
import { runInstance } from './functions/runs.ts'
import type { VmWork } from './vms.ts'

/** The programs that this worker runs. */
export type FunctionRuns = {
  /** Works on the program of the instance in this VM, unless that is being done. */
  keep(vmId: string): void
  /** Resolves when none is under way; after a stop. */
  settled(): Promise<void>
}

/** Handles the node's functions, and goes on with the programs that run. @param stopping fires when the worker stops. */
export async function handleFunctions(work: VmWork, stopping: AbortSignal): Promise<FunctionRuns> {
  const { services, nodeId } = work
  const runs = createRuns(work, stopping)
  const settle = inTurns(async (functionId) => {
    for (const vmId of await settleFunction(services, functionId, nodeId)) runs.keep(vmId)
  })
  const kind = onNode(reconcileFunction, nodeId)
  await services.jobs.handle(kind, { concurrency: functionLimits.reconcilesAtOnce }, ({ data }) =>
    settle(data.functionId),
  )
  await keepInstances(work, runs)
  return runs
}

/** Goes on with the programs of this node's instances: of those whose run has ended, and of the worker before. */
export async function keepInstances({ services, nodeId }: VmWork, runs: FunctionRuns): Promise<void> {
  for (const vmId of await instancesOfNode(services.db, nodeId)) runs.keep(vmId)
}

function createRuns(work: VmWork, stopping: AbortSignal): FunctionRuns {
  const places = createPlaces(functionLimits.startingPerNode, functionLimits.startingOfOne)
  const run = inTurns((vmId) => runInstance(work, vmId, places, stopping))
  const underway = new Set<Promise<void>>()
  return {
    keep(vmId) {
      if (stopping.aborted) return
      const one = run(vmId)
        .catch((error: unknown) => {
          const vm = encodeId('vm', vmId)
          if (isDatabaseAway(error)) log.warn({ vm, err: error }, 'an instance is left until the database is back')
          else log.error({ vm, err: error }, 'the run of an instance broke off; housekeeping goes on with it')
        })
        .finally(() => underway.delete(one))
      underway.add(one)
    },
    settled: async () => void (await Promise.all(underway)),
  }
}
