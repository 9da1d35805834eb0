/** Runs programs that read what a guest has written: each as a user that owns nothing else, without privileges, with limits. */
import { statSync } from 'node:fs'
import { dirname } from 'node:path'

/** What a program may use at most. */
export type Allowance = { memoryBytes?: number; processorSeconds?: number; fileBytes?: number; threads?: number }

/** A file that a program may read although its user may not: open at this descriptor (see guest/host/lend.c). */
export type Lent = { library: string; path: string }

/** The descriptor of a lent file in the program that it is lent to. */
export const lentDescriptor = 6

/**
 * The command line that runs a program so.
 * @param uid whom it runs as; null is ourselves, when we are not root.
 * @param groups what it is a member of beside its own group.
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

/** The environment and folder of a program that a file is lent to. The folder, because a preloaded path may hold no space or colon. */
export function lending(lent: Lent | null): { cwd: string; env: Record<string, string> } {
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }
  if (!lent) return { cwd: '/', env }
  const name = lent.library.slice(dirname(lent.library).length + 1)
  return {
    cwd: dirname(lent.library),
    env: { ...env, LD_PRELOAD: `./${name}`, LENT_PATH: lent.path, LENT_FILE: String(lentDescriptor) },
  }
}

/** The group that opens /dev/kvm, where a member of it may and others may not: QEMU must be one. */
export function kvmGroups(): readonly number[] {
  const device = statSync('/dev/kvm', { throwIfNoEntry: false })
  const [others, group] = [0o006, 0o060]
  if (!device || device.gid === 0 || (device.mode & others) === others || (device.mode & group) !== group) return []
  return [device.gid]
}
