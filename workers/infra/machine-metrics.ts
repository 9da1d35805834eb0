/** Metrics about this worker's machines. */
import type { Compute } from '#src/drivers/compute/machine.ts'
import type { Config } from '#src/platform/config.ts'
import { addMetricSource } from '#src/platform/metrics/sources.ts'

/** Adds them to the metrics of this process. A worker without VMs has the gauges, without values. */
export function reportMachines(
  compute: Pick<Compute, 'residents' | 'warm'> | null,
  { vmPoolSize }: Pick<Config, 'vmPoolSize'>,
): void {
  addMetricSource(
    'machines',
    {
      berth_machines: {
        help: 'Machines on this node that belong to a VM or a build: running, or only on disk.',
        labels: ['state'],
      },
      berth_warm_machines: { help: 'Warm machines in the pool.' },
      berth_warm_machines_wanted: { help: 'How many warm machines there should be (BERTH_VM_POOL).' },
    },
    async () => {
      if (!compute) return { berth_machines: [], berth_warm_machines: [], berth_warm_machines_wanted: [] }
      const residents = await compute.residents()
      const running = residents.filter(({ live }) => live).length
      return {
        berth_machines: [
          { labels: { state: 'running' }, value: running },
          { labels: { state: 'at_rest' }, value: residents.length - running },
        ],
        berth_warm_machines: [{ value: compute.warm }],
        berth_warm_machines_wanted: [{ value: vmPoolSize }],
      }
    },
  )
}
