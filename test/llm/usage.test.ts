/** What people see of their organization's requests to models: sums, rows, credits, budgets, and each request as it is settled. */
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { registerSurfaces } from '#rest-compat/surfaces.ts'
import { schema } from '#schema/schema.ts'
import { encodeId } from '#src/platform/ids.ts'
import { timestamp, nowMs } from '#src/platform/clock.ts'
import { sql } from '#src/platform/postgres.ts'
import { accountsTopic, grantCredits, inferenceOf, type Payer } from '#src/resources/llm/billing.ts'
import { makeApiKey } from '#src/resources/identity/api-keys.ts'
import { startApp, type RunningApp } from '../gateway/running-app.ts'
import { idsOf } from '../support/makers.ts'
import { order, output } from './billing/inference-orders.ts'

let app: RunningApp
let token: string
let org: string
let person: Payer
let key: Payer
const today = timestamp(nowMs()).slice(0, 10)

beforeAll(async () => {
  app = await startApp({ schema, surfaces: registerSurfaces })
  token = await app.token('alice', 'acme', 'owner')
  const { organizationId, userId } = idsOf(token)
  org = encodeId('organization', organizationId)
  const { keyId } = await makeApiKey(app.services.db, {
    organizationId,
    createdBy: userId,
    name: 'k',
    prefix: 'svc_live_ak_',
  })
  person = { organizationId, userId, keyId: null }
  key = { organizationId, userId: null, keyId }
  await grantCredits(app.services.db, { organizationId, usd: 1 })
  await ask(person, 'test/one', 100)
  await ask(key, 'test/one', 200)
  await ask(key, 'test/two', 300)
})
afterAll(() => app.stop())

async function ask(payer: Payer, model: string, tokens: number): Promise<void> {
  const request = await inferenceOf(app.services).open(order(payer, 100_000, { model }))
  await request.finish('completed', 'up', output(tokens, { inputTokens: 1000 }))
}

async function data<Shape>(query: string, as = token): Promise<Shape> {
  const { body } = await app.ask(query, { token: as })
  expect(body.errors).toBeUndefined()
  return body.data as Shape
}

async function refused(query: string, as: string | undefined): Promise<string> {
  const { body } = await app.ask(query, { token: as })
  return body.errors?.[0]?.extensions.code ?? 'none'
}

describe('inferenceUsage', () => {
  const totals = 'requests inputTokens outputTokens costUsd'
  it('sums everything, and by key, model and day', async () => {
    type Usage = { inferenceUsage: { from: string; to: string; totals: object; groups: object[] } }
    const by = async (groupBy: string): Promise<Usage['inferenceUsage']> =>
      (
        await data<Usage>(
          `{ inferenceUsage(organizationId: "${org}", groupBy: ${groupBy}) { from to totals { ${totals} } groups { keyId userId modelId day totals { requests costUsd } } } }`,
        )
      ).inferenceUsage
    expect(await by('KEY')).toEqual({
      from: `${today.slice(0, 7)}-01`,
      to: today,
      totals: { requests: 3, inputTokens: 3000, outputTokens: 600, costUsd: '0.000009000' },
      groups: [
        { keyId: key.keyId, userId: null, modelId: null, day: null, totals: { requests: 2, costUsd: '0.000007000' } },
        {
          keyId: null,
          userId: encodeId('user', person.userId ?? ''),
          modelId: null,
          day: null,
          totals: { requests: 1, costUsd: '0.000002000' },
        },
      ],
    })
    expect((await by('MODEL')).groups).toMatchObject([
      { modelId: 'test/one', totals: { requests: 2, costUsd: '0.000005000' } },
      { modelId: 'test/two', totals: { requests: 1, costUsd: '0.000004000' } },
    ])
    expect((await by('DAY')).groups).toMatchObject([{ day: today, modelId: null, totals: { requests: 3 } }])
  })

  it('sums by two of them, and only what a key or a model has', async () => {
    type Usage = { inferenceUsage: { totals: object; groups: object[] } }
    const asked = async (given: string): Promise<Usage['inferenceUsage']> =>
      (
        await data<Usage>(
          `{ inferenceUsage(organizationId: "${org}", ${given}) { totals { requests } groups { keyId modelId day totals { requests } } } }`,
        )
      ).inferenceUsage
    expect((await asked('dimensions: [DAY, MODEL]')).groups).toEqual([
      { keyId: null, modelId: 'test/one', day: today, totals: { requests: 2 } },
      { keyId: null, modelId: 'test/two', day: today, totals: { requests: 1 } },
    ])
    expect(await asked(`dimensions: [MODEL], filter: { keyId: "${key.keyId}" }`)).toMatchObject({
      totals: { requests: 2 },
    })
    expect(await asked('filter: { modelId: "test/two" }')).toMatchObject({ totals: { requests: 1 }, groups: [] })
    for (const wrong of ['[DAY, DAY]', '[DAY, MODEL, KEY]'])
      expect(await refused(`{ inferenceUsage(dimensions: ${wrong}) { from } }`, token)).toBe('INVALID_REQUEST')
  })

  it('covers the requested days, and refuses invalid ones', async () => {
    const usage = (range: string): string =>
      `{ inferenceUsage(organizationId: "${org}", ${range}) { totals { ${totals} } } }`
    expect(await data(usage('from: "2020-01-01", to: "2020-12-31"'))).toEqual({
      inferenceUsage: { totals: { requests: 0, inputTokens: 0, outputTokens: 0, costUsd: '0.000000000' } },
    })
    expect(await data(usage(`from: "${today}", to: "${today}"`))).toMatchObject({
      inferenceUsage: { totals: { requests: 3 } },
    })
    for (const range of [
      'from: "2026-02-30"',
      'from: "yesterday"',
      'from: "2026-11-02", to: "2026-11-01"',
      'from: "2020-01-01", to: "2021-01-01"',
    ])
      expect([range, await refused(usage(range), token)]).toEqual([range, 'INVALID_REQUEST'])
  })
})

