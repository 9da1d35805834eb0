/** Old names of the graph: they answer as their successors do, to everybody. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schema } from '#schema/schema.ts'
import { decodeId } from '#src/platform/ids.ts'
import { signVmToken } from '#src/resources/identity/access-tokens.ts'
import { identityOf } from '#src/resources/identity/memberships.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf } from '../../support/makers.ts'
import { fill, makeCallers, makeRefusingNode, makeTarget, type Callers } from '../callers.ts'
import { documentOf } from '../documents.ts'
import { graphqlRows } from '../matrix.ts'

let berth: Berth
let callers: Callers
let node: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000' } })
  callers = await makeCallers(berth)
  node = await makeRefusingNode(berth)
})
afterAll(() => berth.stop())

const successorOf = (reason: string): string => /^Use `(\w+)`/.exec(reason)?.[1] ?? reason

type Old = { operation: 'query' | 'mutation'; name: string; successor: string }
const oldFields: Old[] = (['query', 'mutation'] as const).flatMap((operation) => {
  const root = operation === 'query' ? schema.getQueryType() : schema.getMutationType()
  return Object.values(root?.getFields() ?? {}).flatMap(({ name, deprecationReason }) =>
    deprecationReason ? [{ operation, name, successor: successorOf(deprecationReason) }] : [],
  )
})

/** What a caller is told: the code of the error, or `done`. */
async function told(document: string, token: string): Promise<string> {
  const { body } = await berth.ask(document, { token })
  return body.errors?.[0]?.extensions.code ?? 'done'
}

/** The token inside the VM of a target. */
async function tokenInside(vm: string): Promise<string> {
  const { organizationId, userId } = idsOf(callers.owner)
  const identity = await identityOf(berth.services.db, userId, organizationId)
  return (await signVmToken(berth.services, identity, decodeId('vm', vm) ?? '', 900)).token
}

test.each(oldFields)(
  '$operation $name tells everybody what $successor tells',
  async ({ operation, name, successor }) => {
    const args = graphqlRows[`${operation} ${successor}`]?.args
    const answers: Record<string, string[]> = {}
    for (const field of [name, successor]) {
      const target = await makeTarget(berth, callers.owner, node)
      const document = documentOf(`${operation} ${field}`, args && fill(args, target))
      const tokens = [callers.stranger, callers.viewer ?? '', await tokenInside(target.vm), callers.owner]
      answers[field] = []
      for (const token of tokens) answers[field].push(await told(document, token))
    }
    expect(answers[name]).toEqual(answers[successor])
    expect(new Set(answers[name]).size).toBeGreaterThan(1)
  },
)

test('an old argument names the same, and only one of both is to be given', async () => {
  const { deployment, group } = await makeTarget(berth, callers.owner, node)
  const ask = async (given: string) => {
    const { body } = await berth.ask(`{ groupSnapshot${given} { group { id } } }`, { token: callers.owner })
    return body.errors?.[0] ?? body.data
  }
  expect(await ask(`(id: "${group}")`)).toEqual(await ask(`(groupId: "${group}")`))
  expect(await ask(`(groupId: "${group}", id: null)`)).toEqual({ groupSnapshot: { group: { id: group } } })
  expect(await ask(`(groupId: "${group}", id: "${group}")`)).toMatchObject({
    message: 'Give either groupId or id, not both: id is its old name.',
    extensions: { code: 'INVALID_REQUEST', field: 'groupId' },
  })
  for (const none of ['', '(id: null)', '(groupId: null)'])
    expect(await ask(none)).toMatchObject({ message: 'Give groupId.', extensions: { code: 'INVALID_REQUEST' } })
  const runs = `subscription ($id: ID!) { deploymentRunEvents(id: $id, after: "x") { __typename } }`
  const { body } = await berth.ask(runs, { token: callers.owner, variables: { id: deployment } })
  expect(body.errors?.[0]?.extensions.code).toBe('INVALID_REQUEST')
})

