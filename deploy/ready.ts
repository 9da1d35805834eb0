/**
 * Whether a process of Berth on this host is ready, as its /readyz says: exit 0 when it is, else 1 and the reason. Health checks of
 * systemd and of containers run it with the settings of the process.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { answerHelp, readFlags, runOrReport, UsageError } from '../src/platform/command-line.ts'
import { readConfig, type Config } from '../src/platform/config.ts'
import { markProcess } from '../src/platform/locks/process-marks.ts'

const usage = `node deploy/ready.ts web|edge|worker [--wait <seconds>] [--pid <number>]: whether the process is ready.
  --wait <seconds>  waits so long until it is
  --pid <number>    waits no longer than this process lives`
const lookEveryMs = 500
const answerLimitMs = 5_000

const ports: Readonly<Record<string, (config: Config) => number>> = {
  web: ({ webMetricsPort }) => webMetricsPort,
  edge: ({ edgeMetricsPort }) => edgeMetricsPort,
  worker: ({ workerMetricsPort }) => workerMetricsPort,
}

/** Why the process at this port is not ready; null when it is. */
async function whyNotReady(host: string, port: number): Promise<string | null> {
  try {
    const answer = await fetch(`http://${host}:${port}/readyz?verbose`, { signal: AbortSignal.timeout(answerLimitMs) })
    const text = await answer.text()
    return answer.ok ? null : text.trim()
  } catch {
    return `Nothing answers at ${host} port ${port}: the process has not started yet, or its log says why it ended.`
  }
}

/** The address of private ports as a client on this host writes it. */
function addressOf({ metricsHost }: Config): string {
  if (metricsHost === '0.0.0.0' || metricsHost === '::') return '127.0.0.1'
  return metricsHost.includes(':') ? `[${metricsHost}]` : metricsHost
}

async function waitUntilReady(): Promise<void> {
  const [name = '', ...words] = process.argv.slice(2)
  answerHelp([name], usage)
  const { wait, pid } = readFlags(words, usage, { wait: { type: 'string', default: '0' }, pid: { type: 'string' } })
  const portOf = ports[name]
  const waitMs = Number(wait) * 1_000
  if (!portOf || !(waitMs >= 0)) throw new UsageError(usage)
  const config = readConfig()
  const endMs = performance.now() + waitMs
  for (;;) {
    const reason = await whyNotReady(addressOf(config), portOf(config))
    if (reason === null) return
    const isOver = performance.now() >= endMs || (pid !== undefined && !markProcess(Number(pid)))
    if (isOver) throw new Error(`The ${name} process is not ready.\n${reason}`)
    await pause(lookEveryMs)
  }
}

await runOrReport(waitUntilReady)