describe('inferenceRequests', () => {
  type Page = {
    inferenceRequests: {
      nodes: {
        id: string
        modelId: string
        keyId: string | null
        userId: string | null
        status: string
        costUsd: string
      }[]
      totalCount: number
      pageInfo: { hasNextPage: boolean; endCursor: string }
    }
  }
  const list = (args: string): Promise<Page> =>
    data<Page>(
      `{ inferenceRequests(organizationId: "${org}" ${args}) { totalCount nodes { id modelId keyId userId status costUsd upstream route startedAt endedAt } pageInfo { hasNextPage endCursor } } }`,
    )

  it('are listed newest first, page by page', async () => {
    const all = (await list('')).inferenceRequests.nodes
    expect(all.map(({ modelId, keyId, costUsd }) => [modelId, keyId, costUsd])).toEqual([
      ['test/two', key.keyId, '0.000004000'],
      ['test/one', key.keyId, '0.000003000'],
      ['test/one', null, '0.000002000'],
    ])
    expect(all[0]).toMatchObject({ status: 'COMPLETED', upstream: 'up', route: 'CHAT_COMPLETIONS', userId: null })
    const first = (await list('first: 2')).inferenceRequests
    expect(first.pageInfo.hasNextPage).toBe(true)
    const rest = (await list(`first: 2, after: "${first.pageInfo.endCursor}"`)).inferenceRequests
    expect([...first.nodes, ...rest.nodes]).toEqual(all)
  })

  it('are those of a key, or to a model', async () => {
    const count = async (filter: string): Promise<[number, number]> => {
      const { nodes, totalCount } = (await list(`filter: { ${filter} }`)).inferenceRequests
      return [nodes.length, totalCount]
    }
    expect(await count(`keyId: "${key.keyId}"`)).toEqual([2, 2])
    expect(await count('modelId: "test/two"')).toEqual([1, 1])
    expect(await count('status: COMPLETED')).toEqual([3, 3])
    expect(await count(`keyId: "${key.keyId}", modelId: "test/one"`)).toEqual([1, 1])
    for (const nobody of ['keyId: "nobody"', 'keyId: ""', 'modelId: ""', 'status: LOST'])
      expect(await count(nobody)).toEqual([0, 0])
  })

  it('are found from their organization, with their caller and their objects', async () => {
    type Shown = {
      organization: { inferenceRequests: { nodes: object[] }; inferenceUsage: object; inferenceCredits: object }
    }
    const { organization } = await data<Shown>(`{ organization(id: "${org}") {
      inferenceRequests(first: 3) { nodes { key { id name } user { name } organization { name } } }
      inferenceUsage(groupBy: KEY) { groups { key { id } user { name } } }
      inferenceCredits { plan } } }`)
    expect(organization.inferenceRequests.nodes).toEqual([
      { key: { id: key.keyId, name: 'k' }, user: null, organization: { name: 'acme' } },
      { key: { id: key.keyId, name: 'k' }, user: null, organization: { name: 'acme' } },
      { key: null, user: { name: 'alice' }, organization: { name: 'acme' } },
    ])
    expect(organization.inferenceUsage).toEqual({
      groups: [
        { key: { id: key.keyId }, user: null },
        { key: null, user: { name: 'alice' } },
      ],
    })
    expect(organization.inferenceCredits).toEqual({ plan: 'SELF_HOSTED' })
  })

  it('are nodes of their organization, and nobody else’s', async () => {
    const [one] = (await list('first: 1')).inferenceRequests.nodes
    const query = `{ node(id: "${one?.id}") { id ... on InferenceRequest { costUsd model { id } } } }`
    expect(await data(query)).toEqual({ node: { id: one?.id, costUsd: one?.costUsd, model: null } }) // no table lists test/two
    expect(await data(query, await app.token('mallory', 'evil', 'owner'))).toEqual({ node: null })
  })
})

