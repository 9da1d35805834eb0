/**
 * A system user of its own for each machine, when Berth runs as root: a number from a range that nobody else on this host
 * uses, without a name, a home or a login. An attacker who breaks out of a QEMU then owns nothing but that machine's disks.
 * Instances of Berth on one host share the range, so each number that is held is a file in a folder of the host's.
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

/** Where the numbers that are held are written down, for all instances on this host. */
const registryFolder = '/var/lib/berth/vm-users'

/** Hands out users for machines. A user is its number, which is its group's number too. */
export type MachineUsers = {
  readonly range: UidRange
  /** Reserves a user for what lives in this folder. @throws Error when every one of the range is held. */
  take(folder: string): number
  /** Whether this user is held for this folder; reserves it when nobody holds it, as after a move to another host. */
  keep(uid: number, folder: string): boolean
  /** Gives a user back. Nothing may be left of it: no process, no file. */
  free(uid: number, folder: string): void
}

/** The users of this range. */
export function createMachineUsers(range: UidRange, registry = registryFolder): MachineUsers {
  const holderOf = (uid: number): string | undefined => {
    try {
      return readFileSync(join(registry, String(uid)), 'utf8')
    } catch {
      return undefined // nobody holds it
    }
  }
  /** Written elsewhere and linked: when two instances want one number, one of the links fails. */
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
  // The next one, not the lowest free: what a user left on the host should be inherited by another as late as possible.
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

/** Whom a machine's QEMU runs as, null being ourselves; one from before each had a user of its own runs as the one that all had. */
export function userOf(users: MachineUsers | null, { uid }: { uid?: number | null }): number | null {
  return users ? (uid ?? formerQemuUser() ?? null) : null
}

/** Whether a QEMU of this user may be one of our machines. */
export function mayBeMachine(users: MachineUsers | null, uid: number): boolean {
  if (!users) return uid === process.getuid!()
  return (uid >= users.range.first && uid <= users.range.last) || uid === formerQemuUser() || uid === process.getuid!()
}

/** Makes a file this user's alone; null leaves it with us, who are not root. */
export function giveTo(uid: number | null, path: string): void {
  if (uid !== null) chownSync(path, uid, uid)
  chmodSync(path, 0o600)
}

/** Takes back ownership of a machine's file. `mode` says who may read it now. */
export function takeBack(path: string, mode: 0o400 | 0o444 | 0o600): void {
  if (process.getuid!() === 0) chownSync(path, 0, 0)
  chmodSync(path, mode)
}
