/** Prepares this host for VMs: packages and templates. What is still missing is reported, and Berth starts without VMs. */
import { isDebianFamily, missingRequirements } from '../drivers/vm-requirements.ts'
import { isRoot } from '../platform/settings/places.ts'
import type { Config } from '../platform/config.ts'
import { log } from '../platform/log.ts'
import { installPackages } from './packages.ts'
import { showProgress, type Screen } from './progress.ts'

/**
 * Installs the packages (as root on a system of the Debian family, after naming them) and builds the templates.
 * @param withDatabases builds the template of databases too, which a worker otherwise does once VMs run.
 * @returns null when VMs can run, else the sentence that says what to do.
 */
export async function prepareVms(config: Config, screen: Screen, withDatabases = false): Promise<string | null> {
  const say = (line: string) => screen.write(`${line}\n`)
  const missing = missingRequirements(config.vmUids)
  if (isRoot()) {
    try {
      if (missing && missing.packages.length > 0 && isDebianFamily()) {
        say(`Installing the Debian packages that VMs need: ${missing.packages.join(' ')}`)
        await installPackages(missing.packages)
      }
    } catch (error) {
      say(sentenceOf(error))
    }
  }
  const left = missingRequirements(config.vmUids)
  return left ? left.sentence : buildTemplates(config, screen, withDatabases)
}

async function buildTemplates(
  { cacheDir, dataDir, runDir, vmUids }: Config,
  screen: Screen,
  withDatabases: boolean,
): Promise<string | null> {
  try {
    const { createCompute } = await import('../drivers/compute/compute.ts') // loaded lazily, because it imports the SSH library
    const compute = createCompute({
      cacheDir,
      dataDir,
      runDir,
      vmUids,
      log,
      poolSize: 0, // the worker keeps the pool; here only the templates are built
      onEgress: (_id, connection) => connection.destroy(),
      onExit: () => {
        /* no machine runs for long while templates are built */
      },
    })
    try {
      await compute.prepare(showProgress('VM templates', screen))
      if (withDatabases) await compute.prepareLater('postgres', showProgress('Database template', screen))
    } finally {
      await compute.close()
    }
    return null
  } catch (error) {
    return `The VM templates could not be built: ${sentenceOf(error)} Run npm run doctor to see what is missing on this host, then start Berth again.`
  }
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
