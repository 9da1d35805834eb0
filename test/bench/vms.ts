/** VMs: made, used and held, through the documented REST paths, with the driver's own part beside each figure. */
import { setTimeout as pause } from 'node:timers/promises'
import { execInGuest } from '#src/drivers/compute/guest/exec.ts'
import { newSpec, startNode, type TestNode } from '../support/compute.ts'
import { until } from '../support/until.ts'
import type { Benchmark, Effort, Findings, Goal, Table } from './benchmark.ts'
import { fillHost } from './vm-density.ts'
import { coresOf, startHost, withVms, type VmHost } from './vm-host.ts'
import { median, quantile, shown, shownRatio } from './rounds.ts'
import { knownAcceleration } from '#src/drivers/compute/qemu/acceleration.ts'
import { inWorld, type World } from './world.ts'

const poolSize = 5
const betweenExecsMs = 50
const idleCores = 0.1
const program = 'print(6 * 7)'

/** A figure beside its floor; milliseconds. */
type Measured = { what: string; ours: number[]; floorName: string; floor: number[] }

/** How often each thing is done. */
const timesOf = ({ quick }: Effort): { batches: number; cold: number; execs: number; sandboxes: number } =>
  quick ? { batches: 1, cold: 2, execs: 5, sandboxes: 2 } : { batches: 5, cold: 20, execs: 60, sandboxes: 20 }

/** Creates, commands, sandboxes, and how many VMs fit. */
export const vms: Benchmark = {
  name: 'vms',
  title: 'VMs',
  measure: (effort, say) =>
    inWorld({}, (world) =>
      withVms(world, async (): Promise<Findings> => {
        const times = timesOf(effort)
        const warm = await measureWarm(world, times, say)
        const cold = await measureCold(world, times.cold)
        say(`empty pool: ${shown(median(cold.ours))} ms`)
        const density = await fillHost(world, effort.quick ? 3 : 40)
        const rows = [...warm.measured, cold].map(({ what, ours, floorName, floor }) => [
          what,
          String(ours.length),
          shown(median(ours)),
          shown(quantile(ours, 0.99)),
          floorName,
          shown(median(floor)),
          shownRatio(median(ours) / median(floor)),
        ])
        const timings: Table = {
          title: 'How long it takes',
          columns: ['what', 'times', 'p50 ms', 'p99 ms', 'floor', 'its p50 ms', 'ratio'],
          rows,
        }
        return {
          how: `Requests to a web process, one at a time, while nothing else happens on the host; a worker of its own keeps ${poolSize} machines warm, and they are idle again before each batch. Machines run with ${knownAcceleration(world.config.cacheDir) === 'kvm' ? 'KVM' : 'software emulation'}. The floor of a create is the driver's part of the same create; that of a command or a sandbox is the same done by the driver without API, database and worker between, in turns with ours.`,
          tables: [timings, ...density],
          goals: [...warm.goals, goal('POST /api/v1/vms with an empty pool, p50', cold.ours, 700)],
        }
      }),
    ),
}

/** What needs the pool. */
async function measureWarm(
  world: World,
  times: ReturnType<typeof timesOf>,
  say: (line: string) => void,
): Promise<{ measured: Measured[]; goals: Goal[] }> {
  const host = await startHost(world, poolSize)
  const creates = await createInBatches(host, times.batches)
  say(
    `warm create: ${shown(median(creates.map((one) => one.ms)))} ms, from ${[...new Set(creates.map((one) => one.from))].join(' and ')}`,
  )
  const exec = await measureExec(host, times.execs)
  say(`exec true: ${shown(median(exec.ours))} ms`)
  const sandboxes = await measureSandboxes(host, times.sandboxes)
  say(`sandbox: ${shown(median(sandboxes.ours))} ms`)
  await host.stop()
  const ours = creates.map((one) => one.ms)
  const floor = creates.map((one) => one.driverMs)
  const share = creates.map((one) => one.ms - one.driverMs)
  return {
    measured: [{ what: 'create, warm pool', ours, floorName: 'the driver’s part', floor }, exec, sandboxes],
    goals: [
      goal('POST /api/v1/vms from the warm pool to 201 running, p50', ours, 60),
      goal('all of that but the driver’s part, p50', share, 25),
      goal('exec true on a running VM, p50', exec.ours, 100),
      goal('a sandbox that prints from Python, p50', sandboxes.ours, 1500),
    ],
  }
}

