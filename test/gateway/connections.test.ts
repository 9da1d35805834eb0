/**
 * Connections that take and do not give: readers who never read, clients who never finish, and too many of either. They are
 * raw sockets against a web process of its own, whose memory is looked at; it must serve others all the while.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { objectStore } from '#src/drivers/objects.ts'
import { issueToken } from '#src/identity/issuer.ts'
import { readConfig } from '#src/platform/config.ts'
import { limits } from '#src/platform/limits.ts'
import { loadSealer } from '#src/platform/secrets.ts'
import { openServices } from '#src/platform/services.ts'
import { startCommand, type Command } from '../support/command.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { freePort } from '../support/ports.ts'
import { until } from '../support/until.ts'
import { startApp } from './running-app.ts'

const megabyte = 1024 * 1024
let port: number
let metricsPort: number
let web: Command
let database: TestDatabase
let dataDir: string
let token: string
let download: string
beforeAll(async () => {
  database = await createDatabase()
  dataDir = mkdtempSync(join(tmpdir(), 'berth-connections-'))
  port = await freePort()
  metricsPort = await freePort()
  const settings = {
    PORT: String(port),
    BERTH_DATA_DIR: dataDir,
    BERTH_LOG_LEVEL: 'info',
    DATABASE_URL: database.url,
    BERTH_RATE_LIMIT_FACTOR: '100',
    BERTH_METRICS_PORT: String(metricsPort),
  }
  const config = readConfig(settings)
  const services = await openServices(config, database.url, 'web')
  const store = objectStore({ config, sealer: loadSealer(null, dataDir) })
  await store.put('compute/large', Readable.from([Buffer.alloc(30 * megabyte)]), 100 * megabyte)
  web = startCommand(['--import', './test/support/stalls/collecting.ts', 'src/gateway/main.ts'], settings)
  await until('the web process listens', () => web.lines.some((line) => line.includes('listens')), 100_000)
  token = (
    await issueToken(services, {
      user: 'alice',
      organization: 'acme',
      role: 'owner',
      ttlSeconds: 3600,
      newNames: { make: true },
    })
  ).token
  download =
    new URL(await store.signedUrl('GET', 'compute/large', { expiresInSeconds: 3600 })).pathname +
    new URL(await store.signedUrl('GET', 'compute/large', { expiresInSeconds: 3600 })).search
  await services.close()
}, 120_000)
afterAll(async () => {
  web.child.kill('SIGTERM')
  await web.ended
  await database.drop()
  rmSync(dataDir, { recursive: true, force: true })
})

const serves = async (): Promise<boolean> =>
  (await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(10_000) })).status === 200
const fetchText = async (path: string, headers: Record<string, string> = {}): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}${path}`, { headers })).text()
/** How many connections the web process has open, our question among them, and how much memory its objects and buffers take, in MB. */
async function measure(): Promise<{ open: number; keptMb: number }> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  const figure = (name: string): number => Number(new RegExp(`^${name} ([\\d.e+]+)$`, 'm').exec(text)?.[1])
  const bytes = figure('nodejs_heap_size_used_bytes') + figure('nodejs_external_memory_bytes')
  return { open: figure('berth_http_connections'), keptMb: bytes / 2 ** 20 }
}
const openNow = async (): Promise<number> => (await measure()).open

/** A connection that sends these bytes and never reads. */
function deaf(bytes: string): Socket {
  const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
  return socket
    .on('error', () => {
      /* it was cut */
    })
    .pause()
}

