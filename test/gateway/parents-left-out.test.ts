/** An id is global: what something belongs to may be left out beside it, opens nothing that is another’s, and is checked when given. */
import { getNamedType, isInputObjectType, type GraphQLArgument, type GraphQLInputField } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { schema } from '#schema/schema.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { fill, makeCallers, makeRefusingNode, makeTarget, type Callers } from '../contract/callers.ts'
import { documentOf, rootFields } from '../contract/documents.ts'
import { graphqlRows } from '../contract/matrix.ts'

let berth: Berth
let callers: Callers
let node: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000' } })
  callers = await makeCallers(berth)
  node = await makeRefusingNode(berth)
})
afterAll(() => berth.stop())

/** The arguments of a root field, and the fields of its input. */
function argumentsOf(rootField: string): readonly (GraphQLArgument | GraphQLInputField)[] {
  const [operation = '', name = ''] = rootField.split(' ')
  const root = operation === 'query' ? schema.getQueryType() : schema.getMutationType()
  return (root?.getFields()[name]?.args ?? []).flatMap((one) => {
    const type = getNamedType(one.type)
    return isInputObjectType(type) ? Object.values(type.getFields()) : [one]
  })
}
const withParent = rootFields()
  .filter((rootField) => !rootField.startsWith('subscription'))
  .flatMap((rootField) =>
    argumentsOf(rootField)
      .filter(({ description }) => /^Its \w+\. If given, .* is not found\.$/.test(description ?? ''))
      .map(({ name }) => [rootField, name] as const),
  )

async function ask(rootField: string, args: string, token: string): Promise<string> {
  const { body } = await berth.ask(documentOf(rootField, args), { token })
  return body.errors?.[0]?.extensions.code ?? 'done'
}

test('these are all that had to be named with their parents', () => {
  expect(withParent.map(([rootField]) => rootField).toSorted()).toEqual([
    'mutation answerGroupApproval',
    'mutation answerGroupQuestion',
    'mutation archiveVaultCredential',
    'mutation deleteSkillVersion',
    'mutation deleteVaultCredential',
    'mutation killVmProcess',
    'mutation removeSessionResource',
    'mutation stopGroupRun',
    'mutation updateSessionResource',
    'mutation updateVaultCredential',
    'mutation validateVaultCredential',
    'query groupRun',
    'query sessionResource',
    'query skillVersion',
    'query vaultCredential',
    'query vmProcess',
  ])
})

test.each(withParent)('%s needs no %s, and checks one that is given', async (rootField, parent) => {
  const [first, second] = [await makeTarget(berth, callers.owner, node), await makeTarget(berth, callers.owner, node)]
  const whole = graphqlRows[rootField]?.args ?? ''
  const named = new RegExp(`\\b${parent}: "\\{\\w+\\}"(?:, )?`)
  expect(whole).toMatch(named)
  const left = whole.replace(named, '')
  expect(await ask(rootField, fill(left, first), callers.stranger)).toBe('NOT_FOUND')
  const before = named.exec(whole)?.[0] ?? ''
  const elsewhere = whole.replace(before, fill(before, second))
  expect(await ask(rootField, fill(elsewhere, first), callers.owner)).toBe('NOT_FOUND')
  const alone = await ask(rootField, fill(left, first), callers.owner)
  expect(alone).not.toBe('NOT_FOUND')
  expect(alone).toBe(await ask(rootField, fill(whole, second), callers.owner))
})
