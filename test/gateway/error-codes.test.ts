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
  expect(message).toBe('Variable "$filter" must be ModelFilter; look at "filter.lifecycle[0]".')
})
