/** Builds: how soon one shows its first line, how soon a line printed in its VM reaches a reader, and what much output does to others. */
import { knownAcceleration } from '#src/drivers/compute/qemu/acceleration.ts'
import type { Benchmark, Effort, Findings, Goal } from './benchmark.ts'
import { follow, startTickedBuild, startTicker, submit } from './build-client.ts'
import { measureMemory, measureNeighbours } from './build-floods.ts'
import { median, quantile, shown } from './rounds.ts'
import { startHost, withVms } from './vm-host.ts'
import { inWorld } from './world.ts'

const poolSize = 2
const timesOf = ({ quick }: Effort): { builds: number; ticks: number } =>
  quick ? { builds: 2, ticks: 5 } : { builds: 15, ticks: 100 }

/** First lines, live lines, neighbours and memory. */
export const builds: Benchmark = {
  name: 'builds',
  title: 'Builds',
  measure: (effort, say) =>
    inWorld({}, (world) =>
      withVms(world, async (webPid): Promise<Findings> => {
        const times = timesOf(effort)
        const token = await world.token()
        const ticker = await startTicker()
        const host = await startHost(world, poolSize, { BERTH_VM_HOST_PORTS: String(ticker.port) })
        const first: number[] = []
        for (let one = 0; one < times.builds; one++) {
          await host.calm(0)
          const startedAt = performance.now()
          const id = await submit(world, token, { commands: ['true'] })
          for await (const _entry of follow(world, token, id)) first[one] ??= performance.now() - startedAt
        }
        say(`first line: ${shown(median(first))} ms`)
        await host.calm(0)
        const build = await startTickedBuild(world, token, ticker)
        const lines = await build.tick(times.ticks)
        await build.end()
        say(`a line: ${shown(median(lines))} ms`)
        const memory = await measureMemory(world, host, webPid, effort, say)
        await host.calm(0)
        const neighbours = await measureNeighbours(world, ticker, effort, say)
        await host.stop()
        ticker.stop()
        const rows = [
          ['POST to the first line of the log', first],
          ['host → VM → printed → reader of the log', lines],
        ] as const
        return {
          how: `A web process and a worker that keeps ${poolSize} machines warm, nothing else of ours on the host; ${knownAcceleration(world.config.cacheDir) === 'kvm' ? 'KVM' : 'software emulation'}. The guest's clock is not ours, so a line begins on the host: it goes into the VM over a connection that is open already, a shell there reads and prints it, and it comes back over the log. The figure is therefore more than what is asked for. The neighbours take turns of 30 lines, in rotated order, beside one quiet build that lives through all of them; a VM that computes takes processor time from the other, so the flood is also compared with a neighbour that runs the same program and prints nothing. Memory is read every quarter of a second, and the highest is kept. Where others use the processors meanwhile, trust the ratios, not the milliseconds.`,
          tables: [
            {
              title: 'How long it takes',
              columns: ['what', 'times', 'p50 ms', 'p99 ms'],
              rows: rows.map(([what, all]) => [
                what,
                String(all.length),
                shown(median(all)),
                shown(quantile(all, 0.99)),
              ]),
            },
            ...neighbours.tables,
            ...memory.tables,
          ],
          goals: [
            goal('POST to the first log line with a warm pool, p50', first, 1500),
            goal('a line printed in the VM reaches a reader, p50', lines, 150),
            ...neighbours.goals,
            ...memory.goals,
          ],
        }
      }),
    ),
}

function goal(what: string, all: readonly number[], mostMs: number): Goal {
  return { what, wanted: `≤ ${mostMs} ms`, measured: `${shown(median(all))} ms`, met: median(all) <= mostMs }
}
