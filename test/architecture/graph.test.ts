/** The conventions of the graph: what every noun of the schema has in common, so that who knows one knows the next. */
import {
  getNamedType,
  isEnumType,
  isInterfaceType,
  isNonNullType,
  isObjectType,
  printSchema,
  type GraphQLObjectType,
} from 'graphql'
import { expect, test } from 'vitest'
import { schema, wireSchema } from '#schema/schema.ts'
import { wordsOf } from '#schema/words.ts'

const types = Object.values(schema.getTypeMap()).filter((type) => !type.name.startsWith('__'))
const objectFields = types
  .filter((type) => isObjectType(type) || isInterfaceType(type))
  .flatMap((type) =>
    Object.values(type.getFields()).map((field) => ({ at: `${type.name}.${field.name}`, type, field })),
  )

/** Ids without the object beside them, and why. */
const aloneIds: Readonly<Record<string, string>> = {
  'AuditActor.authorizationId': 'only its person may see it, and it may have ended: its program is named beside it',
  'Authorization.clientId': 'a program is no noun: it stands in its authorization',
  'AuditEvent.requestId': 'a request is no noun: its answer has named it',
  'Domain.serviceId': 'a link is no noun: it stands in its domain',
  'Session.deploymentId': 'always null: there are no deployments',
  'GroupApproval.approvalId': 'an approval is no noun: it is of the tool use beside it',
  'OutcomeEvaluation.outcomeId': 'an outcome is no noun: it stands in its session',
  'SpanOutcomeEvaluationEnd.outcomeId': 'an outcome is no noun: it stands in its session',
  'SpanOutcomeEvaluationStart.outcomeId': 'an outcome is no noun: it stands in its session',
  'UserDefineOutcome.outcomeId': 'an outcome is no noun: it stands in its session',
  'VmEnvironmentConfig.templateId': 'as it was given, an id or a name: the VM leads to the template that it got',
}

const jsonMax = 15

test('beside every id is the object that it names', () => {
  const ids = objectFields.filter(({ field }) => field.name.endsWith('Id') && getNamedType(field.type).name === 'ID')
  const alone = ids.filter(
    ({ at, type, field }) =>
      field.name !== 'deletedId' && !(at in aloneIds) && !type.getFields()[field.name.replace(/Id$/, '')],
  )
  expect(alone.map(({ at }) => at)).toEqual([])
  expect(ids.length).toBeGreaterThan(40)
})

/** Types whose objects were read with them, and are there. */
const inHand = new Set(['VaultCredentialValidation'])

test('an object beside an id may be null: it may be deleted, or not the caller’s', () => {
  const ids = objectFields.filter(({ field }) => field.name.endsWith('Id') && getNamedType(field.type).name === 'ID')
  const wrong = ids.filter(({ type, field }) => {
    const beside = type.getFields()[field.name.replace(/Id$/, '')]
    const isLoaded = beside && isNonNullType(beside.type) && isObjectType(getNamedType(beside.type))
    return isLoaded && !inHand.has(type.name)
  })
  expect(wrong.map(({ at }) => at)).toEqual([])
})

test('every connection pages both ways, and takes a filter as an input of its own and an order as a direction', () => {
  const wrong = objectFields
    .filter(({ field }) => getNamedType(field.type).name.endsWith('Connection'))
    .flatMap(({ at, field }) => {
      const given = new Map(field.args.map((argument) => [argument.name, String(argument.type)]))
      const missing = ['first', 'after', 'last', 'before'].filter((name) => !given.has(name))
      const [filter, order] = [given.get('filter'), given.get('order')]
      return [
        ...missing.map((name) => `${at} has no ${name}`),
        ...(filter === undefined || /^[A-Z]\w*Filter$/.test(filter) ? [] : [`${at} filters by ${filter}`]),
        ...(order === undefined || order === 'OrderDirection!' ? [] : [`${at} orders by ${order}`]),
      ]
    })
  expect(wrong).toEqual([])
})

