/**
 * Users of this system: the one that Postgres runs as when Berth runs as root, and the numbers that are free for
 * machines. Read from /etc/passwd: they are local users, made by us or by a Debian package.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import type { UidRange } from '../platform/settings/readers.ts'

/** A user as the kernel knows it: what `spawn` and `chown` take. */
export type SystemUser = { uid: number; gid: number }

const makeUserTimeoutMs = 10_000

/** The user with this name, or undefined. */
export function findSystemUser(name: string): SystemUser | undefined {
  const fields = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find(([first]) => first === name)
  return fields ? { uid: Number(fields[2]), gid: Number(fields[3]) } : undefined
}

/**
 * The user with this name, created if missing: no password, no login, no home.
 * @throws Error with the system's message when it cannot be created.
 */
export function ensureSystemUser(name: string): SystemUser {
  const found = findSystemUser(name)
  if (found) return found
  const program = ['/usr/sbin/useradd', '/sbin/useradd', '/usr/bin/useradd'].find((path) => existsSync(path))
  if (!program)
    throw new Error(
      `The system user "${name}" is missing and there is no useradd to create it. Create it by hand, without a login.`,
    )
  execFileSync(
    program,
    [
      '--system',
      '--user-group',
      '--no-create-home',
      '--home-dir',
      '/nonexistent',
      '--shell',
      '/usr/sbin/nologin',
      name,
    ],
    { timeout: makeUserTimeoutMs, stdio: 'pipe' },
  )
  const made = findSystemUser(name)
  if (!made) throw new Error(`useradd ended well, but there is no user "${name}" in /etc/passwd.`)
  return made
}

/** The user that every QEMU ran as before each machine had its own; machines that were started then still do. */
export function formerQemuUser(): number | undefined {
  return findSystemUser('berth')?.uid
}

/**
 * Why these numbers cannot be used for machines, or null when they can: one of them is taken, or this container does
 * not have so many users.
 */
export function takenUids({ first, last }: UidRange): string | null {
  const among = (from: number, count: number): boolean => from <= last && from + count > first
  for (const [file, kind] of [
    ['/proc/self/uid_map', 'users'],
    ['/proc/self/gid_map', 'groups'],
  ] as const) {
    const mapped = numbersIn(file, /^\s*(\d+)\s+\d+\s+(\d+)$/)
    if (!mapped.some(([from, count]) => from <= first && from + count > last))
      return `this system, a container, does not have all these ${kind} (see ${file})`
  }
  for (const file of ['/etc/passwd', '/etc/group']) {
    if (numbersIn(file, /^[^:]*:[^:]*:(\d+)()/).some(([id]) => among(id, 1))) return `${file} has some of them`
  }
  for (const file of ['/etc/subuid', '/etc/subgid']) {
    if (numbersIn(file, /^[^:]*:(\d+):(\d+)$/).some(([from, count]) => among(from, count)))
      return `${file} has given some of them to a user`
  }
  return null
}

function numbersIn(file: string, pattern: RegExp): [number, number][] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const found = pattern.exec(line)
      return found ? [[Number(found[1]), Number(found[2])] as [number, number]] : []
    })
}
