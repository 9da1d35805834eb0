/**
 * The sign-in code, for users of this machine other than the one who started Berth: each `npm start` makes and prints a
 * new one, and stores it in a file that only that user can read.
 */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '#src/platform/config.ts'
import { randomToken } from '#src/platform/ids.ts'
import { readPrivately, sameDigest, sha256, storePrivately } from '#src/platform/secrets.ts'

const codeBytes = 24

/** Whether the page of this Berth may request tokens at all: only on this machine, and not if VMs could reach it. */
export function offersSignIn({
  localSignIn,
  builtInIssuer,
  publicUrl,
  port,
  vmHostPorts,
}: Pick<Config, 'localSignIn' | 'builtInIssuer' | 'publicUrl' | 'port' | 'vmHostPorts'>): boolean {
  return localSignIn && builtInIssuer && isLocalHost(new URL(publicUrl).host) && !vmHostPorts.includes(port)
}

/** Whether a host, with or without a port, is this machine by a name of its own. */
export function isLocalHost(host: string): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/.test(host)
}

/** Makes the code of this start; the previous one is invalid from now on. */
export function makeSignInCode(dataDir: string): string {
  const code = randomToken(codeBytes)
  rmSync(fileIn(dataDir), { force: true })
  storePrivately(fileIn(dataDir), code)
  return code
}

/** Whether this is the code of this start. Without a code, none is right. */
export function isSignInCode(dataDir: string, given: string): boolean {
  const file = fileIn(dataDir)
  return existsSync(file) && sameDigest(sha256(given), sha256(readPrivately(file)))
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'sign-in.code')
}
