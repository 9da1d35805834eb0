/** A caller of builds for benchmarks: submits, follows and cancels them, and reaches into a build from the host. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { decodeJwt } from 'jose'
import { issueToken } from '#src/identity/issuer.ts'
import { loadSealer } from '#src/platform/secrets.ts'
import { bytes, type Entry } from '../support/builds.ts'
import { until } from '../support/until.ts'
import type { World } from './world.ts'

const tokenSeconds = 6 * 3600
const betweenTicksMs = 150
const tickLimitMs = 60_000

/** A token of an organization's owner; the organization is made when there is none. */
export async function tokenOf({ database: { db }, config, dataDir }: World, organization: string): Promise<string> {
  return (
    await issueToken(
      { db, sealer: loadSealer(config.secretKey, dataDir), config },
      {
        user: `owner-of-${organization}`,
        organization,
        role: 'owner',
        ttlSeconds: tokenSeconds,
        newNames: { make: true },
      },
    )
  ).token
}

/** Submits a build. @returns its id. */
export async function submit({ url }: World, token: string, spec: Record<string, unknown>): Promise<string> {
  const answer = await fetch(`${url}/api/v1/build/jobs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ org_id: String(decodeJwt(token)['org_id']), spec: bytes(spec) }),
  })
  if (answer.status !== 201) throw new Error(`a build was not taken: ${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { id: string }).id
}

/** Cancels a build. */
export async function cancel({ url }: World, token: string, id: string): Promise<void> {
  const answer = await fetch(`${url}/api/v1/build/jobs/${id}/cancel`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  })
  if (answer.status !== 200) throw new Error(`a build was not cancelled: ${answer.status} ${await answer.text()}`)
}

/** A build's log from its beginning to its end, as it comes. */
export async function* follow({ url }: World, token: string, id: string): AsyncIterableIterator<Entry> {
  const answer = await fetch(`${url}/api/v1/build/jobs/${id}/logs/stream?from=0`, {
    headers: { authorization: `Bearer ${token}` },
  })
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

/** A server on the host that a build listens to. */
export type Ticker = { port: number; listener: () => ServerResponse | undefined; stop: () => void }

/** Starts one. */
export async function startTicker(): Promise<Ticker> {
  let listener: ServerResponse | undefined
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders()
    listener = response
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return { port: (server.address() as AddressInfo).port, listener: () => listener, stop: () => server.close() }
}

/** A build that prints what the host sends it, and a reader of its log. */
export type TickedBuild = {
  /** Sends that many lines, one every 150 ms. @returns how long each took from the host to the reader; milliseconds. */
  tick: (count: number) => Promise<number[]>
  /** Ends it. */
  end: () => Promise<void>
}

/** Starts one; resolves when it listens. */
export async function startTickedBuild(world: World, token: string, ticker: Ticker): Promise<TickedBuild> {
  const earlier = ticker.listener()
  const id = await submit(world, token, {
    commands: [`curl -sN http://host.berth.internal:${ticker.port}/ | while read -r line; do echo "$line"; done`],
  })
  const sentAt: number[] = []
  const took: number[] = []
  const reading = (async () => {
    for await (const { output } of follow(world, token, id))
      for (const [, number] of output.matchAll(/^tick (\d+)$/gm))
        took[Number(number)] = performance.now() - sentAt[Number(number)]!
  })()
  await until('the build listens', () => ticker.listener() !== earlier, tickLimitMs)
  return {
    async tick(count) {
      const first = sentAt.length
      for (let tick = first; tick < first + count; tick++) {
        await pause(betweenTicksMs)
        sentAt[tick] = performance.now()
        ticker.listener()?.write(`tick ${tick}\n`)
      }
      await until(
        'every line has come',
        () => took.filter((ms) => ms !== undefined).length === first + count,
        tickLimitMs,
      )
      return took.slice(first)
    },
    async end() {
      ticker.listener()?.end()
      await reading
    },
  }
}