describe('credits and budgets', () => {
  const shown =
    'plan grantedUsd balanceUsd spentUsd monthlyBudgetUsd spentThisMonthUsd keyBudgets { keyId monthlyUsd spentThisMonthUsd }'
  it('are shown, set and ended', async () => {
    expect(await data(`{ inferenceCredits(organizationId: "${org}") { ${shown} } }`)).toEqual({
      inferenceCredits: {
        plan: 'SELF_HOSTED',
        grantedUsd: '1.000000000',
        balanceUsd: '0.999991000',
        spentUsd: '0.000009000',
        monthlyBudgetUsd: null,
        spentThisMonthUsd: '0.000009000',
        keyBudgets: [],
      },
    })
    expect(
      await data(
        `mutation { setApiKeyBudget(input: { organizationId: "${org}", keyId: "${key.keyId}", monthlyUsd: "0.5" }) { credits { keyBudgets { keyId monthlyUsd spentThisMonthUsd } } } }`,
      ),
    ).toEqual({
      setApiKeyBudget: {
        credits: {
          keyBudgets: [{ keyId: key.keyId, monthlyUsd: '0.500000000', spentThisMonthUsd: '0.000007000' }],
        },
      },
    })
    const heard = new Promise<unknown>((resolve) => app.services.pubsub.listen(accountsTopic, resolve)) // behind whoever reads it again
    expect(
      await data(
        `mutation { setOrganizationBudget(input: { organizationId: "${org}", monthlyUsd: 0 }) { credits { monthlyBudgetUsd } } }`,
      ),
    ).toEqual({ setOrganizationBudget: { credits: { monthlyBudgetUsd: '0.000000000' } } })
    await heard
    await expect(ask(person, 'test/one', 1)).rejects.toMatchObject({ code: 'budget_exceeded' })
    expect(
      await data(
        `mutation { setOrganizationBudget(input: { organizationId: "${org}" }) { credits { monthlyBudgetUsd } } }`,
      ),
    ).toEqual({
      setOrganizationBudget: { credits: { monthlyBudgetUsd: null } },
    })
    expect(
      await data(
        `mutation { setApiKeyBudget(input: { organizationId: "${org}", keyId: "${key.keyId}", monthlyUsd: null }) { credits { keyBudgets { keyId } } } }`,
      ),
    ).toEqual({ setApiKeyBudget: { credits: { keyBudgets: [] } } })
  })

  it('are for admins to set, of their own organization and its own keys', async () => {
    const set = `mutation { setOrganizationBudget(input: { organizationId: "${org}", monthlyUsd: 1 }) { credits { plan } } }`
    const setKey = (keyId: string): string =>
      `mutation { setApiKeyBudget(input: { organizationId: "${org}", keyId: "${keyId}", monthlyUsd: 1 }) { credits { plan } } }`
    const stranger = await app.token('mallory', 'evil', 'owner')
    const member = await app.token('martha', 'acme', 'member')
    for (const mutation of [set, setKey(key.keyId ?? '')]) {
      expect([
        await refused(mutation, undefined),
        await refused(mutation, member),
        await refused(mutation, stranger),
      ]).toEqual(['UNAUTHORIZED', 'NOT_PERMITTED_FOR_ROLE', 'FORBIDDEN'])
    }
    expect(await refused(setKey('nobodys0123456ab'), token)).toBe('NOT_FOUND')
    for (const usd of ['-1', '1000001', '"much"', '0.0000000001'])
      expect(
        await refused(
          `mutation { setOrganizationBudget(input: { organizationId: "${org}", monthlyUsd: ${usd} }) { credits { plan } } }`,
          token,
        ),
      ).toBe('INVALID_REQUEST')
    expect(await refused(`{ inferenceCredits(organizationId: "${org}") { plan } }`, stranger)).toBe('FORBIDDEN')
    expect(
      await refused(
        `{ inferenceCredits(organizationId: "${org}") { plan } }`,
        await app.token('victor', 'acme', 'viewer'),
      ),
    ).toBe('none')
  })
})

