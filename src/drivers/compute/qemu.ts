/** Starts QEMU processes: each under its own system user, with only the descriptors that it needs. */
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { arch } from 'node:process'
import type { Readable } from 'node:stream'
import { bindSocket } from './ssh/bound-sockets.ts'
import { confined, kvmGroups, lending, type Lent } from './qemu/confinement.ts'
import { blockOptions, type Image } from './qemu/disk-images.ts'
import type { MachinePlaces, TemplatePlaces } from './places.ts'

/**
 * The origin of the memory: empty, a snapshot's file mapped copy-on-write, or the same file while the snapshot is being
 * made.
 */
export type Memory = { from: 'empty' } | { from: 'snapshot' | 'making'; path: string }

/** One machine's start. */
export type QemuStart = {
  machineUuid: string
  acceleration: 'kvm' | 'emulation'
  vcpuCount: number
  memoryMb: number
  memory: Memory
  template: Pick<TemplatePlaces, 'kernel' | 'initramfs'>
  disk: Image
  folderDisk: string
  places: Pick<MachinePlaces, 'qmp' | 'line'>
  /** Identifies the machine's process on its command line: a path below the node's folder of sockets. */
  mark: string
  /** Port 22 of the guest answers here. */
  address: string
  port: number
  /** Port 5432 of the guest answers here; null when it runs no Postgres. */
  postgresPort: number | null
  /** A file whose content QEMU loads as its state (descriptor 3), or null for a boot. */
  stateFile: string | null
  /** A file that it reads although its user may not: the snapshot's memory, or an organization's template. */
  lent: Lent | null
  /** Its system user; null is our own, when we are not root. */
  uid: number | null
}

/** A started QEMU. `errors` returns the end of its standard error. */
export type Started = { pid: number; errors: () => string }

/** `emulatedCpu`: all that can be emulated, but for copies of x64 that are fast in hardware and emulated byte by byte. */
const boardOf: Record<string, { program: string; board: string; console: string; emulatedCpu: string }> = {
  x64: {
    program: 'qemu-system-x86_64',
    board: 'microvm,isa-serial=on,rtc=on',
    console: 'ttyS0',
    emulatedCpu: 'max,-erms,-fsrm',
  },
  // not tried on such a host yet
  arm64: { program: 'qemu-system-aarch64', board: 'virt,gic-version=max', console: 'ttyAMA0', emulatedCpu: 'max' },
}
const here = boardOf[arch] ?? boardOf['x64']!
/** QEMU's translation cache, in MB; the default, a share of all memory, makes idle machines large. */
const translationCacheMb = 128
/** How much of the guest's console is kept, in bytes, so that a guest cannot fill the host's disk with it. */
const consoleBytes = 64 * 1024
/**
 * The nice value of machines (0 to 19): Postgres, the web process and workers go first when processors are busy, so that
 * computing guests do not slow down requests. Among themselves machines are equal, and on an idle host they get everything.
 */
const niceness = 15
/** How much of QEMU's standard error is kept, in characters; after so many in all it is no longer read. */
const errorsKept = 2_000
const errorsHeard = 64 * 1024
/** The descriptors that are passed to QEMU, as its arguments name them. */
const descriptors = { state: 3, qmp: 4, line: 5 } as const
/** One for each processor, and the pool of 64 that reads disks, several times over. */
const threadsMax = 512

/** The program that runs machines on this processor. */
export const qemuProgram: string = here.program

/** Increase this when the device list changes, because older snapshots are then useless. */
export const deviceListVersion = 3

/**
 * Starts a QEMU that continues when this process ends.
 * @throws Error when the program cannot be started at all; a QEMU that ends at once is seen by whoever connects.
 */
export async function startQemu(start: QemuStart): Promise<Started> {
  const files: number[] = []
  const opened = (path: string | undefined): number | 'ignore' => {
    if (path === undefined) return 'ignore'
    files.push(openSync(path, 'r'))
    return files.at(-1)!
  }
  const [qmp, line] = [await bindSocket(start.places.qmp), await bindSocket(start.places.line)]
  try {
    const { program, args } = confined(
      start.uid,
      { threads: threadsMax },
      [qemuProgram, ...qemuArguments(start)],
      start.acceleration === 'kvm' ? kvmGroups() : [],
    )
    const child = spawn(program, args, {
      detached: true,
      ...lending(start.lent),
      stdio: [
        'ignore',
        'ignore',
        'pipe',
        opened(start.stateFile ?? undefined),
        qmp.descriptor,
        line.descriptor,
        opened(start.lent?.path),
      ],
    })
    if (child.pid) setPriority(child.pid, niceness) // at once: threads inherit it from the one that starts them
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    })
    child.unref()
    return { pid: child.pid!, errors: listen(child.stderr as Readable) }
  } finally {
    for (const file of files) closeSync(file)
    qmp.close()
    line.close()
  }
}

