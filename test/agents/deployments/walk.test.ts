/** What docs/automation.md prints of deployments, run as it is printed. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { paste, shellBlocks } from '../../support/paste.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth()
})
afterAll(() => berth?.stop())

test('the walk makes a deployment, runs it, pauses it, lets it start by itself and deletes it', async () => {
  const blocks = [...shellBlocks('docs/automation.md', 'Deployments'), 'echo $DEPLOYMENT\n']
  const env = { TOKEN: await berth.token() }
  const answers = await paste(blocks, { url: berth.url, env })
  const [
    ,
    made = '',
    ,
    run = '',
    followed = '',
    runs = '',
    records = '',
    paused = '',
    planned = '',
    deleted = '',
    id = '',
  ] = answers
  expect(JSON.parse(made)).toMatchObject({ id: id.trim(), name: 'Morning report', status: 'active' })
  const session = JSON.parse(run) as { id: string }
  expect(session).toMatchObject({ type: 'session', deployment_id: id.trim(), title: 'Morning report' })
  expect(followed).toContain(`"session":{"id":"${session.id}"}`)
  expect(JSON.parse(runs)).toMatchObject({ data: [{ id: session.id }] })
  expect(JSON.parse(records)).toMatchObject({ data: [{ session_id: session.id, error: null }] })
  expect(JSON.parse(paused)).toMatchObject({ status: 'paused', paused_reason: { type: 'manual' } })
  expect(JSON.parse(planned)).toMatchObject({ status: 'active', schedule: { expression: '0 9 * * mon-fri' } })
  expect(deleted.trim()).toBe('')
  expect((await berth.call('GET', `/agents/v1/deployments/${id.trim()}`, { token: env.TOKEN })).status).toBe(404)
})