test('every mutation takes one input and returns a payload', () => {
  const mutations = Object.values(schema.getMutationType()?.getFields() ?? {})
  const wrong = mutations.filter(({ name, args, type }) => {
    const noun = `${name.charAt(0).toUpperCase()}${name.slice(1)}`
    const inputs = args.map((argument) => `${argument.name}: ${String(argument.type)}`).join()
    return inputs !== `input: ${noun}Input!` || getNamedType(type).name !== `${noun}Payload`
  })
  expect(mutations.length).toBeGreaterThan(40)
  expect(wrong.map(({ name }) => name)).toEqual([])
})

test('root fields are nullable, so that one that fails leaves the data of the others', () => {
  const fields = (type: GraphQLObjectType | null | undefined) => Object.values(type?.getFields() ?? {})
  const roots = [...fields(schema.getQueryType()), ...fields(schema.getMutationType())]
  expect(roots.filter(({ type }) => isNonNullType(type)).map(({ name }) => name)).toEqual([])
})

test('the values of enums are in capitals, and each is described', () => {
  const values = types.filter(isEnumType).flatMap((type) => type.getValues().map((value) => ({ type, value })))
  const wrong = values.filter(({ value }) => !/^[A-Z][A-Z0-9_]*$/.test(value.name) || !value.description)
  expect(wrong.map(({ type, value }) => `${type.name}.${value.name}`)).toEqual([])
})

test('JSON is used only for shapes that are the caller’s own', () => {
  expect((printSchema(schema).match(/: \[?JSON\b/g) ?? []).length).toBeLessThanOrEqual(jsonMax)
})

type Named = { name: string; deprecationReason?: string | null | undefined }
type Member = Named & { args?: readonly Named[] }

test('what is deprecated names its successor, which is there, and the version with which it goes', () => {
  const old = types.flatMap((type) => {
    const members: readonly Member[] = isEnumType(type)
      ? type.getValues()
      : 'getFields' in type
        ? Object.values(type.getFields())
        : []
    const names = members.map(({ name }) => name)
    return members.flatMap((member) => [
      { at: `${type.name}.${member.name}`, reason: member.deprecationReason, names },
      ...(member.args ?? []).map(({ name, deprecationReason: reason }, _, all) => ({
        at: `${type.name}.${member.name}(${name})`,
        reason,
        names: all.map((one) => one.name),
      })),
    ])
  })
  const deprecated = old.flatMap(({ reason, ...one }) => (typeof reason === 'string' ? [{ ...one, reason }] : []))
  const wrong = deprecated.filter(({ reason, names }) => {
    const [, successor] = /^Use `(\w+)`\. Goes with \d+\.\d+\.$/.exec(reason) ?? []
    return successor === undefined || !names.includes(successor)
  })
  expect(deprecated.map(({ at }) => at)).toContain('RemoveVmPathPayload.success')
  expect(wrong).toEqual([])
})

/** Where the other service knows pages by number alone. */
const pagedElsewhere = ['Query.codeHostRepositories', 'CodeHostRepositoryPage.page']

test('nothing is in the public graph for REST alone, and REST has it', () => {
  const clothes = ['RestObject', 'Reserved', 'ByteList']
  expect(clothes.filter((name) => schema.getType(name))).toEqual([])
  expect(clothes.filter((name) => !wireSchema.getType(name))).toEqual([])
  const named = objectFields.flatMap(({ at, field }) => [
    ...(/\.(?:wire[A-Z]|object$|page$)/.test(at) ? [at] : []),
    ...(field.name === 'type' && wordsOf(field.extensions) && getNamedType(field.type).name === 'String' ? [at] : []),
    ...(field.args.some(({ name }) => name === 'offset' || name === 'page') ? [at] : []),
  ])
  expect(named.filter((at) => !pagedElsewhere.includes(at))).toEqual([])
})
