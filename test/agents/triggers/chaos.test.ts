/**
 * A hostile day for triggers: processes of their own, and kill -9 of web and worker while deliveries come and fires start.
 * What was acknowledged has its fire, each fire has one session, and nothing is left undecided.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { issueToken } from '#src/identity/issuer.ts'
import { readConfig } from '#src/platform/config.ts'
import { sql } from '#src/platform/postgres.ts'
import { openServices } from '#src/platform/services.ts'
import { startCommand, type Command } from '../../support/command.ts'
import { deliverHook, hookSecret, payloads } from '../../support/code-host/deliveries.ts'
import { freePort } from '../../support/ports.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const deliveryCount = 60
const sendersAtOnce = 4
const betweenTriesMs = 100
/** A lease of a killed worker ends within ten seconds; then its fires are taken again. */
const recoveryMs = 180_000

let database: TestDatabase
let dataDir: string
let services: Awaited<ReturnType<typeof openServices>>
let settings: Record<string, string>
let web: Command
let worker: Command
const running = new Set<Command>()

async function start(words: string[], ready: RegExp): Promise<Command> {
  const command = startCommand(words, { ...settings, BERTH_METRICS_PORT: String(await freePort()) })
  running.add(command)
  await until('the process is ready', () => command.lines.some((line) => ready.test(line)), recoveryMs)
  return command
}
const startWeb = () => start(['src/gateway/main.ts'], /the web process listens/)
const startWorker = () => start(['workers/main.ts'], /this worker runs no VMs/)

async function kill(command: Command): Promise<void> {
  running.delete(command)
  command.child.kill('SIGKILL')
  await command.ended
}

beforeAll(async () => {
  database = await createDatabase()
  dataDir = mkdtempSync(join(tmpdir(), 'berth-triggers-'))
  settings = {
    PORT: String(await freePort()),
    BERTH_DATA_DIR: dataDir,
    DATABASE_URL: database.url,
    BERTH_VMS: 'off',
    BERTH_RATE_LIMIT_FACTOR: '100',
    GITHUB_WEBHOOK_SECRET: hookSecret,
    GITHUB_WEBHOOK_ORGANIZATIONS: 'acme',
  }
  services = await openServices(readConfig(settings), database.url, 'web')
  web = await startWeb()
  worker = await startWorker()
}, recoveryMs)
afterAll(async () => {
  for (const command of running) await kill(command)
  await services?.close()
  await database?.drop()
  rmSync(dataDir, { recursive: true, force: true })
})

const url = () => `http://127.0.0.1:${settings['PORT']}`

async function post<Body>(path: string, token: string, body: unknown): Promise<Body> {
  const answer = await fetch(`${url()}/agents/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(answer.status).toBe(201)
  return (await answer.json()) as Body
}

type Counts = { fires: number; started: number; skipped: number; pending: number; redelivered: number }

async function counts(): Promise<Counts> {
  const { rows } =
    await sql<Counts>`select count(*)::int fires, count(*) filter (where status = 'started')::int started,
    count(*) filter (where status = 'skipped')::int skipped, count(*) filter (where status = 'pending')::int pending,
    coalesce(sum(redelivery_count), 0)::int redelivered from trigger_fires`.execute(services.db)
  return rows[0] as Counts // a count always answers
}

/** Delivers until it is acknowledged, as whoever looks after a webhook does. */
async function deliverUntilTaken(number: number, onTry: () => void): Promise<void> {
  for (;;) {
    onTry()
    const answer = await deliverHook(url(), 'push', payloads.push(), { 'x-github-delivery': `push-${number}` }).catch(
      () => undefined,
    )
    if (answer?.status === 202) return
    expect(answer?.status ?? 503).toBe(503)
    await pause(betweenTriesMs)
  }
}

test(
  'every event that was acknowledged has one fire for each trigger and one session, whoever is killed meanwhile',
  async () => {
    const { token } = await issueToken(services, {
      user: 'alice',
      organization: 'acme',
      role: 'owner',
      ttlSeconds: 3600,
      newNames: { make: true },
    })
    const { id: agent } = await post<{ id: string }>('/agents', token, { name: 'r', model: 'berth/demo' })
    const order = { agent, repo: 'octocat/site', events: ['push'] }
    await post('/triggers', token, order)
    await post('/triggers', token, { ...order, filters: { branches: ['release/*'] } })

    let [taken, tries, next] = [0, 0, 0]
    const senders = Array.from({ length: sendersAtOnce }, async () => {
      while (next < deliveryCount) {
        await deliverUntilTaken(next++, () => tries++)
        taken++
      }
    })
    for (const part of [0.25, 0.6]) {
      await until('more is delivered', () => taken >= deliveryCount * part, recoveryMs)
      await until('a fire is waiting', async () => (await counts()).pending > 0, recoveryMs, 1)
      await Promise.all([kill(worker), kill(web)])
      ;[web, worker] = await Promise.all([startWeb(), startWorker()])
    }
    await Promise.all(senders)
    await until('nothing is undecided', async () => (await counts()).pending === 0, recoveryMs)

    const after = await counts()
    expect(after).toMatchObject({ fires: 2 * deliveryCount, started: deliveryCount, skipped: deliveryCount })
    expect(after.redelivered).toBeLessThanOrEqual(2 * (tries - deliveryCount))
    const { rows } = await sql<{ sessions: number; ofFires: number; messages: number; told: number }>`
      select (select count(*)::int from sessions) sessions,
        (select count(distinct session_id)::int from trigger_fires) of_fires,
        (select count(*)::int from session_events where type = 'user.message') messages,
        (select count(distinct session_id)::int from session_events where type = 'user.message') told`.execute(
      services.db,
    )
    expect(rows).toEqual([
      { sessions: deliveryCount, ofFires: deliveryCount, messages: deliveryCount, told: deliveryCount },
    ])
  },
  3 * recoveryMs,
)
