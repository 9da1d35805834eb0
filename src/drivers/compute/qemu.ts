/** Starts QEMU processes and finds them again. A process outlives the worker; it is known by the uuid on its command line. */
import { spawn } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setPriority } from 'node:os'
import { arch } from 'node:process'
import type { MachinePlaces, TemplatePlaces } from './places.ts'

/** Whom QEMU runs as; null is ourselves. */
export type QemuUser = { uid: number; gid: number } | null

/** Where the memory comes from: empty, a snapshot's file shared copy-on-write, or the same file while the snapshot is made. */
export type Memory = { from: 'empty' } | { from: 'snapshot' | 'making'; path: string }

/** One machine's start. */
export type QemuStart = {
  machineUuid: string
  acceleration: 'kvm' | 'emulation'
  vcpuCount: number
  memoryMb: number
  memory: Memory
  template: Pick<TemplatePlaces, 'kernel' | 'initramfs'>
  places: Pick<MachinePlaces, 'disk' | 'errors' | 'qmp' | 'line'>
  folderDisk: string
  /** Port 22 of the guest answers here. */
  address: string
  port: number
  /** A file whose content QEMU loads as its state (descriptor 3), or null for a boot. */
  stateFile: string | null
  user: QemuUser
}

const boardOf: Record<string, { program: string; board: string; console: string }> = {
  x64: { program: 'qemu-system-x86_64', board: 'microvm,isa-serial=on,rtc=on', console: 'ttyS0' },
  arm64: { program: 'qemu-system-aarch64', board: 'virt,gic-version=max', console: 'ttyAMA0' }, // not tried on such a host yet
}
const here = boardOf[arch] ?? boardOf['x64']!
/** What QEMU may translate ahead and keep, in MB; the default, a part of all memory, makes idle machines large. */
const translationCacheMb = 128
/** Kept of the guest's console, in bytes; a guest cannot fill the host's disk with it. */
const consoleBytes = 64 * 1024
/**
 * How far machines stand back where processors are short (nice, 0 to 19): Postgres, the web process and workers go first, so
 * that guests that compute slow no request down. Among themselves machines are equal, and alone they get everything.
 */
const niceness = 10
const killWaitMs = 10_000
const killLookEveryMs = 5

/** The program that runs machines on this processor. */
export const qemuProgram: string = here.program

/** A change of the device list makes older snapshots useless: raise it then. */
export const deviceListVersion = 1

/**
 * Starts a QEMU that goes on when we end.
 * @returns its process id.
 * @throws Error when the program cannot be started at all; a QEMU that ends at once is seen by whoever connects.
 */
export async function startQemu(start: QemuStart): Promise<number> {
  const errors = openSync(start.places.errors, 'a', 0o600)
  const state = start.stateFile === null ? undefined : openSync(start.stateFile, 'r')
  try {
    const child = spawn(qemuProgram, qemuArguments(start), {
      detached: true, cwd: '/', env: { PATH: '/usr/bin:/bin' },
      stdio: ['ignore', 'ignore', errors, ...(state === undefined ? [] : [state])],
      ...(start.user ?? {}),
    })
    if (child.pid) setPriority(child.pid, niceness) // at once: threads get what the one that starts them has
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    })
    child.unref()
    return child.pid!
  } finally {
    closeSync(errors)
    if (state !== undefined) closeSync(state)
  }
}