test('`orderBy` orders a list as `order` does, and its type is that of before', async () => {
  for (let made = 0; made < 2; made++) await makeTarget(berth, callers.owner, node)
  const read = async (given: string, variables?: object) => {
    const asked = `query ${variables ? '($orderBy: VmOrder)' : ''} { vms(first: 9, ${given}) { nodes { id } } }`
    const { body } = await berth.ask(asked, { token: callers.owner, variables })
    return (body.data as { vms: { nodes: { id: string }[] } }).vms.nodes.map(({ id }) => id) // as asked
  }
  const oldest = await read('order: ASC')
  expect(oldest).not.toEqual(await read('order: DESC'))
  expect(await read('orderBy: {field: CREATED_AT, direction: ASC}')).toEqual(oldest)
  expect(await read('orderBy: null')).toEqual(await read('order: DESC'))
  const orderBy = { field: 'CREATED_AT', direction: 'ASC' }
  expect(await read('orderBy: $orderBy', { orderBy })).toEqual(oldest)
  const both = async (document: string, variables?: object) =>
    (await berth.ask(document, { token: callers.owner, variables })).body.errors?.[0]
  const by = 'orderBy: {field: CREATED_AT, direction: ASC}'
  const refusal = {
    message: 'Give either order or orderBy, not both: orderBy is its old name.',
    extensions: { code: 'INVALID_REQUEST', field: 'order' },
  }
  expect(await both(`{ vms(order: DESC, ${by}) { nodes { id } } }`)).toMatchObject(refusal)
  const variable = `query ($order: OrderDirection! = DESC) { vms(order: $order, ${by}) { nodes { id } } }`
  expect(await both(variable, { order: 'ASC' })).toMatchObject(refusal)
})

test('an old field of an input is read as its successor, wherever the input stands, and only one of both is to be given', async () => {
  let named = 0
  const make = async (config: string) => {
    const made = `createEnvironment(input: { name: "of old names ${named++}", config: ${config} }) { environment { config { ... on VmEnvironmentConfig { vcpuCount } } } }`
    const { body } = await berth.ask(`mutation { ${made} }`, { token: callers.owner })
    return body.errors?.[0] ?? body.data?.['createEnvironment']
  }
  const made = { environment: { config: { vcpuCount: 3 } } }
  expect(await make('{ vcpu: 3 }')).toEqual(made)
  expect(await make('{ vcpuCount: 3 }')).toEqual(made)
  expect(await make('{ vcpuCount: 3, vcpu: null }')).toEqual(made)
  expect(await make('{ vcpuCount: 3, vcpu: 3 }')).toMatchObject({
    message: 'Give either vcpuCount or vcpu, not both: vcpu is its old name.',
    extensions: { code: 'INVALID_REQUEST', field: 'config.vcpuCount' },
  })
  expect(await make('{ vcpu: 99 }')).toMatchObject({ extensions: { field: 'config.vcpuCount' } })
})

test('lists are narrowed by `createdAt`, and by the four conditions of before, which hold beside it', async () => {
  await makeTarget(berth, callers.owner, node)
  const read = async (filter: string) => {
    const { body } = await berth.ask(`{ agents(first: 9, filter: ${filter}) { nodes { id createdAt } } }`, {
      token: callers.owner,
    })
    expect(body.errors).toBeUndefined()
    return (body.data as { agents: { nodes: { id: string; createdAt: string }[] } }).agents.nodes // as asked
  }
  const [newest] = await read('{}')
  const at = newest?.createdAt ?? ''
  for (const [now, before] of [
    [`after: "${at}"`, `createdAfter: "${at}"`],
    [`from: "${at}"`, `createdFrom: "${at}"`],
    [`before: "${at}"`, `createdBefore: "${at}"`],
    [`until: "${at}"`, `createdUntil: "${at}"`],
  ])
    expect(await read(`{ createdAt: { ${now} } }`)).toEqual(await read(`{ ${before} }`))
  expect(await read(`{ createdAt: { after: "${at}" } }`)).not.toContainEqual(newest)
  expect(await read(`{ createdAt: { from: "${at}", until: "${at}" } }`)).toContainEqual(newest)
  expect(await read(`{ createdAt: { from: "${at}" }, createdBefore: "${at}" }`)).toEqual([])
  expect(await read('{ createdAt: null }')).toEqual(await read('{ createdAt: {} }'))
})

describe('an old field', () => {
  test('answers in its own types, which clients have named in their documents', async () => {
    const target = await makeTarget(berth, callers.owner, node)
    const asked = `mutation ($input: UnpauseDeploymentInput!) { unpauseDeployment(input: $input) { ...Shown } } fragment Shown on UnpauseDeploymentPayload { __typename deployment { id } }`
    const { body } = await berth.ask(asked, { token: callers.owner, variables: { input: { id: target.deployment } } })
    expect(body.data).toEqual({
      unpauseDeployment: { __typename: 'UnpauseDeploymentPayload', deployment: { id: target.deployment } },
    })
  })
})
