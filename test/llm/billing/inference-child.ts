/** Run as a process of its own by a test that kills it: short requests that it names when the ledger has them, and two long ones that go on. */
import { setTimeout as pause } from 'node:timers/promises'
import { readConfig } from '#src/platform/config.ts'
import { openServices } from '#src/platform/services.ts'
import { inferenceOf } from '#src/resources/llm/billing.ts'
import { order, output } from './inference-orders.ts'

const [, , databaseUrl = '', dataDir = '', organizationId = ''] = process.argv
const payer = { organizationId, userId: null, keyId: null }
const services = await openServices(
  readConfig({ BERTH_DATA_DIR: dataDir, BERTH_LOG_LEVEL: 'error' }),
  databaseUrl,
  'web',
)
const inference = inferenceOf(services)
const say = (...words: unknown[]): void => void process.stdout.write(`${words.join(' ')}\n`)

const runsMs = 60_000 // the test kills us long before
const endMs = performance.now() + runsMs
const long = await Promise.all([inference.open(order(payer, 1_000_000)), inference.open(order(payer, 0))])
for (const [at, request] of long.entries()) say('open', at, request.id)
async function short(): Promise<void> {
  while (performance.now() < endMs) {
    const request = await inference.open(order(payer, 5_000))
    await request.finish('completed', 'up', output(100))
    say('finished', request.id)
  }
}
void Promise.all([short(), short(), short()])
for (let tokens = 1; performance.now() < endMs; tokens++) {
  for (const request of long) request.progress('up', () => output(tokens))
  say('seen', tokens)
  await pause(10)
}