const head = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`

const median = (figures: readonly number[]): number =>
  figures.toSorted((one, two) => one - two)[Math.floor(figures.length / 2)] ?? NaN

describe('clients that never read', () => {
  test('cost little memory and are cut, whatever they asked for, while others are served', {
    timeout: 120_000,
  }, async () => {
    const schema = '/graphql?query=%7B__schema%7Btypes%7Bname%20fields%7Bname%20description%7D%7D%7D%7D'
    const bearer = { authorization: `Bearer ${token}` }
    // Read by many who read, so that what is made once and what the process keeps for its work is there before.
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all([
        fetchText('/graphql', { accept: 'text/html', 'accept-encoding': 'identity' }),
        ...Array.from({ length: limits.pipelinedRequests }, () => fetchText(schema, bearer)),
        fetchText('/agents/openapi.json'),
        fetchText(download),
      ])
      expect(answers[0]?.length).toBeGreaterThan(8_000_000)
    }
    let others = 0
    const calm: number[] = [] // asked as often as below, because the answers cost memory as well
    for (let round = 0; round < 300; round++) {
      expect(await serves()).toBe(true)
      const { open, keptMb } = await measure()
      others = open
      calm.push(keptMb)
    }
    const from = performance.now()
    const asked = [
      ...Array.from({ length: 40 }, () => deaf(head('/graphql', 'accept: text/html\r\n').repeat(3))), // the kernel holds one by itself
      ...Array.from({ length: 5 }, () => deaf(head('/agents/openapi.json').repeat(limits.pipelinedRequests))),
      ...Array.from({ length: 2 }, () =>
        deaf(head(schema, `authorization: Bearer ${token}\r\n`).repeat(limits.pipelinedRequests)),
      ),
      ...Array.from({ length: 5 }, () => deaf(head(download))),
    ]
    await until('all are connected', async () => (await openNow()) >= asked.length)
    const during: number[] = []
    await until(
      'most are cut',
      async () => {
        expect(await serves()).toBe(true)
        const { open, keptMb } = await measure()
        during.push(keptMb)
        return open < others + asked.length - 40
      },
      60_000,
    )
    expect(performance.now() - from).toBeGreaterThan((limits.stalledSeconds * 1000) / 2) // not one that only takes its time
    // What they hold is there all the time; what is collected a moment later is not theirs.
    expect(median(during) - median(calm)).toBeLessThan(60)
    for (const socket of asked) socket.destroy()
  })

  test('that read slowly, but read, get all of it', { timeout: 60_000 }, async () => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(head('/graphql', 'accept: text/html\r\nconnection: close\r\n')),
    )
    let bytes = 0
    for await (const chunk of socket) bytes += (chunk as Buffer).length
    expect(bytes).toBeGreaterThan(8_000_000)
  })
})

describe('clients that never finish', () => {
  test('their headers, their body, or do not begin: thousands are cut while others are served', {
    timeout: 120_000,
  }, async () => {
    const kinds = [
      '',
      'GET /healthz HTTP/1.1\r\nhost: x\r\nx-a: ',
      'POST /api/v1/vms HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{',
      `POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
    ]
    const ends: Promise<void>[] = []
    for (let batch = 0; batch < 20; batch++) {
      // as many at once as the kernel lets wait
      await Promise.all(
        Array.from(
          { length: 100 },
          (_, at) =>
            new Promise<void>((resolve) => {
              const socket = connect(port, '127.0.0.1', () => {
                socket.write(kinds[at % kinds.length] ?? '')
                ends.push(new Promise((end) => socket.on('close', () => end())))
                resolve()
              })
              socket.on('error', () => resolve()).resume() // told by the close
            }),
        ),
      )
      if (batch % 5 === 0) expect(await serves()).toBe(true)
    }
    expect(ends).toHaveLength(2_000)
    expect(await serves()).toBe(true)
    await Promise.all(ends)
    expect(await serves()).toBe(true)
  })
})

describe('a connection', () => {
  test('that pipelines more requests than the limit is cut', async () => {
    const answersTo = (count: number): Promise<number> =>
      new Promise((resolve) => {
        let text = ''
        connect(port, '127.0.0.1')
          .setEncoding('utf8')
          .on('data', (piece: string) => (text += piece))
          .on('error', () => {
            /* told by the close */
          })
          .on('close', () => resolve(text.split('HTTP/1.1 200').length - 1))
          .write(`${head('/readyz').repeat(count - 1)}${head('/readyz', 'connection: close\r\n')}`)
      })
    expect(await answersTo(limits.pipelinedRequests)).toBe(limits.pipelinedRequests)
    expect(await answersTo(limits.pipelinedRequests + 1)).toBe(0)
  })
})

describe('connections of one address', () => {
  test('are refused beyond their number with 503, and taken again when some have closed; loopback has eight times as many', async () => {
    const own = await startApp({ settings: { BERTH_CONNECTIONS_PER_ADDRESS: '8', BERTH_CONNECTIONS: '1000' } })
    const said = (): Promise<string> =>
      new Promise((resolve) => {
        let text = ''
        connect(own.port, '127.0.0.1')
          .setEncoding('utf8')
          .on('data', (piece: string) => (text += piece))
          .on('error', () => {
            /* told by the close */
          })
          .on('close', () => resolve(text))
      })
    try {
      const held = await Promise.all(
        Array.from(
          { length: 64 },
          () =>
            new Promise<Socket>((resolve) => {
              const socket = connect(own.port, '127.0.0.1', () => resolve(socket))
            }),
        ),
      )
      await until('all are counted', async () => (await said()).startsWith('HTTP/1.1 503'))
      expect(await said()).toMatch(/^HTTP\/1\.1 503 [^]*retry-after: 1[^]*service_unavailable/)
      held[0]?.destroy()
      await until('one is taken again', async () => {
        try {
          return (await fetch(`${own.url}/healthz`, { headers: { connection: 'close' } })).status === 200
        } catch {
          return false // cut before it had asked
        }
      })
      for (const socket of held) socket.destroy()
    } finally {
      await own.stop()
    }
  })

  test('are refused beyond the limit for all addresses', async () => {
    const own = await startApp({ settings: { BERTH_CONNECTIONS_PER_ADDRESS: '500', BERTH_CONNECTIONS: '10' } })
    try {
      const held = Array.from({ length: 10 }, () => connect(own.port, '127.0.0.1'))
      await until('an eleventh is refused', async () =>
        fetch(`${own.url}/healthz`).then(
          ({ status }) => status === 503,
          () => true,
        ),
      )
      for (const socket of held) socket.destroy()
      await until('there is room again', async () =>
        fetch(`${own.url}/healthz`).then(
          ({ status }) => status === 200,
          () => false,
        ),
      )
    } finally {
      await own.stop()
    }
  })
})
