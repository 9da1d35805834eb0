/** Installs Debian packages, for `npm start` and `npm test` as root. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { environmentWith } from '../platform/config.ts'

const installTimeoutMs = 15 * 60_000
const otherInstallerWaitSeconds = 120
const outputBytes = 16 * 1024 * 1024
const shownLines = 12

/**
 * Installs these packages. Package lists are fetched only when the local ones are not enough.
 * @throws Error with the last lines of apt-get.
 */
export async function installPackages(packages: readonly string[]): Promise<void> {
  const install = ['install', '-y', '--no-install-recommends', ...packages]
  try {
    await aptGet(install)
  } catch {
    // Without lists, or with outdated ones, packages cannot be found: they are fetched before a second attempt.
    await aptGet(['update'])
    await aptGet(install)
  }
}

async function aptGet(words: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)('apt-get', ['-q', '-o', `DPkg::Lock::Timeout=${otherInstallerWaitSeconds}`, ...words], {
      env: environmentWith({ DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' }),
      timeout: installTimeoutMs,
      maxBuffer: outputBytes,
    })
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string } // what execFile's rejection carries
    const lines = `${stdout}\n${stderr}`
      .split('\n')
      .filter((line) => line.trim())
      .slice(-shownLines)
    throw new Error(`apt-get ${words[0]} failed:\n${lines.join('\n')}`, { cause: error })
  }
}
