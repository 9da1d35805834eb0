/** A web process of its own for attacks: whether it lives is asked all the time, and how long it was held comes from its metrics. */
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { Berth } from '../support/berth.ts'
import { startCommand } from '../support/command.ts'
import { freePort } from '../support/ports.ts'

const healthEveryMs = 50

/** The process, and what watches it. */
export type AttackedWeb = {
  url: string
  /** The longest time its event loop was held since this was asked last. Unit: ms. */
  longestStallMs: () => Promise<number>
  /** Memory that it has now. Unit: MiB. */
  residentMegabytes: () => Promise<number>
  /** What /healthz answered beside everything: how often, and what was not 200. */
  health: () => { asked: number; wrong: string[] }
  stop: () => Promise<void>
}

/** Starts one on the database and data folder of a Berth, whose tokens it takes. */
export async function startAttackedWeb({ services: { config, database } }: Berth): Promise<AttackedWeb> {
  const [port, metricsPort] = [await freePort(), await freePort()]
  const web = startCommand(['src/gateway/main.ts'], {
    PORT: String(port),
    BERTH_METRICS_PORT: String(metricsPort),
    BERTH_PUBLIC_URL: config.publicUrl,
    BERTH_DATA_DIR: config.dataDir,
    DATABASE_URL: database.url,
    BERTH_RATE_LIMIT_FACTOR: '1000000',
    BERTH_VMS: 'off',
  })
  await web.line(/the web process listens/)
  const url = `http://127.0.0.1:${port}`
  const gauge = async (name: string): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')[1],
    )
  }
  const asked = { asked: 0, wrong: [] as string[] }
  const over = new AbortController()
  const asking = (async () => {
    while (!over.signal.aborted) {
      const status = await fetch(`${url}/healthz`, { signal: over.signal }).then(
        async (answer) => {
          await answer.text()
          return String(answer.status)
        },
        (error: unknown) => String(error),
      )
      if (over.signal.aborted) return
      asked.asked++
      if (status !== '200') asked.wrong.push(status)
      await setTimeout(healthEveryMs)
    }
  })()
  return {
    url,
    longestStallMs: async () => (await gauge('berth_event_loop_longest_stall_seconds')) * 1000,
    residentMegabytes: async () => (await gauge('process_resident_memory_bytes')) / 1024 / 1024,
    health: () => asked,
    async stop() {
      over.abort()
      await asking
      web.child.kill('SIGTERM')
      if (web.child.exitCode === null) await once(web.child, 'exit')
    },
  }
}