describe('inferenceRequestEvents', () => {
  type Event = { cursor: string; request: { modelId: string; costUsd: string } }
  /** Follows until so many events came. */
  async function follow(
    after: string | null,
    most: number,
    onOpen: () => Promise<void> = async () => undefined,
  ): Promise<Event[]> {
    const client = createClient({
      url: `ws://127.0.0.1:${app.port}/graphql`,
      webSocketImpl: WebSocket,
      retryAttempts: 0,
      connectionParams: { authorization: `Bearer ${token}` },
    })
    const events: Event[] = []
    try {
      const stream = client.iterate<{ inferenceRequestEvents: Event }>({
        query: `subscription { inferenceRequestEvents(organizationId: "${org}"${after === null ? '' : `, after: "${after}"`}) { ... on InferenceRequestEvent { cursor request { modelId costUsd } } } }`,
      })
      const next = stream.next()
      await onOpen()
      for (let one = await next; !one.done; one = await stream.next()) {
        if (one.value.errors) throw new Error(JSON.stringify(one.value.errors))
        const event = one.value.data?.inferenceRequestEvents
        if (event && 'cursor' in event) events.push(event)
        if (events.length >= most) break
      }
    } finally {
      await client.dispose()
    }
    return events
  }

  it('have each request as it is settled, and resume after a cursor without gaps or repeats', async () => {
    const past = await follow('0', 3)
    expect(past.map(({ request }) => request.modelId)).toEqual(['test/one', 'test/one', 'test/two'])
    expect(await follow(past[0]!.cursor, 2)).toEqual(past.slice(1))
    const live = await follow(past[2]!.cursor, 40, async () => {
      await Promise.all(Array.from({ length: 40 }, (_, at) => ask(at % 2 ? person : key, `test/live-${at}`, 1)))
    })
    expect(new Set(live.map(({ request }) => request.modelId)).size).toBe(40)
    expect(live.map(({ cursor }) => Number(cursor))).toEqual(
      Array.from({ length: 40 }, (_, at) => Number(past[2]!.cursor) + 1 + at),
    )
  })

  it('have what another process settles too', async () => {
    const [{ position } = { position: 0 }] = (
      await sql<{
        position: number
      }>`select settled_position as position from inference_accounts where organization_id = ${person.organizationId}`.execute(
        app.services.db,
      )
    ).rows
    const { openServices } = await import('#src/platform/services.ts')
    const other = await openServices(app.services.config, app.services.database.url, 'web')
    try {
      const events = await follow(String(position), 1, async () => {
        await (await inferenceOf(other).open(order(person, 0, { model: 'test/other' }))).finish(
          'completed',
          'up',
          output(1),
        )
      })
      expect(events.map(({ request }) => request.modelId)).toEqual(['test/other'])
    } finally {
      await other.close()
    }
  })
})
