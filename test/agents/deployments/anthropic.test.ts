/** Deployments by Anthropic's client, unmodified, held against the types that it declares. */
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { anthropicTypes } from '../../support/declared-types.ts'

const { problems } = anthropicTypes([
  'agents/agents',
  'sessions/sessions',
  'sessions/events',
  'sessions/resources',
  'deployments',
  'deployment-runs',
  'beta',
])
const deploymentType = 'BetaManagedAgentsDeployment'
const runType = 'BetaManagedAgentsDeploymentRun'

let berth: Berth
let client: Anthropic
let agent: { id: string; version: number }
let environment: { id: string }
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  const authToken = await berth.token()
  client = new Anthropic({ baseURL: `${berth.url}/agents`, apiKey: null, authToken, maxRetries: 2 })
  agent = await client.beta.agents.create({ name: 'helper', model: 'berth/demo' })
  environment = await client.beta.environments.create({ name: 'work', config: { type: 'cloud' } })
})
afterAll(() => berth.stop())

const make = (fields: object = {}): Promise<Anthropic.Beta.BetaManagedAgentsDeployment> =>
  client.beta.deployments.create({
    name: 'nightly',
    agent: agent.id,
    environment_id: environment.id,
    initial_events: [
      { type: 'system.message', content: [{ type: 'text', text: 'Be brief.' }] },
      { type: 'user.message', content: [{ type: 'text', text: 'Go.' }] },
      { type: 'user.define_outcome', description: 'd', rubric: { type: 'text', content: 'r' }, max_iterations: 2 },
    ],
    ...fields,
  })

test('a deployment has its declared type in every answer; an agent without a version has the number it is now', async () => {
  const made = await make({
    description: 'd',
    metadata: { a: 'b' },
    budget: { type: 'limit', max_list_cost: { amount: '2.00', currency: 'USD' } },
  })
  expect(problems(made, deploymentType)).toEqual([])
  expect(made.agent).toEqual({ type: 'agent', id: agent.id, version: 1 })
  expect(made.initial_events).toHaveLength(3)
  expect(await client.beta.deployments.retrieve(made.id)).toEqual(made)
  const updated = await client.beta.deployments.update(made.id, {
    name: 'weekly',
    agent: { type: 'agent', id: agent.id, version: 1 },
    metadata: { a: null },
    vault_ids: null,
  })
  expect([updated.name, updated.metadata]).toEqual(['weekly', {}])
  const paused = await client.beta.deployments.pause(made.id)
  expect([problems(paused, deploymentType), paused.paused_reason]).toEqual([[], { type: 'manual' }])
  expect((await client.beta.deployments.unpause(made.id)).status).toBe('active')
  const listed: string[] = []
  for await (const one of client.beta.deployments.list({ agent_id: agent.id, status: 'active', limit: 1 }))
    listed.push(one.id)
  expect(listed).toContain(made.id)
  const archived = await client.beta.deployments.archive(made.id)
  expect([problems(archived, deploymentType), archived.status]).toEqual([[], 'active'])
})

test('a deployment with a schedule says when it runs, until the schedule is taken away or the deployment archived', async () => {
  const schedule = { type: 'cron', expression: '0 9 * * 1-5', timezone: 'Europe/Rome' } as const
  const made = await make({ schedule })
  expect(problems(made, deploymentType)).toEqual([])
  expect(made.schedule).toMatchObject({ ...schedule, last_run_at: null })
  expect(made.schedule?.upcoming_runs_at).toHaveLength(5)
  expect(await client.beta.deployments.retrieve(made.id)).toEqual(made)
  expect((await client.beta.deployments.list({ agent_id: agent.id })).data[0]?.schedule).toEqual(made.schedule)
  const paused = await client.beta.deployments.pause(made.id)
  expect(paused.schedule).toEqual(made.schedule)
  const hourly = await client.beta.deployments.update(made.id, { schedule: { ...schedule, expression: '0 * * * *' } })
  expect(hourly.schedule?.expression).toBe('0 * * * *')
  expect((await client.beta.deployments.update(made.id, { name: 'other' })).schedule).toEqual(hourly.schedule)
  expect((await client.beta.deployments.archive(made.id)).schedule?.upcoming_runs_at).toEqual([])
  const { id } = await make({ schedule })
  expect((await client.beta.deployments.update(id, { schedule: null })).schedule).toBeNull()
  expect((await client.beta.deployments.update(id, { schedule })).schedule).toMatchObject(schedule)
})

test('a run is answered as its record, which is then listed and read', async () => {
  const { id } = await make()
  const run = await client.beta.deployments.run(id)
  expect(problems(run, runType)).toEqual([])
  expect(run).toMatchObject({ deployment_id: id, error: null, trigger_context: { type: 'manual' } })
  expect(await client.beta.deploymentRuns.retrieve(run.id)).toEqual(run)
  const started = await client.beta.sessions.retrieve(run.session_id ?? '')
  expect(started.status).toBe('running')
  const page = await client.beta.deploymentRuns.list({ deployment_id: id, has_error: false, trigger_type: 'manual' })
  expect(page.data).toEqual([run])
})

test('a run that cannot start is a conflict, tried once, with its error in the record', async () => {
  const vault = await client.beta.vaults.create({ display_name: 'v' })
  const { id } = await make({ vault_ids: [vault.id] })
  await client.beta.vaults.archive(vault.id)
  await expect(client.beta.deployments.run(id)).rejects.toBeInstanceOf(Anthropic.ConflictError)
  const { data } = await client.beta.deploymentRuns.list({ deployment_id: id, has_error: true })
  expect(data).toHaveLength(1)
  expect(data.flatMap((one) => problems(one, runType))).toEqual([])
  expect(data[0]?.error?.type).toBe('vault_archived_error')
})
