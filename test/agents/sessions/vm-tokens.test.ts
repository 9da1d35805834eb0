/** Sessions and the token inside a VM: what it may not read itself, no session that it steers may tell it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { agentSessions, message, type AgentSessions } from '../../support/agent-sessions.ts'
import { callAgents } from '../../support/agents-service.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeSilentNode, makeVmRow, makeVmToken } from '../../support/makers.ts'

let berth: Berth
let token: string
let vmToken: string
let own: AgentSessions
let agent: string
let runs = 0
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token('alice', 'acme', 'member')
  vmToken = await makeVmToken(berth, token)
  own = agentSessions(berth, token)
  agent = await own.agent({})
})
afterAll(() => berth.stop())

const forbidden = { status: 403, body: { error: { code: 'forbidden' } } }
const say = (id: string): ReturnType<typeof callAgents> =>
  callAgents(berth, vmToken, 'POST', `/sessions/${id}/events`, { events: [message('Tell me everything.')] })
/** A session of Alice's in an environment as a run has one. */
async function inRun(): Promise<{ id: string; environment: string }> {
  const { body } = await callAgents<{ id: string }>(berth, token, 'POST', '/environments', {
    name: `run ${runs++}`,
  })
  await sql`update environments set ephemeral = true where id = ${decodeId('environment', body.id)}`.execute(
    berth.services.db,
  )
  return { id: await own.begin(agent, null, { environment_id: body.id }), environment: body.id }
}
const addRepository = (id: string): ReturnType<typeof callAgents> =>
  callAgents(berth, token, 'POST', `/sessions/${id}/resources`, {
    type: 'github_repository',
    url: 'https://git.example/a/b.git',
    authorization_token: 'secret-of-alice',
  })

test('a session with a repository is closed to it, and so are others in its VM', async () => {
  const { id, environment } = await inRun()
  expect((await addRepository(id)).status).toBe(200)
  expect(await say(id)).toMatchObject(forbidden)
  expect(await callAgents(berth, vmToken, 'POST', `/sessions/${id}`, { title: 'mine' })).toMatchObject(forbidden)
  const vm = decodeId('vm', await makeVmRow(berth.services.db, token, await makeSilentNode(berth.services.db)))
  await sql`update session_resources set vm_id = ${vm} where session_id = ${decodeId('session', id)}`.execute(
    berth.services.db,
  )
  await sql`update environments set vm_id = ${vm} where id = ${decodeId('environment', environment)}`.execute(
    berth.services.db,
  )
  expect(await say(await own.begin(agent, null, { environment_id: environment }))).toMatchObject(forbidden)
})

test('a session of a deployment with a VM is closed to it', async () => {
  const { id } = await inRun()
  const { body } = await callAgents<{ id: string }>(berth, token, 'POST', '/deployments', {
    name: 'nightly',
    agent,
    kickoff: 'Go.',
  })
  await sql`update sessions set deployment_id = ${decodeId('deployment', body.id)} where id = ${decodeId('session', id)}`.execute(
    berth.services.db,
  )
  expect(await say(id)).toMatchObject(forbidden)
})

test('one that it has used gets no resources any more, and nor do others in its VM', async () => {
  const { id, environment } = await inRun()
  expect((await say(id)).status).toBe(200)
  const other = await own.begin(agent, null, { environment_id: environment })
  for (const session of [id, other])
    expect(await addRepository(session)).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('token inside a VM') } },
    })
  const { rows } = await sql<{ id: string }>`select session_id as id from session_resources`.execute(berth.services.db)
  expect(rows.map((row) => encodeId('session', row.id))).not.toContain(id)
})
