/** Triggers over REST and GraphQL: creating, reading, changing, deleting them, and who may. */
import { expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { decideFire } from '#src/resources/agents/triggers/fires.ts'
import { startBerth } from '../../support/berth.ts'
import { callAgents, refusal } from '../../support/agents-service.ts'
import { codeHostSettings } from '../../support/code-host/code-host.ts'
import { hookSecret, payloads, deliverHook } from '../../support/code-host/deliveries.ts'
import {
  agent,
  berth,
  call,
  connect,
  create,
  firesOf,
  host,
  makeAgent,
  token,
  useTriggers,
  type Trigger,
} from './trigger-world.ts'

useTriggers({ decides: false })

const usual = {
  branches: null,
  paths: null,
  labels: null,
  comment_prefix: null,
  allow_forks: false,
  allow_bots: false,
  author_associations: ['OWNER', 'MEMBER', 'COLLABORATOR'],
}

test('a trigger is made, read, listed, changed and deleted', async () => {
  const made = await create({ repo: 'OctoCat/Site'.toLowerCase(), events: ['push', 'push'] })
  expect(made).toMatchObject({
    type: 'trigger',
    agent: { type: 'agent', id: agent, version: null },
    repo: 'octocat/site',
    events: ['push'],
    enabled: true,
    filters: usual,
    last_fired_at: null,
  })
  expect((await call('GET', `/${made.id}`)).body).toEqual(made)
  const filters = { branches: ['main', 'release/**'], paths: ['docs/**'] }
  const changed = await call('PATCH', `/${made.id}`, { enabled: false, filters, agent: { id: agent, version: 1 } })
  expect(changed).toMatchObject({
    status: 200,
    body: { enabled: false, filters: { ...usual, ...filters }, agent: { version: 1 }, repo: 'octocat/site' },
  })
  expect((await call('POST', `/${made.id}`, { filters: null })).body.filters).toEqual(usual)
  const list = await call<{ data: Trigger[]; has_more: boolean }>('GET', `?agent_id=${agent}`)
  expect(list.body.data.map(({ id }) => id)).toContain(made.id)
  expect((await call('DELETE', `/${made.id}`)).status).toBe(204)
  expect(await call('GET', `/${made.id}`)).toMatchObject(refusal(404, 'not_found'))
})

test('its name finds it again, and nobody gives one twice', async () => {
  const named = await create({ name: 'review' })
  expect(named).toMatchObject({ name: 'review' })
  const other = await create()
  expect(other).toMatchObject({ name: null })
  expect(await call('PATCH', `/${other.id}`, { name: 'review' })).toMatchObject({ status: 400 })
  expect((await call('PATCH', `/${named.id}`, { enabled: false })).body).toMatchObject({
    name: 'review',
    enabled: false,
  })
  expect((await call('PATCH', `/${named.id}`, { name: 'reviews' })).body).toMatchObject({ name: 'reviews' })
  expect((await create({ name: 'review' })).id).not.toBe(named.id)
})

test('it is a node of the graph, beside its agent', async () => {
  const { id } = await create()
  const { body } = await berth.ask(
    `{ node(id: "${id}") { id ... on Trigger { repo events agentReference { version } agent { id name triggers(first: 1) { totalCount } } deployment { id } owner { id } fires { totalCount } filters { authorAssociations } } } }`,
    { token },
  )
  expect(body.data).toMatchObject({
    node: {
      id,
      repo: 'octocat/site',
      events: ['PULL_REQUEST', 'PUSH', 'ISSUES', 'ISSUE_COMMENT'],
      agent: { id: agent, name: 'r' },
      agentReference: { version: null },
      deployment: null,
      fires: { totalCount: 0 },
    },
  })
})

test.each([
  [{ agent: undefined }, 'agent'],
  [{ repo: undefined }, 'repo'],
  [{ repo: 'octocat' }, 'owner/name'],
  [{ repo: 'octocat/site/x' }, 'owner/name'],
  [{ repo: 'octocat/..' }, 'repo'],
  [{ repo: `o/${'x'.repeat(5000)}` }, 'repo'],
  [{ events: undefined }, 'events'],
  [{ events: [] }, 'events'],
  [{ events: ['pushed'] }, 'events'],
  [{ events: ['pull_request.assigned'] }, 'events'],
  [{ events: 'push' }, 'events'],
  [{ events: ['push', 5] }, 'events'],
  [{ enabled: 'yes' }, 'enabled'],
  [{ filters: { branch: ['main'] } }, 'branch'],
  [{ filters: { branches: [] } }, 'branches'],
  [{ filters: { branches: ['!main'] } }, 'branches'],
  [{ filters: { branches: ['x'.repeat(201)] } }, 'branches'],
  [{ filters: { branches: Array.from({ length: 21 }, () => 'x') } }, 'branches'],
  [{ filters: { author_associations: ['FRIEND'] } }, 'author_associations'],
  [{ events: ['issues'], filters: { paths: ['**'] } }, 'filters.paths looks at nothing'],
  [{ events: ['push'], filters: { comment_prefix: '/go' } }, 'filters.comment_prefix looks at nothing'],
  [{ colour: 'red' }, 'colour'],
])('%j makes none, and the answer says why', async (fields, word) => {
  const answer = await call('POST', '', { agent, repo: 'octocat/site', events: ['push'], ...fields })
  expect(answer.status, JSON.stringify(answer.body)).toBe(400)
  expect(answer.body.error?.message).toContain(word)
})

test('an agent that is not there is refused, and so is an archived one', async () => {
  expect(await call('POST', '', { agent: 'agt_0', repo: 'octocat/site', events: ['push'] })).toMatchObject(
    refusal(404, 'not_found'),
  )
  const old = await makeAgent(token)
  await callAgents(berth, token, 'POST', `/agents/${old}/archive`)
  expect(await call('POST', '', { agent: old, repo: 'octocat/site', events: ['push'] })).toMatchObject(
    refusal(409, 'resource_archived'),
  )
})

test('nobody gets in without a token, a viewer makes none, and only the owner finds it', async () => {
  const { id } = await create()
  expect((await berth.call('GET', '/agents/v1/triggers')).status).toBe(401)
  const victor = await berth.token('victor', 'acme', 'viewer')
  await connect(victor)
  expect((await call('POST', '', { agent, repo: 'octocat/site', events: ['push'] }, victor)).status).toBe(403)
  for (const as of [await berth.token('carl', 'acme', 'member'), await berth.token('eve', 'evil')]) {
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['GET', '/fires'],
    ] as const)
      expect((await call(method, `/${id}${path}`, method === 'PATCH' ? {} : undefined, as)).status).toBe(404)
    expect((await call<{ data: unknown[] }>('GET', '', undefined, as)).body.data).toEqual([])
  }
})

