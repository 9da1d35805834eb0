/** A web process of its own for attacks: whether it lives is asked all the time, and how long it was held comes from its metrics. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import type { Berth } from '../support/berth.ts'
import { startCommand } from '../support/command.ts'
import { freePort } from '../support/ports.ts'
import { shortestHold } from '../support/stalls/watched-process.ts'

const healthEveryMs = 50

/** The process, and what watches it. */
export type AttackedWeb = {
  url: string
  /** The longest time its event loop was held since this was asked last. Unit: ms. */
  longestStallMs: () => Promise<number>
  /** `shortestHold` of this work. Unit: ms. */
  heldMs: (work: () => Promise<unknown>) => Promise<number>
  /** What /healthz answered beside everything: how often, and what was not 200. */
  health: () => { asked: number; wrong: string[] }
  stop: () => Promise<void>
}

/** Starts one on the database and data folder of a Berth, whose tokens it takes. */
export async function startAttackedWeb(
  { services: { config, database } }: Berth,
  settings: Readonly<Record<string, string>> = {},
): Promise<AttackedWeb> {
  const [port, metricsPort] = [await freePort(), await freePort()]
  const web = startCommand(['src/gateway/main.ts'], {
    PORT: String(port),
    BERTH_METRICS_PORT: String(metricsPort),
    BERTH_PUBLIC_URL: config.publicUrl,
    BERTH_DATA_DIR: config.dataDir,
    DATABASE_URL: database.url,
    BERTH_RATE_LIMIT_FACTOR: '1000000',
    BERTH_VMS: 'off',
    ...settings,
  })
  await web.line(/the web process listens/)
  const url = `http://127.0.0.1:${port}`
  const gauge = async (name: string): Promise<number> => {
    // A connection of its own: one that is kept alive may end while this process makes the next attack.
    const asked = get({ host: '127.0.0.1', port: metricsPort, path: '/metrics', agent: false })
    const [answer] = (await once(asked, 'response')) as [IncomingMessage] // as its documentation says
    return Number(
      (await text(answer))
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
  const longestStallMs = async (): Promise<number> => (await gauge('berth_event_loop_longest_stall_seconds')) * 1000
  return {
    url,
    longestStallMs,
    heldMs: (work) => shortestHold(longestStallMs, work),
    health: () => asked,
    async stop() {
      over.abort()
      await asking
      web.child.kill('SIGTERM')
      if (web.child.exitCode === null) await once(web.child, 'exit')
    },
  }
}
