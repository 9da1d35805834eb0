/** A driver of real machines for a test, in a folder of its own; `stop` removes what it started. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { pino } from 'pino'
import { createCompute } from '#src/drivers/compute/compute.ts'
import { execInGuest, type GuestResult } from '#src/drivers/compute/guest/exec.ts'
import type { Compute, Machine, MachineSpec } from '#src/drivers/compute/machine.ts'
import { machinesFolder } from '#src/drivers/compute/places.ts'
import { findQemus } from '#src/drivers/compute/qemu/processes.ts'
import { readRecords, type MachineRecord } from '#src/drivers/compute/records.ts'
import { readConfig } from '#src/platform/config.ts'
import { encodeId, newUuid } from '#src/platform/ids.ts'

/** A machine's end as the driver reported it. */
export type Ended = { id: string; how: 'guest' | 'lost' }

/** The test's own node. */
export type TestNode = {
  readonly compute: Compute
  readonly dataDir: string
  readonly ended: Ended[]
  /** Called for each connection that a guest opens to its proxy. */
  egress: (id: string, connection: Duplex) => void
  /** The process ids of the QEMUs of this node. */
  qemus(): Promise<Map<string, number>>
  record(id: string): MachineRecord
  /** Like a worker that is killed and started again: the old driver stops, and a new one adopts the machines. */
  restart(): Promise<Machine[]>
  stop(): Promise<void>
}

/** Starts a node that keeps that many machines warm. */
export async function startNode(poolSize: number): Promise<TestNode> {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-compute-'))
  chmodSync(dataDir, 0o711) // machines run as other users when we are root
  const { cacheDir, vmUids } = readConfig()
  const ended: Ended[] = []
  const make = (): Compute =>
    createCompute({
      cacheDir,
      dataDir,
      runDir: join(dataDir, 'run'),
      poolSize,
      vmUids,
      log: pino({ level: 'warn' }), // why a machine could not be started
      onEgress: (id, connection) => node.egress(id, connection),
      onExit: (id, how) => ended.push({ id, how }),
    })
  let compute = make()
  const node: TestNode = {
    get compute() {
      return compute
    },
    dataDir,
    ended,
    egress: (_id, connection) => connection.destroy(),
    qemus: () => findQemus(machinesFolder(dataDir)),
    record: (id) =>
      readRecords({ cacheDir, dataDir, runDir: join(dataDir, 'run') }).records.find((record) => record.id === id)!, // a test that asks for none fails
    async restart() {
      await compute.close({ keepPool: true })
      compute = make()
      await compute.prepare(() => undefined)
      return compute.adopt()
    },
    async stop() {
      await compute.close()
      for (const pid of (await node.qemus()).values()) process.kill(pid, 'SIGKILL')
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
  await compute.prepare(() => undefined)
  await compute.adopt()
  return node
}

/** A machine of the default size with a new id. */
export function newSpec(wanted: Partial<MachineSpec> = {}): MachineSpec {
  return {
    id: encodeId('vm', newUuid()).slice('vm_'.length),
    template: 'base',
    vcpuCount: 2,
    memoryMb: 2048,
    diskMb: 10_240,
    hostname: 'tester',
    folder: 'new',
    ...wanted,
  }
}

/** Runs a line of bash as `user`, or as root, and waits for it. */
export function bash(
  machine: Machine,
  line: string,
  options: { as?: 'user' | 'root'; timeoutMs?: number } = {},
): Promise<GuestResult> {
  return execInGuest(machine, { argv: ['/bin/bash', '-lc', line], timeoutMs: 20_000, ...options })
}
