/** The walk of docs/automation.md, as it is printed. */
import { expect, test } from 'vitest'
import { hookSecret } from '../../support/code-host/deliveries.ts'
import { paste, shellBlocks } from '../../support/paste.ts'
import { until } from '../../support/until.ts'
import { agent, berth, firesOf, token, useTriggers } from './trigger-world.ts'

useTriggers({ settings: { GITHUB_WEBHOOK_ORGANIZATIONS: 'acme' } })

test('the walk of triggers makes a trigger, fires it with a signed event, and shows what became of it, and tries another event', async () => {
  const known = { TOKEN: token, AGENT: agent, REPO: 'octocat/site', GITHUB_WEBHOOK_SECRET: hookSecret }
  const blocks = shellBlocks('docs/automation.md', 'Triggers')
  const run = (some: readonly string[], more: Record<string, string> = {}): Promise<string[]> =>
    paste(some, { url: berth.url, env: { ...known, ...more } })
  const [made = '', fired = ''] = await run(blocks.slice(0, 2))
  const trigger = JSON.parse(made) as { id: string; events: string[] }
  expect(trigger.events).toEqual(['pull_request.opened', 'push'])
  expect(JSON.parse(fired)).toEqual({ received: true, delivery_id: 'a-first-try', fires: 1 })
  await until('it is decided', async () => (await firesOf(trigger.id))[0]?.status !== 'pending')
  const [listed = '', tried = ''] = await run(blocks.slice(2), { TRIGGER: trigger.id })
  expect(JSON.parse(listed)).toMatchObject({
    data: [{ status: 'started', session_id: expect.stringMatching(/^sesn_/) as string }],
  })
  expect(JSON.parse(tried)).toMatchObject({
    data: {
      tryTrigger: {
        outcome: 'SKIP',
        skipReason: 'FILTER_MISMATCH',
        reason: 'filters.branches does not match the branch spike.',
      },
    },
  })
})
