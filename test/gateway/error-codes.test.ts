/** Errors of GraphQL on the whole schema: their codes can be introspected, and they say where and what was meant. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { schema } from '#schema/schema.ts'
import { errorStatuses } from '#src/platform/errors.ts'
import { startApp, type GraphqlBody, type RunningApp } from './running-app.ts'

let running: RunningApp
let token: string
beforeAll(async () => {
  running = await startApp({ schema })
  token = await running.token('alice', 'acme', 'owner')
})
afterAll(() => running.stop())

type ShownError = NonNullable<GraphqlBody['errors']>[number]

async function firstError(query: string, variables: unknown = {}): Promise<ShownError> {
  const { body } = await running.ask(query, { token, variables })
  return body.errors?.[0] ?? { message: 'no error', extensions: { code: '', requestId: '' } }
}

test('every code that an error may have is a described value of ErrorCode, for everybody', async () => {
  const { body } = await running.ask('{ __type(name: "ErrorCode") { enumValues { name description } } }')
  type Introspected = { __type: { enumValues: { name: string; description: string }[] } }
  const { enumValues } = (body.data as Introspected).__type
  const names = enumValues.map(({ name }) => name)
  expect(names.sort()).toEqual(
    [...Object.keys(errorStatuses).map((code) => code.toUpperCase()), 'PERSISTED_QUERY_NOT_SUPPORTED'].sort(),
  )
  expect(enumValues.filter(({ description }) => description.length < 10)).toEqual([])
})

const create = 'mutation ($input: CreateVaultInput!) { createVault(input: $input) { vault { id } } }'
const list = 'query ($filter: ModelFilter) { models(filter: $filter) { nodes { id } } }'
test.each<[what: string, query: string, variables: unknown, field: string | undefined, meant: string | undefined]>([
  ['a field that there is not', '{ models { nodes { displayNam } } }', {}, undefined, 'displayName'],
  [
    'an enum’s value in the document',
    '{ models(filter: { lifecycle: ACTIV }) { nodes { id } } }',
    {},
    undefined,
    'ACTIVE',
  ],
  ['an enum’s value in a variable', list, { filter: { lifecycle: ['ACTIV'] } }, 'filter.lifecycle[0]', 'ACTIVE'],
  ['a key of an input', create, { input: { displayNam: 'x' } }, 'input.displayNam', 'displayName'],
  ['a key that is missing', create, { input: {} }, 'input.displayName', undefined],
  ['a cursor that is none', '{ models(after: "nobody/nothing") { nodes { id } } }', {}, 'after', undefined],
])('%s is told with its code, its place, and what was meant', async (_, query, variables, field, meant) => {
  const { message, extensions } = await firstError(query, variables)
  expect(extensions).toMatchObject({ code: 'INVALID_REQUEST', requestId: expect.stringMatching(/^req_/) as string })
  expect((extensions as { field?: string }).field).toBe(field)
  if (meant === undefined) expect(message).not.toContain('Did you mean')
  else expect(message).toMatch(new RegExp(`Did you mean .*"${meant}"`))
})

test('a word of a variable that is near no value is not quoted', async () => {
  const { message } = await firstError(list, { filter: { lifecycle: ['top-secret'] } })
  expect(message).toBe('Variable "$filter" must be ModelFilter: "filter.lifecycle[0]" must be ModelLifecycle!.')
})

test('a field that is missing in a variable is said to be missing, with its type', async () => {
  const { message } = await firstError(create, { input: {} })
  expect(message).toMatch(
    /^Variable "\$input" must be \w+!: "input\.displayName" of the type String! was not provided\.$/,
  )
})

const createVm = 'mutation ($input: CreateVmInput!) { createVm(input: $input) { vm { id } } }'
const runSandbox = 'mutation ($input: RunSandboxInput!) { runSandbox(input: $input) { sandbox { ttlSeconds } } }'
const createBuild = 'mutation ($input: CreateBuildInput!) { createBuild(input: $input) { build { id } } }'
const createAgent = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }'
const bothLists = { name: 'web_search', allowedDomains: ['a.example'], blockedDomains: ['b.example'] }
test.each<[query: string, input: Record<string, unknown>, field: string | undefined, sentence: string]>([
  [createVm, { vcpuCount: 99 }, 'vcpuCount', 'vcpuCount must be a whole number from 1 to 16.'],
  [createVm, { diskMb: 5 }, 'diskMb', 'diskMb must be a whole number from '],
  [createVm, { templateId: 'nope' }, 'templateId', 'templateId names no template of yours; '],
  [createVm, { name: '' }, 'name', 'name must have 1 to '],
  [createVm, { gitBranch: 'main' }, 'gitBranch', 'gitBranch is the branch of gitRepoUrl: give both, or '],
  [
    createAgent,
    { name: 'a', model: { id: 'demo' }, tools: [{ agentToolset: { configs: [bothLists] } }] },
    'tools[0].agentToolset.configs[0]',
    'tools[0].agentToolset.configs[0] has allowedDomains and blockedDomains; give one of them.',
  ],
  [runSandbox, { command: 'true', ttlSeconds: 1 }, 'ttlSeconds', 'ttlSeconds must be from 10 to 86400 seconds.'],
  [runSandbox, { command: 'true', timeoutSeconds: -1 }, 'timeoutSeconds', 'timeoutSeconds must '],
])('%s with %j names the field as GraphQL does', async (query, input, field, sentence) => {
  for (const _how of ['interpreted', 'planned']) {
    const { message, extensions } = await firstError(query, { input })
    expect(message).toMatch(new RegExp(`^${RegExp.escape(sentence)}`))
    expect(extensions.http).toEqual({ status: 400 })
    expect((extensions as { field?: string }).field).toBe(field)
  }
})

test('an error about two fields names both and blames neither', async () => {
  const { data } = (await running.ask('{ viewer { organization { id } } }', { token })).body
  const organizationId = (data as { viewer: { organization: { id: string } } }).viewer.organization.id
  const refused = (input: Record<string, unknown>): Promise<ShownError> =>
    firstError(createBuild, { input: { organizationId, ...input } })
  const two = await refused({ spec: {}, gitRef: 'main', commitSha: 'abcdef0' })
  expect(two.message).toBe('gitRef and commitSha need a repoUrl.')
  expect(two.extensions).not.toHaveProperty('field')
})

test.each([
  ['{ metadata: { a: 1 } }', 'input.metadata must be an object from text to text: every value must be text.'],
  ['{ metadata: "x" }', 'input.metadata must be an object from text to text.'],
])('a literal that its scalar refuses, %s, is told by a whole sentence with its place', async (input, sentence) => {
  const { message, extensions } = await firstError(`mutation { createVm(input: ${input}) { vm { id } } }`)
  expect(message).toBe(sentence)
  expect(extensions).toMatchObject({ code: 'INVALID_REQUEST', field: 'input.metadata' })
})

test('a variable’s default that its scalar refuses is told with the variable', async () => {
  const query = 'mutation ($m: TextMap = { a: 1 }) { createVm(input: { metadata: $m }) { vm { id } } }'
  expect((await firstError(query)).message).toBe('$m must be an object from text to text: every value must be text.')
})
