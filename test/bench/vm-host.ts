/** A Berth with real VMs for benchmarks: web and worker as processes, and helpers that wait until they are idle. */
import { setTimeout as pause } from 'node:timers/promises'
import { machinesFolder } from '#src/drivers/compute/places.ts'
import { findQemus } from '#src/drivers/compute/qemu/processes.ts'
import { readRecords } from '#src/drivers/compute/records.ts'
import { prepareVms } from '#src/start/vms.ts'
import type { Command } from '../support/command.ts'
import { until } from '../support/until.ts'
import { cpuMsOf } from './processes.ts'
import { startProcess, type World } from './world.ts'

const fillLimitMs = 300_000
const calmLimitMs = 120_000
const watchedMs = 500
/** What one idle machine may use of a core; more means that it still starts. */
const idleShare = 0.05

/** One request's answer and how long it took. */
export type Timed<Body> = { status: number; body: Body; ms: number }

/** A Berth whose worker keeps that many machines warm. */
export type VmHost = {
  call: <Body>(method: string, path: string, body?: unknown) => Promise<Timed<Body>>
  /** Makes a VM: how long it took in all, how much of it in the driver, and where its machine came from. */
  create: () => Promise<{ id: string; ms: number; driverMs: number; from: string }>
  /** Deletes a VM; its machine may run for a moment longer. */
  remove: (id: string) => Promise<void>
  /** Waits until the pool is full, nothing else of this host's machines is left but `running`, and none of them works. */
  calm: (running: number) => Promise<void>
  /** The process ids of the QEMUs. */
  machines: () => Promise<number[]>
  /** The process id of the worker. */
  workerPid: number
  stop: () => Promise<void>
}

/**
 * Gets the templates ready, starts the web process and does the work; no machine is left afterwards, whatever happens.
 * @throws Error saying why VMs cannot run here.
 */
export async function withVms<Result>(
  world: World,
  work: (webPid: number) => Promise<Result>,
  withDatabases = false,
): Promise<Result> {
  const problem = await prepareVms(world.config, process.stdout, withDatabases)
  if (problem) throw new Error(problem)
  const web = await startProcess(world, 'web')
  try {
    return await work(web.child.pid!) // it listens, so it was started
  } finally {
    await world.endAll()
    for (const pid of await machinesOf(world)) process.kill(pid, 'SIGKILL') // they outlive their worker
  }
}

async function machinesOf(world: World): Promise<number[]> {
  return [...(await findQemus(machinesFolder(world.dataDir))).values()]
}

/** Starts a worker beside the web process. `settings` are further environment variables. */
export async function startHost(
  world: World,
  pool: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<VmHost> {
  const worker = await world.start(['workers/main.ts'], /the worker is ready/, {
    BERTH_VM_POOL: String(pool),
    ...settings,
  })
  const token = await world.token()
  const call = async <Body>(method: string, path: string, body?: unknown): Promise<Timed<Body>> => {
    const startedAt = performance.now()
    const answer = await fetch(`${world.url}/api/v1/vms${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: (text ? JSON.parse(text) : null) as Body, ms: performance.now() - startedAt } // the caller says what it expects
  }
  const machines = (): Promise<number[]> => machinesOf(world)
  const warm = (): number =>
    readRecords(world.config).records.filter((record) => record.id === null && record.reached).length
  return {
    call,
    machines,
    workerPid: worker.child.pid!, // it is ready, so it was started
    async create() {
      const { status, body, ms } = await call<{ vm_id: string; status: string; message?: string }>('POST', '', {})
      if (status !== 201 || body.status !== 'running')
        throw new Error(`a VM was not made: ${status} ${body.status ?? ''} ${body.message ?? ''}`)
      return { id: body.vm_id, ms, ...(await takenBy(worker, body.vm_id)) }
    },
    async remove(id) {
      const { status } = await call('DELETE', `/${id}`)
      if (status !== 204) throw new Error(`a VM was not deleted: ${status}`)
    },
    async calm(running) {
      await until(
        `${pool} machines are warm and ${running} run`,
        async () => warm() === pool && (await machines()).length === pool + running,
        fillLimitMs,
      )
      await until(
        'the machines are idle',
        async () => (await coresOf(await machines())) <= Math.max(1, pool + running) * idleShare,
        calmLimitMs,
      )
    },
    stop: () => world.end(worker),
  }
}

/** How many cores these processes use together, watched for half a second. */
export async function coresOf(pids: readonly number[]): Promise<number> {
  const total = (): number => pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0)
  const before = total()
  await pause(watchedMs)
  return (total() - before) / watchedMs
}

/** The driver's part of a create, as the worker logged it. */
async function takenBy(worker: Command, vmId: string): Promise<{ driverMs: number; from: string }> {
  const line = JSON.parse(await worker.line(new RegExp(`"vm":"${vmId}".*a VM has its machine`))) as {
    tookMs: number
    from: string
  } // as workers/infra/vms.ts logs it
  return { driverMs: line.tookMs, from: line.from }
}
