/**
 * The saved moment of a booted template, from which new machines continue: one for each size, made at first use.
 * Its memory file is shared copy-on-write by all machines restored from it, so it is never written again.
 */
import { execFile } from 'node:child_process'
import { chmodSync, chownSync, closeSync, copyFileSync, existsSync, ftruncateSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { newUuid } from '#src/platform/ids.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { chooseAddress } from './loopback-addresses.ts'
import { openLine } from './guest-line.ts'
import { withHostLock } from './host-lock.ts'
import type { ComputeNode } from './compute-node.ts'
import { snapshotPlaces, socketsFolder, type SnapshotPlaces } from './places.ts'
import { connectQmp } from './qmp.ts'
import { deviceListVersion, findQemus, killQemu, startQemu } from './qemu.ts'
import { saveState } from './saving.ts'
import { baseDiskMb } from './templates.ts'

const run = promisify(execFile)
const imageTimeoutMs = 30_000
/** A cold boot and the warming, under emulation on a busy host. */
const warmLimitMs = 3 * 60_000

/** What a snapshot fits besides the host: the number of processors and the memory. */
export type Size = { vcpuCount: number; memoryMb: number }

/** Where the snapshot of this size is or would be. */
export function findSnapshot(node: ComputeNode, size: Size): { places: SnapshotPlaces; made: boolean } {
  const places = snapshotPlaces(node.roots.cacheDir, keyOf(node, size))
  return { places, made: existsSync(places.made) }
}

/** Makes the snapshot unless it is there. @throws Error when the template does not come up. */
export async function ensureSnapshot(node: ComputeNode, size: Size): Promise<SnapshotPlaces> {
  const { places, made } = findSnapshot(node, size)
  if (made) return places
  const folder = join(node.roots.cacheDir, 'snapshots')
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  await withHostLock(join(folder, 'lock'), () => node.log.info('another Berth on this host makes a snapshot'), async () => {
    if (existsSync(places.made)) return
    const building = snapshotPlaces(node.roots.cacheDir, 'building')
    // We hold the lock: whatever is half made, or still runs, was left by a worker that died.
    for (const [machineUuid, pid] of await findQemus(building.folder, node.user)) await killQemu(pid, machineUuid, node.user)
    rmSync(building.folder, { recursive: true, force: true })
    mkdirSync(building.folder, { mode: 0o755 })
    await makeSnapshot(node, size, building)
    await run('qemu-img', ['create', '-q', '-u', '-f', 'qcow2', '-F', 'qcow2', '-b', places.disk, building.overlay, `${baseDiskMb}M`], { timeout: imageTimeoutMs })
    for (const name of readdirSync(building.folder)) chmodSync(join(building.folder, name), 0o644)
    rmSync(places.folder, { recursive: true, force: true })
    renameSync(building.folder, places.folder)
  })
  return places
}

async function makeSnapshot(node: ComputeNode, size: Size, building: SnapshotPlaces): Promise<void> {
  const machineUuid = newUuid()
  const socket = join(socketsFolder(node.roots.runDir), machineUuid)
  const folderDisk = join(building.folder, 'folder.qcow2')
  const errors = join(building.folder, 'qemu.log')
  await run('qemu-img', ['create', '-q', '-f', 'qcow2', '-F', 'raw', '-b', node.template.places.baseImage, building.disk], { timeout: imageTimeoutMs })
  copyFileSync(node.template.places.folderDisk, folderDisk)
  const memory = openSync(building.memory, 'w')
  ftruncateSync(memory, size.memoryMb * 1024 * 1024)
  closeSync(memory)
  for (const path of [building.disk, folderDisk, building.memory]) giveToQemu(node, path)
  const places = { disk: building.disk, errors, qmp: `${socket}.qmp`, line: `${socket}.con` }
  const pid = await startQemu({
    machineUuid, acceleration: node.acceleration, ...size, memory: { from: 'making', path: building.memory },
    template: node.template.places, places, folderDisk, ...(await chooseAddress()), stateFile: null, user: node.user,
  })
  try {
    const qmp = await connectQmp(places.qmp, () => existsSync(`/proc/${pid}`)).catch((error: Error) => { throw new Error(`${error.message}: ${readFileSync(errors, 'utf8')}`) })
    const line = await openLine(places.line)
    await line.warm(warmLimitMs)
    await qmp.execute('stop')
    await saveState(qmp, `${socket}.sav`, building.state, false)
    await qmp.execute('quit')
    await qmp.closed
    line.close()
    rmSync(folderDisk)
    rmSync(errors)
    writeFileSync(building.made, JSON.stringify({ ...size, qemu: node.qemuVersion, acceleration: node.acceleration }))
  } finally {
    await killQemu(pid, machineUuid, node.user)
    for (const end of ['qmp', 'con']) rmSync(`${socket}.${end}`, { force: true })
  }
}

/** QEMU opens its files as its own user. */
export function giveToQemu(node: Pick<ComputeNode, 'user'>, path: string): void {
  if (node.user) chownSync(path, node.user.uid, node.user.gid)
}

function keyOf(node: ComputeNode, size: Size): string {
  const processor = /^model name\s*:.*$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[0] ?? ''
  const hash = sha256([node.template.hash, node.qemuVersion, node.acceleration, processor, deviceListVersion].join('\n')).toString('hex').slice(0, 16)
  return `base-${hash}-${size.vcpuCount}x${size.memoryMb}`
}
