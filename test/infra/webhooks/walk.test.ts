/** The walk of docs/webhooks.md, run as it is printed. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deliverWebhooks } from '#workers/infra/webhooks.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { paste, shellBlocks } from '../../support/paste.ts'
import { freePort } from '../../support/ports.ts'

let berth: Berth
let port: number
beforeAll(async () => {
  port = await freePort()
  berth = await startBerth({ settings: { BERTH_PRIVATE_HOSTS: `localhost:${port}` } })
  deliverWebhooks(berth.services)
})
afterAll(() => berth?.stop())

test('a receiver is told of a test and of an agent, and the log has both', async () => {
  const blocks = shellBlocks('docs/webhooks.md')
  expect(blocks.length).toBeGreaterThan(4)
  const printed = await paste(
    blocks.map((block) => block.replaceAll('8787', String(port))),
    { url: berth.url, env: { TOKEN: await berth.token() } },
  )
  const log = printed.join('\n')
  expect(log).toMatch(/webhook_endpoint\.test whk_/)
  expect(log).toMatch(/agent\.created agt_/)
  expect(log).toMatch(/"AGENT_CREATED".*"responseStatus":204.*"WEBHOOK_ENDPOINT_TEST"/)
  expect(printed.at(-1)).toMatch(/"deleteWebhookEndpoint":\{"deletedId":"whk_/)
}, 60_000)
