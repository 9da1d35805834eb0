/** The walk of docs/automation.md, as it is printed. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { hookSecret } from '../../support/code-host/deliveries.ts'
import { until } from '../../support/until.ts'
import { agent, berth, firesOf, token, useTriggers } from './trigger-world.ts'

useTriggers({ settings: { GITHUB_WEBHOOK_ORGANIZATIONS: 'acme' } })

test('the walk of triggers makes a trigger, fires it with a signed event, and shows what became of it, and tries another event', async () => {
  const [, section = ''] = readFileSync('docs/automation.md', 'utf8').split('## Triggers')
  const blocks = [...(section.split('\n## ')[0] ?? '').matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block)
  const [make = '', fire = '', list = '', trial = ''] = blocks.map((block) =>
    block.replaceAll('http://localhost:4000', berth.url),
  )
  const folder = mkdtempSync(join(tmpdir(), 'walk-'))
  const shell = async (script: string, more: Record<string, string> = {}): Promise<string> => {
    const env = {
      ...process.env,
      TOKEN: token,
      AGENT: agent,
      REPO: 'octocat/site',
      GITHUB_WEBHOOK_SECRET: hookSecret,
      ...more,
    }
    return (await promisify(execFile)('bash', ['-euc', script], { cwd: folder, env })).stdout
  }
  try {
    const trigger = JSON.parse((await shell(make)).trim()) as { id: string; events: string[] }
    expect(trigger.events).toEqual(['pull_request.opened', 'push'])
    expect(JSON.parse(await shell(fire))).toEqual({ received: true, delivery_id: 'a-first-try', fires: 1 })
    await until('it is decided', async () => (await firesOf(trigger.id))[0]?.status !== 'pending')
    expect(JSON.parse(await shell(list, { TRIGGER: trigger.id }))).toMatchObject({
      data: [{ status: 'started', session_id: expect.stringMatching(/^sesn_/) as string }],
    })
    expect(JSON.parse(await shell(trial, { TRIGGER: trigger.id }))).toMatchObject({
      data: {
        tryTrigger: {
          outcome: 'SKIP',
          skipReason: 'FILTER_MISMATCH',
          reason: 'filters.branches does not match the branch spike.',
        },
      },
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
})
