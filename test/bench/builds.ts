/** Builds: how soon one shows its first line, and how soon a line printed in its VM reaches a reader of its log. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { decodeJwt } from 'jose'
import { knownAcceleration } from '#src/drivers/compute/acceleration.ts'
import { bytes, type Entry } from '../support/builds.ts'
import { until } from '../support/until.ts'
import type { Benchmark, Effort, Findings, Goal } from './benchmark.ts'
import { median, quantile, shown } from './rounds.ts'
import { startHost, withVms } from './vm-host.ts'
import { inWorld, type World } from './world.ts'

const poolSize = 2
const betweenTicksMs = 150
const tickLimitMs = 60_000
const timesOf = ({ quick }: Effort): { builds: number; ticks: number } => (quick ? { builds: 2, ticks: 5 } : { builds: 15, ticks: 100 })

/** First lines and live lines. */
export const builds: Benchmark = {
  name: 'builds', title: 'Builds',
  measure: (effort, say) => inWorld({}, (world) => withVms(world, async (): Promise<Findings> => {
    const times = timesOf(effort)
    const ticker = await startTicker()
    const host = await startHost(world, poolSize, { BERTH_VM_HOST_PORTS: String(ticker.port) })
    const first: number[] = []
    for (let one = 0; one < times.builds; one++) {
      await host.calm(0)
      const startedAt = performance.now()
      const id = await submit(world, ['true'])
      for await (const _entry of follow(world, id)) first[one] ??= performance.now() - startedAt
    }
    say(`first line: ${shown(median(first))} ms`)
    await host.calm(0)
    const lines = await measureLines(world, ticker, times.ticks)
    say(`a line: ${shown(median(lines))} ms`)
    await host.stop()
    ticker.stop()
    return {
      how: `A web process and a worker that keeps ${poolSize} machines warm, nothing else on the host; ${knownAcceleration(world.config.cacheDir) === 'kvm' ? 'KVM' : 'software emulation'}. The guest's clock is not ours, so a line begins on the host: it goes into the VM over a connection that is open already, a shell there reads and prints it, and it comes back over the log. The figure is therefore more than what is asked for.`,
      tables: [{ title: 'How long it takes', columns: ['what', 'times', 'p50 ms', 'p99 ms'], rows: [['POST to the first line of the log', first], ['host → VM → printed → reader of the log', lines]].map(([what, all]) => [String(what), String((all as number[]).length), shown(median(all as number[])), shown(quantile(all as number[], 0.99))]) }],
      goals: [goal('POST to the first log line with a warm pool, p50', first, 1500), goal('a line printed in the VM reaches a reader, p50', lines, 150)],
    }
  })),
}

function goal(what: string, all: readonly number[], mostMs: number): Goal {
  return { what, wanted: `≤ ${mostMs} ms`, measured: `${shown(median(all))} ms`, met: median(all) <= mostMs }
}

type Ticker = { port: number; listener: () => ServerResponse | undefined; stop: () => void }

/** A server on the host that a build listens to. */
async function startTicker(): Promise<Ticker> {
  let listener: ServerResponse | undefined
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders()
    listener = response
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return { port: (server.address() as AddressInfo).port, listener: () => listener, stop: () => server.close() }
}

async function measureLines(world: World, ticker: Ticker, ticks: number): Promise<number[]> {
  const id = await submit(world, [`curl -sN http://host.berth.internal:${ticker.port}/ | while read -r line; do echo "$line"; done`])
  const sentAt: number[] = []
  const took: number[] = []
  const reading = (async () => {
    for await (const { output } of follow(world, id)) for (const [, number] of output.matchAll(/^tick (\d+)$/gm)) took[Number(number)] = performance.now() - sentAt[Number(number)]!
  })()
  await until('the build listens', () => ticker.listener() !== undefined, tickLimitMs)
  for (let tick = 0; tick < ticks; tick++) {
    await pause(betweenTicksMs)
    sentAt[tick] = performance.now()
    ticker.listener()?.write(`tick ${tick}\n`)
  }
  await until('every line has come', () => took.filter((ms) => ms !== undefined).length === ticks, tickLimitMs)
  ticker.listener()?.end()
  await reading
  return took
}

async function submit(world: World, commands: string[]): Promise<string> {
  const token = await world.token()
  const answer = await fetch(`${world.url}/api/v1/build/jobs`, {
    method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ org_id: String(decodeJwt(token)['org_id']), spec: bytes({ commands }) }),
  })
  if (answer.status !== 201) throw new Error(`a build was not taken: ${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { id: string }).id
}

/** A build's log from its beginning to its end, as it comes. */
async function* follow(world: World, id: string): AsyncIterableIterator<Entry> {
  const answer = await fetch(`${world.url}/api/v1/build/jobs/${id}/logs/stream?from=0`, { headers: { authorization: `Bearer ${await world.token()}` } })
  if (answer.status !== 200 || !answer.body) throw new Error(`a log could not be followed: ${answer.status}`)
  let rest = ''
  for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + chunk).split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const data = /^data: (.*)$/m.exec(part)?.[1]
      if (data !== undefined) yield JSON.parse(data) as Entry
    }
  }
}