test('whoever has no account that may write to the repository cannot have a trigger for it', async () => {
  const order = (as: string, own: string) =>
    call('POST', '', { agent: own, repo: 'octocat/site', events: ['push'] }, as)
  const eve = await berth.token('eve', 'evil')
  const own = await makeAgent(eve)
  expect(await order(eve, own)).toMatchObject(refusal(400, 'provider_not_connected'))
  await connect(eve, 'mallory')
  expect(await order(eve, own)).toMatchObject(refusal(400, 'invalid_request'))
  const readers = { id: 5_000_000_000, name: 'site', full_name: 'octocat/site', html_url: 'https://x', clone_url: null }
  for (const permissions of [{ push: false, pull: true }, undefined]) {
    host.fail('/api/v3/repos/octocat/site', (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...readers, permissions })),
    )
    expect(await order(eve, own)).toMatchObject(refusal(400, 'invalid_request'))
  }
  host.heal()
  const mine = await call('PATCH', `/${(await create()).id}`, { repo: 'mallory/secret' })
  expect(mine).toMatchObject(refusal(400, 'invalid_request'))
})

test('an installation without an app at a code host says so, unless its operator trusts the organization', async () => {
  const { BERTH_CODEHOST_CLIENT_ID: _id, BERTH_CODEHOST_CLIENT_SECRET: _secret, ...others } = codeHostSettings(host)
  const own = await startBerth({
    settings: { ...others, GITHUB_WEBHOOK_SECRET: hookSecret, GITHUB_WEBHOOK_ORGANIZATIONS: 'trusted' },
  })
  try {
    const order = async (as: string): Promise<{ status: number; body: Trigger }> => {
      const { body } = await callAgents<{ id: string }>(own, as, 'POST', '/agents', { name: 'r', model: 'berth/demo' })
      const given = { agent: body.id, repo: 'Octocat/Site', events: ['push'] }
      return callAgents<Trigger>(own, as, 'POST', '/triggers', given)
    }
    const refused = await order(await own.token('eve', 'evil'))
    expect(refused).toMatchObject(refusal(400, 'provider_not_connected'))
    expect(refused.body.error?.message).toContain('GITHUB_WEBHOOK_ORGANIZATIONS')
    expect((await order(await own.token('olivia', 'trusted'))).status).toBe(201)
    expect((await deliverHook(own.url, 'push', payloads.push())).body['fires']).toBe(1)
  } finally {
    await own.stop()
  }
})

test('the members of an organization have at most twenty for one repository', async () => {
  const greta = await berth.token('greta', 'crowded')
  await connect(greta)
  const own = await makeAgent(greta)
  for (let made = 0; made < 20; made++) await create({ agent: own }, greta)
  expect(await call('POST', '', { agent: own, repo: 'octocat/site', events: ['push'] }, greta)).toMatchObject(
    refusal(429, 'rate_limited'),
  )
  expect((await create({ agent: own, repo: 'octocat/other' }, greta)).repo).toBe('octocat/other')
  const gustav = await berth.token('gustav', 'crowded')
  await connect(gustav)
  const fields = { agent: await makeAgent(gustav), repo: 'octocat/site', events: ['push'] }
  expect(await call('POST', '', fields, gustav)).toMatchObject(refusal(429, 'rate_limited'))
  await sql`update memberships set deactivated_at = now() where user_id = (select owner_user_id from agents where id = ${decodeId('agent', own)})`.execute(
    berth.services.db,
  )
  expect((await call('POST', '', fields, gustav)).status).toBe(201)
})

test('deleting an agent deletes its triggers, once they have decided about what was delivered', async () => {
  const own = await makeAgent(token)
  const { id } = await create({ agent: own, filters: { branches: ['release'] } })
  await deliverHook(berth.url, 'push', payloads.push())
  expect(await callAgents(berth, token, 'DELETE', `/agents/${own}`)).toMatchObject(refusal(409, 'work_active'))
  for (const fire of await firesOf(id)) await decideFire(berth.services, decodeId('triggerFire', fire.id) ?? '')
  expect((await callAgents(berth, token, 'DELETE', `/agents/${own}`)).status).toBe(204)
  expect((await call('GET', `/${id}`)).status).toBe(404)
  const left = await sql<{
    count: string
  }>`select count(*) from trigger_fires f where not exists (select from triggers t where t.id = f.trigger_id)`.execute(
    berth.services.db,
  )
  expect(Number(left.rows[0]?.count)).toBe(0)
})
