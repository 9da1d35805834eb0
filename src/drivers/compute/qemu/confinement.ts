/**
 * Confines programs that read what a guest has written: each runs as a user that owns nothing else, without privileges,
 * with limits.
 */
import { statSync } from 'node:fs'
import { dirname } from 'node:path'

/** The resource limits of a program. */
export type Allowance = { memoryBytes?: number; processorSeconds?: number; fileBytes?: number; threads?: number }

/** A file that a program may read although its user may not: open at this descriptor (see guest/host/lend.c). */
export type Lent = { library: string; path: string }

/** The descriptor of a lent file in the program that it is lent to. */
export const lentDescriptor = 6

/**
 * The command line that runs a program confined.
 * @param uid the user it runs as; null means the current user, when we are not root.
 * @param groups its groups besides its own.
 */
export function confined(
  uid: number | null,
  allowance: Allowance,
  command: readonly string[],
  groups: readonly number[] = [],
): { program: string; args: string[] } {
  const { memoryBytes, processorSeconds, fileBytes, threads } = allowance
  return {
    program: 'prlimit',
    args: [
      '--core=0',
      ...(memoryBytes ? [`--as=${memoryBytes}`] : []),
      ...(processorSeconds ? [`--cpu=${processorSeconds}`] : []),
      ...(fileBytes ? [`--fsize=${fileBytes}`] : []),
      // The kernel counts the threads of a user, not of a process: only for a user of its own.
      ...(threads && uid !== null ? [`--nproc=${threads}`] : []),
      'setpriv',
      '--no-new-privs',
      ...(uid === null
        ? []
        : [
            `--reuid=${uid}`,
            `--regid=${uid}`,
            groups.length > 0 ? `--groups=${groups.join(',')}` : '--clear-groups',
            '--bounding-set=-all',
            '--inh-caps=-all',
          ]),
      ...command,
    ],
  }
}

/**
 * The environment and folder of a program that a file is lent to. The folder is needed because a preloaded path must
 * not contain a space or a colon.
 */
export function lending(lent: Lent | null): { cwd: string; env: Record<string, string> } {
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }
  if (!lent) return { cwd: '/', env }
  const name = lent.library.slice(dirname(lent.library).length + 1)
  return {
    cwd: dirname(lent.library),
    env: { ...env, LD_PRELOAD: `./${name}`, LENT_PATH: lent.path, LENT_FILE: String(lentDescriptor) },
  }
}

/** The group that may open /dev/kvm, if only its members may: QEMU must be a member. */
export function kvmGroups(): readonly number[] {
  const device = statSync('/dev/kvm', { throwIfNoEntry: false })
  const [others, group] = [0o006, 0o060]
  if (!device || device.gid === 0 || (device.mode & others) === others || (device.mode & group) !== group) return []
  return [device.gid]
}
