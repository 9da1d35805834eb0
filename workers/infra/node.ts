/** This worker's node: its id, its capacity, and its heartbeat. */
import { existsSync, mkdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs'
import { hostname, totalmem } from 'node:os'
import { join } from 'node:path'
import { newUuid } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import type { Background } from '#src/platform/services.ts'
import { diskFull, isBelowFloor } from '#src/resources/infra/file-room.ts'
import { reportNode, takeNode, type NodeReport } from '#src/resources/infra/nodes.ts'

const heartbeatMs = 5_000
/**
 * Memory is overcommitted by this factor: an idle VM of 2 GB uses some 60 MB of its own, because restored machines
 * share their template's memory. BERTH_VM_MEMORY_MB sets it.
 */
const overcommit = 2
const hostShare = 0.8
/**
 * Disks only take what was written, at first some 100 MB of a VM's 10 GiB, so they are overcommitted too.
 * BERTH_VM_DISK_GB sets it.
 */
const diskOvercommit = 4
const diskMbMin = 1000 * 1024

/** The node's id: created once, stored in the data folder. */
export function readNodeId(dataDir: string): string {
  const file = join(dataDir, 'node.id')
  if (!existsSync(file)) {
    mkdirSync(dataDir, { recursive: true })
    writeFileSync(file, newUuid(), { flag: 'wx', mode: 0o600 })
  }
  return readFileSync(file, 'utf8').trim()
}

/** A worker's claim on its node: its number, and a function that reports immediately. */
export type NodeHold = { workerNumber: number; report: () => Promise<void> }

/**
 * Takes the node over from the previous worker, and reports it every 5 s until the signal fires.
 * @param onLost called when a later worker has the node: then this one must end.
 */
export async function holdNode(
  { db, config }: Background,
  node: Pick<NodeReport, 'id' | 'agentUrl'> & {
    acceleration: () => NodeReport['acceleration']
    unavailableReason: () => string | null
    templates: () => NodeReport['templates']
  },
  signal: AbortSignal,
  onLost: () => void,
): Promise<NodeHold> {
  const memoryMb = config.vmMemoryMb || Math.floor((totalmem() / 1024 / 1024) * hostShare * overcommit)
  const { blocks, bsize } = statfsSync(config.dataDir)
  const diskMb =
    config.vmDiskGb * 1024 || Math.max(diskMbMin, Math.floor((blocks * bsize * diskOvercommit) / 1024 / 1024))
  const now = async (): Promise<Omit<NodeReport, 'workerNumber'>> => {
    const unavailableReason =
      node.unavailableReason() ?? ((await isBelowFloor(config, config.dataDir)) ? diskFull().message : null)
    return {
      id: node.id,
      agentUrl: node.agentUrl,
      acceleration: node.acceleration(),
      unavailableReason,
      templates: node.templates(),
      name: hostname(),
      memoryMb,
      diskMb,
    }
  }
  const workerNumber = await takeNode(db, await now())
  const report = async (): Promise<void> => {
    if ((await reportNode(db, { ...(await now()), workerNumber })) || signal.aborted) return
    log.error({ node: node.id }, 'another worker was started on this node and has taken it over: this one ends')
    onLost()
  }
  const timer = setInterval(() => {
    report().catch((error: Error) =>
      log.warn({ reason: error.message }, 'the heartbeat of the node could not be written'),
    )
  }, heartbeatMs)
  signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  return { workerNumber, report }
}
