/** Web process and worker are killed while webhooks are delivered: what happened is told, and nothing else. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findAll, sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { startCommand, type Command } from '../../support/command.ts'
import { freePort } from '../../support/ports.ts'
import { until } from '../../support/until.ts'
import { alter, hurry, startReceiver, unwrap, webhooksOf, type Receiver } from './receiver.ts'

const atOnce = 4 // deliveries to one endpoint
const agents = 40

let berth: Berth
let receiver: Receiver
let token: string
let settings: Record<string, string>
const started: Command[] = []
beforeAll(async () => {
  receiver = await startReceiver()
  const shared = { BERTH_PRIVATE_HOSTS: receiver.host, BERTH_RATE_LIMIT_FACTOR: '100', BERTH_VMS: 'off' }
  berth = await startBerth({ settings: shared })
  token = await berth.token()
  settings = {
    ...shared,
    DATABASE_URL: berth.services.database.url,
    BERTH_PUBLIC_URL: berth.services.config.publicUrl,
    BERTH_DATA_DIR: berth.dataDir,
    PORT: String(await freePort()),
  }
})
afterAll(async () => {
  for (const one of started) await kill(one)
  await berth?.stop()
  await receiver?.close()
})

async function start(file: string, ready: RegExp): Promise<Command> {
  const command = startCommand([file], settings)
  started.push(command)
  await command.line(ready)
  return command
}
async function kill({ child, ended }: Command): Promise<void> {
  child.kill('SIGKILL')
  await ended
}

test('after kill -9 of both, each agent that was made is told at least once, by one webhook-id, and no other is', async () => {
  const mine = webhooksOf(berth, token)
  const { webhookEndpoint, secret } = await mine.create({ url: receiver.url('/told'), eventTypes: ['AGENT_CREATED'] })
  receiver.answer('/told', () => undefined) // nothing is answered until the worker is dead
  const [web, worker] = await Promise.all([
    start('src/gateway/main.ts', /listens/),
    start('workers/main.ts', /runs no VMs/),
  ])
  const acknowledged: string[] = []
  const make = async (): Promise<void> => {
    const answer = await fetch(`http://127.0.0.1:${settings['PORT']}/agents/v1/agents`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'made', model: 'berth/demo' }),
    }).catch(() => undefined) // the process is dead
    const made = (await answer?.json().catch(() => undefined)) as { id: string } | undefined
    if (made) acknowledged.push(made.id)
    if (acknowledged.length === agents / 2) web.child.kill('SIGKILL')
  }
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let at = 0; at < agents / 4; at++) await make()
    }),
  )
  await web.ended
  const held = await receiver.got('/told', atOnce)
  await kill(worker)
  receiver.answer('/told', 200)
  await alter(berth, sql`update webhook_deliveries set claimed_until = null`) // its leases are over
  await hurry(berth)
  await start('workers/main.ts', /runs no VMs/)
  const made = await findAll<{ id: string }>(berth.services.db, sql`select id from agents`)
  await until(
    'every delivery has ended',
    async () => (await mine.deliveries(webhookEndpoint.id, { statuses: ['SUCCEEDED'] })).totalCount === made.length,
  )
  const told = Map.groupBy(receiver.at('/told'), (one) => unwrap(one, secret).data.id)
  expect(made.length).toBeGreaterThanOrEqual(acknowledged.length)
  expect(told.size).toBe(made.length)
  for (const id of acknowledged) expect(told.has(id), id).toBe(true)
  for (const all of told.values())
    expect([
      new Set(all.map(({ headers }) => headers['webhook-id'])).size,
      new Set(all.map(({ body }) => body)).size,
    ]).toEqual([1, 1])
  for (const one of held) expect(told.get(unwrap(one, secret).data.id)?.length).toBeGreaterThanOrEqual(2)
}, 90_000)
