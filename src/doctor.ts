/**
 * `npm run doctor`: what works on this host and what does not, each with a remedy. Exits with 0 when everything needed
 * works.
 */
import './start/node-version.ts'
import { fileURLToPath } from 'node:url'
import { readFlags, reportError } from './platform/command-line.ts'
import { ConfigError, readConfig, type Config } from './platform/config.ts'
import { redact, setLogLevel } from './platform/log.ts'
import { checkAcme } from './start/acme-checks.ts'
import { checkBackup } from './start/backup-checks.ts'
import { checkHost, type Check } from './start/checks.ts'
import { checkEdge } from './start/edge-checks.ts'
import { checkConnectors } from './start/connector-checks.ts'
import { checkMail } from './start/mail-checks.ts'
import { checkModels } from './start/model-checks.ts'
import { findRun } from './start/run-file.ts'
import { environmentOf } from './start/running-settings.ts'
import { checkVms } from './start/vm-checks.ts'
import { checkWebhooks } from './start/webhook-checks.ts'

const marks = { works: '✓', fails: '✗', neither: '–' } as const

async function main(): Promise<number> {
  readFlags(
    process.argv.slice(2),
    'npm run doctor: says what works on this host and what is missing, each with a remedy. It takes no arguments.',
    {},
  )
  process.chdir(fileURLToPath(new URL('..', import.meta.url)))
  setLogLevel('fatal')
  let failures = 0
  const show = ({ verdict, what, remedy }: Check) => {
    if (verdict === 'fails') failures++
    process.stdout.write(redact(`${marks[verdict]} ${what}\n${remedy && verdict !== 'works' ? `    ${remedy}\n` : ''}`))
  }
  try {
    const config = settingsToCheck(show)
    for (const check of await checkHost(config)) show(check)
    show(checkBackup(config))
    for (const check of await checkVms(config)) show(check)
    for (const check of await checkEdge(config, findRun(config.dataDir) !== null)) show(check)
    for (const check of await checkModels(config)) show(check)
    for (const check of checkConnectors(config)) show(check)
    show(await checkAcme(config))
    show(checkWebhooks(config))
    show(await checkMail(config))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    for (const problem of error.problems) show({ verdict: 'fails', what: `settings: ${problem}` })
  }
  process.stdout.write(
    failures === 0
      ? 'Everything needed works.\n'
      : `${failures} ${failures === 1 ? 'thing needs' : 'things need'} your attention.\n`,
  )
  return failures === 0 ? 0 : 1
}

/** The settings of the Berth that runs, or else those of this shell. @throws ConfigError */
function settingsToCheck(show: (check: Check) => void): Config {
  const here = readConfig()
  const run = findRun(here.dataDir)
  const environment = run && environmentOf(run, here.dataDir)
  if (run && !environment)
    show({
      verdict: 'neither',
      what: 'settings: those of this shell, which need not be those of the Berth that runs',
      remedy: 'Call the doctor as root, or as the user who started it.',
    })
  else show({ verdict: 'works', what: run ? 'settings, those of the Berth that runs' : 'settings' })
  return environment ? readConfig(environment) : here
}

process.exit(await main().catch(reportError))
