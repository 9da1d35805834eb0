/** Where this host keeps what is Berth's, and who may get there. */
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, resolve } from 'node:path'

/** Whether this process is root, who hands Postgres and QEMU to users of their own. */
export function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** Whether users other than the owner may pass through this folder and all above it. */
export function othersMayEnter(folder: string): boolean {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const stat = statSync(at, { throwIfNoEntry: false })
    if (stat && (stat.mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}

/** `.berth` in the checkout, or, where its users could not get there, a folder of this checkout's own in /var/lib. */
export function defaultDataDir(): string {
  const inCheckout = resolve('.berth')
  if (!isRoot() || othersMayEnter(dirname(inCheckout))) return inCheckout
  return `/var/lib/berth/${shortHash(inCheckout)}`
}

/** The usual place of caches for this user. */
export function defaultCacheDir(): string {
  return isRoot() ? '/var/cache/berth' : `${homedir()}/.cache/berth`
}

/** Sockets inside the data folder when their path stays short enough, else in /tmp under a name of this folder's own. */
export function runDirOf(dataDir: string): string {
  const longestRunDirBytes = 60 // leaves room for `/vms/<uuid>.qmp` within the 107 bytes of a socket path
  const inside = `${dataDir}/run`
  return Buffer.byteLength(inside) <= longestRunDirBytes ? inside : `/tmp/berth-${shortHash(dataDir)}`
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
