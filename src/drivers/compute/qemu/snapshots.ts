/**
 * Snapshots of a booted template, from which new machines start: one for each size, made at first use. Machines of all
 * tenants start from them. So a snapshot is made under a user of its own, and then taken over and never written again;
 * machines map its memory file copy-on-write.
 */
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { newUuid } from '#src/platform/ids.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { chooseAddress } from '#src/drivers/compute/loopback-addresses.ts'
import { openLine } from '#src/drivers/compute/guest/line.ts'
import { withHostLock } from '#src/drivers/compute/host-lock.ts'
import type { ComputeNode } from '#src/drivers/compute/compute-node.ts'
import { createOverlay } from './disk-images.ts'
import { giveTo, mayBeMachine, takeBack } from './machine-users.ts'
import { snapshotPlaces, snapshotsFolder, socketsFolder, type SnapshotPlaces } from '#src/drivers/compute/places.ts'
import { deviceListVersion, startQemu } from '#src/drivers/compute/qemu.ts'
import { endQemus, killQemu } from './processes.ts'
import { connectQmp } from './qmp.ts'
import { saveState } from './saving.ts'
import type { TemplateName } from '#src/drivers/compute/templates/names.ts'

/** The time limit for a cold boot and warming up, under emulation on a busy host. */
const warmLimitMs = 5 * 60_000

/** What a snapshot depends on besides the host: the number of processors and the memory. */
export type Size = { vcpuCount: number; memoryMb: number }

/** The path of the snapshot of this size, whether or not it exists. */
export function findSnapshot(
  node: ComputeNode,
  name: TemplateName,
  size: Size,
): { places: SnapshotPlaces; made: boolean } {
  const places = snapshotPlaces(node.roots.cacheDir, keyOf(node, name, size))
  return { places, made: existsSync(places.made) }
}

/** Makes the snapshot unless it exists. @throws Error when the template does not boot. */
export async function ensureSnapshot(node: ComputeNode, name: TemplateName, size: Size): Promise<SnapshotPlaces> {
  const { places, made } = findSnapshot(node, name, size)
  if (made) return places
  const folder = snapshotsFolder(node.roots.cacheDir)
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  await withHostLock(
    join(folder, name === 'base' ? 'lock' : `${name}.lock`),
    () => node.log.info('another Berth on this host makes a snapshot'),
    async () => {
      if (existsSync(places.made)) return
      const building = snapshotPlaces(node.roots.cacheDir, name === 'base' ? 'building' : `${name}-building`)
      // We hold the lock, so anything incomplete or still running was left by a worker that died.
      await endQemus(building.folder, (_machineUuid, uid) => mayBeMachine(node.users, uid))
      rmSync(building.folder, { recursive: true, force: true })
      mkdirSync(building.folder, { mode: 0o711 })
      const uid = node.users?.take(building.folder) ?? null
      try {
        await makeSnapshot(node, name, size, building, uid)
        await createOverlay(uid, building.overlay, { path: places.disk, format: 'qcow2' }, node.templates[name].diskMb)
      } finally {
        if (uid !== null) node.users?.free(uid, building.folder)
      }
      for (const name of readdirSync(building.folder)) takeBack(join(building.folder, name), 0o444)
      chmodSync(building.folder, 0o755)
      rmSync(places.folder, { recursive: true, force: true })
      renameSync(building.folder, places.folder)
    },
  )
  return places
}

async function makeSnapshot(
  node: ComputeNode,
  name: TemplateName,
  size: Size,
  building: SnapshotPlaces,
  uid: number | null,
): Promise<void> {
  const machineUuid = newUuid()
  const socket = join(socketsFolder(node.roots.runDir), machineUuid)
  const places = { qmp: `${socket}.qmp`, line: `${socket}.con` }
  const { places: template, diskMb } = node.templates[name]
  const { folderDisk } = building
  const base = { path: template.baseImage, format: 'raw' } as const
  await createOverlay(uid, building.disk, base, diskMb)
  copyFileSync(template.folderDisk, folderDisk)
  const memory = openSync(building.memory, 'w')
  ftruncateSync(memory, size.memoryMb * 1024 * 1024)
  closeSync(memory)
  for (const path of [folderDisk, building.memory]) giveTo(uid, path)
  const { pid, errors } = await startQemu({
    machineUuid,
    acceleration: node.acceleration,
    vcpuCount: size.vcpuCount,
    memoryMb: size.memoryMb,
    memory: { from: 'making', path: building.memory },
    template,
    disk: { path: building.disk, format: 'qcow2', below: base },
    folderDisk,
    places,
    mark: socket,
    ...(await chooseAddress(false)),
    stateFile: null,
    lent: null,
    uid,
  })
  try {
    const qmp = await connectQmp(places.qmp, () => existsSync(`/proc/${pid}`)).catch((error: Error) => {
      throw new Error(`${error.message}: ${errors()}`)
    })
    const line = await openLine(places.line)
    await line.warm(warmLimitMs)
    await qmp.execute('stop')
    await saveState(qmp, { socketPath: `${socket}.sav`, file: building.state, uid, memoryMb: 0 })
    await qmp.execute('quit')
    await qmp.closed
    line.close()
    if (name !== 'postgres') rmSync(folderDisk) // each machine gets an empty one; that of `postgres` belongs to the memory
    const { vcpuCount, memoryMb } = size
    writeFileSync(
      building.made,
      JSON.stringify({ vcpuCount, memoryMb, qemu: node.qemuVersion, acceleration: node.acceleration }),
    )
  } finally {
    await killQemu(pid, machineUuid, uid)
    for (const path of Object.values(places)) rmSync(path, { force: true })
  }
}

function keyOf(node: ComputeNode, name: TemplateName, size: Size): string {
  const processor = /^model name\s*:.*$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[0] ?? ''
  const hash = sha256(
    [node.templates[name].hash, node.qemuVersion, node.acceleration, processor, deviceListVersion].join('\n'),
  )
    .toString('hex')
    .slice(0, 16)
  return `${name}-${hash}-${size.vcpuCount}x${size.memoryMb}`
}