function qemuArguments(start: QemuStart): string[] {
  const { places, memory } = start
  const sizeOption = `size=${start.memoryMb}M`
  const backend = memory.from === 'empty'
    ? `memory-backend-ram,id=m,${sizeOption}`
    : `memory-backend-file,id=m,${sizeOption},mem-path=${escaped(memory.path)},share=${memory.from === 'making' ? 'on' : 'off'}`
  return [
    '-uuid', start.machineUuid, '-name', `berth-${start.machineUuid}`,
    '-M', `${here.board},memory-backend=m`, '-object', backend,
    ...(start.acceleration === 'kvm' ? ['-accel', 'kvm', '-cpu', 'host'] : ['-accel', `tcg,tb-size=${translationCacheMb}`, '-cpu', 'max']),
    '-m', String(start.memoryMb), '-smp', String(start.vcpuCount),
    '-nodefaults', '-no-user-config', '-nographic', '-no-reboot',
    '-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny',
    '-kernel', start.template.kernel, '-initrd', start.template.initramfs, '-append', kernelLine(start.acceleration),
    ...disk('root', places.disk), ...disk('folder', start.folderDisk),
    '-device', 'virtio-rng-device',
    // restrict=on: the guest reaches nothing of this host; its only way out is the connection we make into it.
    '-netdev', `user,id=net,restrict=on,hostfwd=tcp:${start.address}:${start.port}-:22`, '-device', 'virtio-net-device,netdev=net',
    '-device', 'virtio-serial-device', '-chardev', `socket,id=line,path=${escaped(places.line)},server=on,wait=off`, '-device', 'virtserialport,chardev=line,name=berth',
    '-chardev', `ringbuf,id=console,size=${consoleBytes}`, '-serial', 'chardev:console',
    '-qmp', `unix:${escaped(places.qmp)},server=on,wait=off`,
    ...(start.stateFile === null ? [] : ['-incoming', 'defer']),
  ]
}

/** cache=writeback is QEMU's default: what the guest has flushed survives a kill of QEMU. */
function disk(id: string, path: string): string[] {
  return ['-drive', `id=${id},file=${escaped(path)},format=qcow2,if=none,discard=unmap`, '-device', `virtio-blk-device,drive=${id}`]
}

/** Without the last three, a guest on a busy host may fail to calibrate its clock and hang (microvm.md, trap 1). */
function kernelLine(acceleration: 'kvm' | 'emulation'): string {
  const calibrated = arch === 'x64' && acceleration === 'emulation' ? ` lpj=4000000 tsc_early_khz=${hostKhz()} no_timer_check` : ''
  return `console=${here.console} quiet panic=-1 reboot=t${calibrated}`
}

function hostKhz(): number {
  const assumedMhz = 2500
  const mhz = Number(/^cpu MHz\s*:\s*([\d.]+)/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? assumedMhz)
  return Math.round(mhz * 1000)
}

/** A comma separates QEMU's options; two of them are one comma. */
function escaped(path: string): string {
  return path.replaceAll(',', ',,')
}

/** Arguments of a QEMU that only shows whether the hardware's virtualization works: it powers off by itself. */
export function probeArguments(template: Pick<TemplatePlaces, 'kernel' | 'initramfs'>): string[] {
  return [
    '-M', here.board, '-accel', 'kvm', '-cpu', 'host', '-m', '256', '-smp', '1', '-nodefaults', '-no-user-config', '-nographic', '-no-reboot',
    '-kernel', template.kernel, '-initrd', template.initramfs, '-append', `${kernelLine('kvm')} berth.probe`,
  ]
}

/** The live QEMU processes of this user whose files lie below a folder, by the uuid of their machine. Read from /proc. */
export async function findQemus(folder: string, user: QemuUser): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    const words = Number.isInteger(pid) ? await qemuWords(pid, user) : undefined
    if (words?.some((word) => word.includes(`${folder}/`))) found.set(uuidIn(words), pid)
  }
  return found
}

/** Kills a machine's QEMU and waits until it is gone. Does nothing when this process is another one by now. */
export async function killQemu(pid: number, machineUuid: string, user: QemuUser): Promise<void> {
  const deadline = performance.now() + killWaitMs
  for (let words = await qemuWords(pid, user); words && uuidIn(words) === machineUuid; words = await qemuWords(pid, user)) {
    if (performance.now() > deadline) throw new Error(`QEMU process ${pid} cannot be killed`)
    signal(pid)
    await new Promise((resolve) => setTimeout(resolve, killLookEveryMs))
  }
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error // gone is what we want
  }
}

/** A process's command line, if it is a QEMU with a uuid and of this user: anybody may write our uuid on his own. */
async function qemuWords(pid: number, user: QemuUser): Promise<string[] | undefined> {
  try {
    const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0') // empty for a zombie
    if (!words[0]?.includes('qemu-system') || !words.includes('-uuid')) return undefined
    return statSync(`/proc/${pid}`).uid === (user?.uid ?? process.getuid!()) ? words : undefined
  } catch {
    return undefined // it ended while we looked
  }
}

function uuidIn(words: string[]): string {
  return words[words.indexOf('-uuid') + 1] ?? ''
}
