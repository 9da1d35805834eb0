/** This host's VMs at a start and after an end: packages and templates are prepared, what is still missing is reported; and VMs are shut down. */
import type { Compute } from '../drivers/compute/machine.ts'
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

/** So many are shut down at a time: each has ten seconds. */
const endedAtOnce = 8

/**
 * Shuts down the VMs that run on the data folder, which nothing else may use meanwhile: each guest powers off, and is killed when
 * it takes longer than ten seconds. What the pool has warm ends too.
 * @returns how many VMs ran.
 */
export async function endVms(config: Config): Promise<number> {
  const compute = await openCompute(config)
  try {
    const machines = await compute.adopt()
    for (let at = 0; at < machines.length; at += endedAtOnce)
      await Promise.all(machines.slice(at, at + endedAtOnce).map(({ id }) => compute.stop(id)))
    return machines.length
  } finally {
    await compute.close()
  }
}

/** The machines of this host, without a pool and without a network. */
async function openCompute({ cacheDir, dataDir, runDir, vmUids }: Config): Promise<Compute> {
  const { createCompute } = await import('../drivers/compute/compute.ts') // loaded lazily, because it imports the SSH library
  return createCompute({
    cacheDir,
    dataDir,
    runDir,
    vmUids,
    log,
    poolSize: 0, // the worker keeps the pool
    onEgress: (_id, connection) => connection.destroy(),
    onExit: () => {
      /* no worker would be told */
    },
  })
}

async function buildTemplates(config: Config, screen: Screen, withDatabases: boolean): Promise<string | null> {
  try {
    const compute = await openCompute(config)
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
