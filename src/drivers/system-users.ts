/**
 * The users of this system that Postgres and QEMU run as when Berth runs as root.
 * Read from /etc/passwd: they are local users, made by us or by a Debian package.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { isRoot } from '../platform/config.ts'

/** A user as the kernel knows it: what `spawn` and `chown` take. */
export type SystemUser = { uid: number; gid: number }

/** The user that QEMU runs as when Berth runs as root. */
export const qemuUserName = 'berth'
const makeUserTimeoutMs = 10_000

/** The user of this name, or undefined. */
export function findSystemUser(name: string): SystemUser | undefined {
  const fields = readFileSync('/etc/passwd', 'utf8').split('\n').map((line) => line.split(':')).find(([first]) => first === name)
  return fields ? { uid: Number(fields[2]), gid: Number(fields[3]) } : undefined
}

/**
 * The user of this name, made when it is missing: no password, no login, no home.
 * @throws Error with the system's words when it cannot be made.
 */
export function ensureSystemUser(name: string): SystemUser {
  const found = findSystemUser(name)
  if (found) return found
  const program = ['/usr/sbin/useradd', '/sbin/useradd', '/usr/bin/useradd'].find((path) => existsSync(path))
  if (!program) throw new Error(`The system user "${name}" is missing and there is no useradd to make it. Make it by hand, without a login.`)
  execFileSync(program, ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin', name], { timeout: makeUserTimeoutMs, stdio: 'pipe' })
  const made = findSystemUser(name)
  if (!made) throw new Error(`useradd ended well, but there is no user "${name}" in /etc/passwd.`)
  return made
}

/** Makes the user that QEMU runs as; for `npm start` as root. */
export function ensureQemuUser(): SystemUser {
  ensureSystemUser(qemuUserName)
  return qemuUser()!
}

/**
 * Who QEMU runs as: null means "as ourselves", when Berth does not run as root, or when the user is missing
 * (vm-requirements.ts then says so, and no VM starts). The group is `kvm` where there is one, because a process
 * started for another user has no further groups, and /dev/kvm is opened by group.
 */
export function qemuUser(): SystemUser | null {
  const user = isRoot() ? findSystemUser(qemuUserName) : undefined
  return user ? { uid: user.uid, gid: findGroup('kvm') ?? user.gid } : null
}

function findGroup(name: string): number | undefined {
  const fields = readFileSync('/etc/group', 'utf8').split('\n').map((line) => line.split(':')).find(([first]) => first === name)
  return fields ? Number(fields[2]) : undefined
}
