/**
 * Whether the hardware's virtualization works here. /dev/kvm may open, and even create a VM, and a kernel may still
 * hang in it: the only proof is a kernel that boots. The result is stored until the host's kernel or QEMU changes.
 */
import { execFile, spawn } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { arch, release } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { confined, kvmGroups } from './confinement.ts'
import type { MachineUsers } from './machine-users.ts'
import type { TemplatePlaces } from '#src/drivers/compute/places.ts'
import { probeArguments, qemuProgram } from '#src/drivers/compute/qemu.ts'

/** How machines run here: with the hardware's help, or some ten times slower without. */
export type Acceleration = 'kvm' | 'emulation'
type Verdict = { host: string; qemu: string; user: number | string; acceleration: Acceleration }

/** A working KVM powers the probe off within one second. */
const probeLimitMs = 5_000
const versionTimeoutMs = 10_000

/** QEMU's version string, on which snapshots depend. */
export async function qemuVersion(): Promise<string> {
  const { stdout } = await promisify(execFile)(qemuProgram, ['--version'], { timeout: versionTimeoutMs })
  return stdout.split('\n')[0]!.trim()
}

/** The verdict of an earlier probe on this host, or emulation. Reads one small file. */
export function knownAcceleration(cacheDir: string): Acceleration {
  return readVerdict(cacheDir)?.acceleration ?? 'emulation'
}

/** Probes by booting the template's kernel, unless the verdict for this host, QEMU and user is known. */
export async function probeAcceleration(
  cacheDir: string,
  template: Pick<TemplatePlaces, 'kernel' | 'initramfs'>,
  users: MachineUsers | null,
): Promise<Acceleration> {
  const current = {
    host: `${arch()} ${release()}`,
    qemu: await qemuVersion(),
    user: users ? 'its own' : process.getuid!(),
  }
  const known = readVerdict(cacheDir)
  if (known && known.host === current.host && known.qemu === current.qemu && known.user === current.user)
    return known.acceleration
  const acceleration = (await bootsWithKvm(template, users, join(cacheDir, 'probe'))) ? 'kvm' : 'emulation'
  await mkdir(cacheDir, { recursive: true })
  const place = verdictPlace(cacheDir)
  await writeFile(`${place}.${process.pid}`, JSON.stringify({ ...current, acceleration } satisfies Verdict))
  await rename(`${place}.${process.pid}`, place)
  return acceleration
}

function verdictPlace(cacheDir: string): string {
  return join(cacheDir, 'hardware.json')
}

function readVerdict(cacheDir: string): Verdict | undefined {
  try {
    return JSON.parse(readFileSync(verdictPlace(cacheDir), 'utf8')) as Verdict // written by us
  } catch {
    return undefined // not probed yet
  }
}

async function bootsWithKvm(
  template: Pick<TemplatePlaces, 'kernel' | 'initramfs'>,
  users: MachineUsers | null,
  holder: string,
): Promise<boolean> {
  try {
    accessSync('/dev/kvm', constants.F_OK)
  } catch {
    return false
  }
  const uid = users?.take(holder) ?? null
  const { program, args } = confined(uid, {}, [qemuProgram, ...probeArguments(template)], kvmGroups())
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: '/', stdio: 'ignore' })
    const limit = setTimeout(() => child.kill('SIGKILL'), probeLimitMs)
    const end = (worked: boolean): void => {
      clearTimeout(limit)
      if (uid !== null) users?.free(uid, holder)
      resolve(worked)
    }
    child.once('error', () => end(false))
    child.once('exit', (code) => end(code === 0))
  })
}
