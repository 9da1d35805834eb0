/**
 * A system user of its own for each machine, when Berth runs as root: a number from a range that nobody else on this
 * host uses, without a name, a home or a login. An attacker who breaks out of a QEMU then owns nothing but that
 * machine's disks. Instances of Berth on one host share the range, so each number in use is a file in a folder of the
 * host.
 */
import { randomInt } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { UidRange } from '#src/platform/settings/readers.ts'
import { formerQemuUser } from '#src/drivers/system-users.ts'

/** The folder that records the numbers in use, for all instances on this host. */
const registryFolder = '/var/lib/berth/vm-users'

/** Assigns users to machines. A user is a number, which is also its group's number. */
export type MachineUsers = {
  readonly range: UidRange
  /** Reserves a user for the machine in this folder. @throws Error when all users of the range are in use. */
  take(folder: string): number
  /** Whether this user is reserved for this folder; reserves it if it is free, as after a move to another host. */
  keep(uid: number, folder: string): boolean
  /** Releases a user. Nothing of it may be left: no process, no file. */
  free(uid: number, folder: string): void
}

/** The users of this range. */
export function createMachineUsers(range: UidRange, registry = registryFolder): MachineUsers {
  const holderOf = (uid: number): string | undefined => {
    try {
      return readFileSync(join(registry, String(uid)), 'utf8')
    } catch {
      return undefined // it is not in use
    }
  }
  /** Writes the file elsewhere and links it: when two instances want the same number, one of the links fails. */
  const reserve = (uid: number, folder: string): boolean => {
    mkdirSync(registry, { recursive: true, mode: 0o700 })
    const next = join(registry, `.${process.pid}`)
    writeFileSync(next, folder, { mode: 0o600 })
    try {
      linkSync(next, join(registry, String(uid)))
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
      throw error
    } finally {
      rmSync(next, { force: true })
    }
  }
  const count = range.last - range.first + 1
  // The next number, not the lowest free one: a number should be reused as late as possible, in case its last user left something on the host.
  let next = randomInt(count)
  return {
    range,
    take(folder) {
      for (let pass = 0; pass < 2; pass++) {
        const held = new Set(existsSync(registry) ? readdirSync(registry) : [])
        for (let tries = 0; tries < count; tries++) {
          const uid = range.first + next
          next = (next + 1) % count
          if (!held.has(String(uid)) && reserve(uid, folder)) return uid
        }
        forgetLost(registry)
      }
      throw new Error(`all ${count} users of BERTH_VM_UIDS are held by machines of this host`)
    },
    keep: (uid, folder) =>
      uid >= range.first && uid <= range.last && (holderOf(uid) === folder || reserve(uid, folder)),
    free(uid, folder) {
      if (holderOf(uid) === folder) rmSync(join(registry, String(uid)), { force: true })
    },
  }
}

/** Frees the users of folders that are gone, such as those of an instance whose data folder was removed. */
function forgetLost(registry: string): void {
  const running = new Set(
    readdirSync('/proc').flatMap((name) => {
      const stat = /^\d+$/.test(name) ? statSync(`/proc/${name}`, { throwIfNoEntry: false }) : undefined
      return stat ? [String(stat.uid)] : []
    }),
  )
  for (const uid of readdirSync(registry)) {
    const place = join(registry, uid)
    if (/^\d+$/.test(uid) && !running.has(uid) && !existsSync(readFileSync(place, 'utf8')))
      rmSync(place, { force: true })
  }
}

/**
 * The user that a machine's QEMU runs as; null means the current user. Machines from before each had its own user run
 * as a shared one.
 */
export function userOf(users: MachineUsers | null, { uid }: { uid?: number | null }): number | null {
  return users ? (uid ?? formerQemuUser() ?? null) : null
}

/** Whether a QEMU of this user may be one of our machines. */
export function mayBeMachine(users: MachineUsers | null, uid: number): boolean {
  if (!users) return uid === process.getuid!()
  return (uid >= users.range.first && uid <= users.range.last) || uid === formerQemuUser() || uid === process.getuid!()
}

/** Makes this user the only owner of a file; null leaves it unchanged, when we are not root. */
export function giveTo(uid: number | null, path: string): void {
  if (uid !== null) chownSync(path, uid, uid)
  chmodSync(path, 0o600)
}

/** Takes back ownership of a machine's file. `mode` is its new permissions. */
export function takeBack(path: string, mode: 0o400 | 0o444 | 0o600): void {
  if (process.getuid!() === 0) chownSync(path, 0, 0)
  chmodSync(path, mode)
}
