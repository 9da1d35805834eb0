/** The folders of Berth on this host, and who may enter them. */
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, resolve } from 'node:path'

/** Whether this process is root: then Postgres and QEMU run as users of their own. */
export function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** Whether users other than the owner may traverse this folder and all above it. */
export function othersMayEnter(folder: string): boolean {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const stat = statSync(at, { throwIfNoEntry: false })
    if (stat && (stat.mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}

/** `.berth` in the checkout, or, if those users could not get there, a folder for this checkout in /var/lib. */
export function defaultDataDir(): string {
  const inCheckout = resolve('.berth')
  if (!isRoot() || othersMayEnter(dirname(inCheckout))) return inCheckout
  return `/var/lib/berth/${shortHash(inCheckout)}`
}

/** The usual cache folder of this user. */
export function defaultCacheDir(): string {
  return isRoot() ? '/var/cache/berth' : `${homedir()}/.cache/berth`
}

/** The folder of sockets: inside the data folder if its path is short enough, otherwise in /tmp under a unique name. */
export function runDirOf(dataDir: string): string {
  const longestRunDirBytes = 60 // leaves room for `/vms/<uuid>.qmp` within the 107 bytes of a socket path
  const inside = `${dataDir}/run`
  return Buffer.byteLength(inside) <= longestRunDirBytes ? inside : `/tmp/berth-${shortHash(dataDir)}`
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
