/**
 * The code by which other users of this machine than the one who started Berth may sign in at its page: made anew by each
 * `npm start`, which prints it, and kept in a file that only that user can read.
 */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '#src/platform/config.ts'
import { randomToken } from '#src/platform/ids.ts'
import { readPrivately, sameDigest, sha256, storePrivately } from '#src/platform/secrets.ts'

const codeBytes = 24

/** Whether a page of this Berth may ask for a token at all: on this machine only, which VMs do not pass for. */
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

/** Makes the code of this start; the one before it is worth nothing from now on. */
export function makeSignInCode(dataDir: string): string {
  const code = randomToken(codeBytes)
  rmSync(fileIn(dataDir), { force: true })
  storePrivately(fileIn(dataDir), code)
  return code
}

/** Whether this is the code of this start. Where none was made, none is right. */
export function isSignInCode(dataDir: string, given: string): boolean {
  const file = fileIn(dataDir)
  return existsSync(file) && sameDigest(sha256(given), sha256(readPrivately(file)))
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'sign-in.code')
}
