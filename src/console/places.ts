/** Where the console's builds lie: one folder for each state of its source, in the cache that installations of a host share. */
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startSha256 } from '#src/platform/secrets.ts'

/** The source, as an absolute path. */
export const consoleSource = fileURLToPath(new URL('../../console', import.meta.url))
const checkout = fileURLToPath(new URL('../..', import.meta.url))
const hashCharacters = 16

/** Below this path of the web process are the files of builds. */
export const assetsPath = '/console/'
/** What stands in a build for the nonce of a page. */
export const noncePlaceholder = 'berth-nonce'

/** The folder of all builds. */
export function buildsFolder(cacheDir: string): string {
  return join(cacheDir, 'console')
}

/** The folder of the build of the source as it is now, which may not be there yet. */
export function currentBuild(cacheDir: string): string {
  return join(buildsFolder(cacheDir), hashOfSource())
}

let known: string | undefined

/** What a build depends on: the source, and the versions of its libraries. They are read once in a process. */
function hashOfSource(): string {
  if (known !== undefined) return known
  const digest = startSha256()
  digest.update(readFileSync(join(checkout, 'package-lock.json')))
  for (const path of globSync('**', { cwd: consoleSource }).sort()) {
    const file = join(consoleSource, path)
    if (!statSync(file).isFile()) continue
    digest.update(Buffer.from(`${path}\0`))
    digest.update(readFileSync(file))
  }
  return (known = digest.hex().slice(0, hashCharacters))
}