async function createInBatches(
  host: VmHost,
  batches: number,
): Promise<{ ms: number; driverMs: number; from: string }[]> {
  const creates = []
  for (let batch = 0; batch < batches; batch++) {
    await host.calm(0)
    const made = []
    for (let one = 0; one < poolSize; one++) made.push(await host.create())
    for (const { id } of made) await host.remove(id)
    creates.push(...made)
  }
  return creates
}

/** The same command through the API and by the driver alone, in turns. */
function measureExec(host: VmHost, times: number): Promise<Measured> {
  return withNode(0, async (node) => {
    const { machine } = await node.compute.take(newSpec())
    const { id } = await host.create()
    await host.calm(1)
    const ours: number[] = []
    const floor: number[] = []
    for (let turn = 0; turn < times; turn++) {
      const { status, body, ms } = await host.call<{ exit_code: number }>('POST', `/${id}/envd/exec`, {
        command: 'true',
      })
      if (status !== 200 || body.exit_code !== 0) throw new Error(`exec answered ${status} ${JSON.stringify(body)}`)
      ours.push(ms)
      floor.push((await execInGuest(machine, { argv: ['/bin/bash', '-lc', 'true'], timeoutMs: 60_000 })).durationMs)
      await pause(betweenExecsMs)
    }
    await host.remove(id)
    return { what: 'exec true', ours, floorName: 'the driver alone', floor }
  })
}

/** The same program in a fresh machine each time, through the API and by the driver alone. */
function measureSandboxes(host: VmHost, times: number): Promise<Measured> {
  return withNode(1, async (node) => {
    node.compute.fillPool()
    const ours: number[] = []
    const floor: number[] = []
    for (let turn = 0; turn < times; turn++) {
      await host.calm(0)
      await until(
        'the floor’s machine is warm and idle',
        async () => node.compute.warm === 1 && (await coresOf([...(await node.qemus()).values()])) < idleCores,
      )
      const { status, body, ms } = await host.call<{ vm: { vm_id: string }; command: { stdout: string } }>(
        'POST',
        '/sandbox',
        { language: 'python', code: program },
      )
      if (status !== 201 || body.command.stdout !== '42\n')
        throw new Error(`a sandbox answered ${status} ${JSON.stringify(body)}`)
      ours.push(ms)
      floor.push(await runAlone(node))
      await host.remove(body.vm.vm_id)
    }
    return { what: 'sandbox, Python', ours, floorName: 'the driver alone', floor }
  })
}

/** Works with a driver of its own in this process, and ends its machines whatever happens. */
async function withNode<Result>(poolSize: number, work: (node: TestNode) => Promise<Result>): Promise<Result> {
  const node = await startNode(poolSize)
  try {
    return await work(node)
  } finally {
    await node.stop()
  }
}

/** A machine taken, the program sent, run and read, the machine thrown away; the last is not counted. */
async function runAlone(node: TestNode): Promise<number> {
  const spec = newSpec({ folder: 'none' })
  const startedAt = performance.now()
  const { machine } = await node.compute.take(spec)
  const file = '/home/user/main.py'
  const { stdout } = await execInGuest(machine, {
    argv: ['/bin/bash', '-c', 'cat > "$0" && exec "$@" < /dev/null', file, 'python3', file],
    stdin: program,
    timeoutMs: 60_000,
  })
  const ms = performance.now() - startedAt
  if (stdout !== '42\n') throw new Error(`the driver's machine printed ${stdout}`)
  await node.compute.destroy(spec.id)
  return ms
}

async function measureCold(world: World, times: number): Promise<Measured> {
  const host = await startHost(world, 0)
  const creates = []
  for (let one = 0; one < times; one++) {
    await host.calm(0)
    const made = await host.create()
    creates.push(made)
    await host.remove(made.id)
  }
  await host.stop()
  return {
    what: 'create, empty pool',
    ours: creates.map((one) => one.ms),
    floorName: 'the driver’s part',
    floor: creates.map((one) => one.driverMs),
  }
}

function goal(what: string, measured: readonly number[], mostMs: number): Goal {
  const p50 = median(measured)
  return { what, wanted: `≤ ${mostMs} ms`, measured: `${shown(p50)} ms`, met: p50 <= mostMs }
}