/**
 * Keeps the end of standard error. It is a pipe, because a file could grow without limit; QEMU survives the pipe's end.
 */
function listen(stream: Readable): () => string {
  let heard = 0
  let kept = ''
  stream
    .setEncoding('utf8')
    .on('error', () => stream.destroy())
    .on('data', (text: string) => {
      heard += text.length
      kept = (kept + text).slice(-errorsKept)
      if (heard > errorsHeard) stream.destroy()
    })
  ;(stream as Readable & { unref?: () => void }).unref?.() // it is a pipe, and must not keep this process alive
  return () => kept
}

function qemuArguments(start: QemuStart): string[] {
  const { memory } = start
  const sizeOption = `size=${start.memoryMb}M`
  const backend =
    memory.from === 'empty'
      ? `memory-backend-ram,id=m,${sizeOption}`
      : `memory-backend-file,id=m,${sizeOption},mem-path=${escaped(memory.path)},share=${memory.from === 'making' ? 'on' : 'off'}`
  return [
    '-uuid',
    start.machineUuid,
    '-name',
    escaped(start.mark),
    '-M',
    `${here.board},memory-backend=m`,
    '-object',
    backend,
    ...(start.acceleration === 'kvm'
      ? ['-accel', 'kvm', '-cpu', 'host']
      : ['-accel', `tcg,tb-size=${translationCacheMb}`, '-cpu', here.emulatedCpu]),
    '-m',
    String(start.memoryMb),
    '-smp',
    String(start.vcpuCount),
    '-nodefaults',
    '-no-user-config',
    '-nographic',
    '-no-reboot',
    '-sandbox',
    'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny',
    '-kernel',
    start.template.kernel,
    '-initrd',
    start.template.initramfs,
    '-append',
    kernelLine(start.acceleration),
    ...disk('root', start.disk),
    ...disk('folder', { path: start.folderDisk, format: 'qcow2' }),
    '-device',
    'virtio-rng-device',
    // restrict=on: the guest cannot reach this host; its only way out is the connection that we open into it.
    '-netdev',
    `user,id=net,restrict=on,${forwards(start)}`,
    '-device',
    'virtio-net-device,netdev=net',
    '-device',
    'virtio-serial-device',
    '-chardev',
    `socket,id=line,fd=${descriptors.line},server=on,wait=off`,
    '-device',
    'virtserialport,chardev=line,name=berth',
    '-chardev',
    `ringbuf,id=console,size=${consoleBytes}`,
    '-serial',
    'chardev:console',
    '-chardev',
    `socket,id=qmp,fd=${descriptors.qmp},server=on,wait=off`,
    '-mon',
    'chardev=qmp,mode=control',
    ...(start.stateFile === null ? [] : ['-incoming', 'defer']),
  ]
}

/** The ports of the guest that this host reaches. */
function forwards({ address, port, postgresPort }: QemuStart): string {
  const ssh = `hostfwd=tcp:${address}:${port}-:22`
  return postgresPort === null ? ssh : `${ssh},hostfwd=tcp:${address}:${postgresPort}-:5432`
}

/**
 * The cache is QEMU's default, write-back: what the guest has flushed survives a kill of QEMU. When the host's disk is
 * full, the guest is paused (halting.ts).
 */
function disk(id: string, image: Image): string[] {
  const { file, ...options } = blockOptions(image)
  const device = { ...options, 'node-name': id, discard: 'unmap', file: { ...file, discard: 'unmap' } }
  return ['-blockdev', JSON.stringify(device), '-device', `virtio-blk-device,drive=${id},werror=enospc,rerror=report`]
}

/**
 * An emulated processor does not speculate, so what Linux does against that only costs time. Without the three after it, a
 * guest on a busy host may fail to calibrate its clock and hang.
 */
function kernelLine(acceleration: 'kvm' | 'emulation'): string {
  const emulated =
    arch === 'x64' && acceleration === 'emulation'
      ? ` mitigations=off lpj=4000000 tsc_early_khz=${hostKhz()} no_timer_check`
      : ''
  return `console=${here.console} quiet panic=-1 reboot=t${emulated}`
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
    '-M',
    here.board,
    '-accel',
    'kvm',
    '-cpu',
    'host',
    '-m',
    '256',
    '-smp',
    '1',
    '-nodefaults',
    '-no-user-config',
    '-nographic',
    '-no-reboot',
    '-kernel',
    template.kernel,
    '-initrd',
    template.initramfs,
    '-append',
    `${kernelLine('kvm')} berth.probe`,
  ]
}
