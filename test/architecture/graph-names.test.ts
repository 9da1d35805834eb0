/** The names of the graph: one word for one idea, so that who knows one noun can guess the next. Old names are exempt. */
import {
  getNullableType,
  isListType,
  isNonNullType,
  type GraphQLOutputType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  type GraphQLType,
} from 'graphql'
import { expect, test } from 'vitest'
import { schema } from '#schema/schema.ts'

type Named = { name: string; deprecationReason?: string | null | undefined }
const current = <One extends Named>(all: readonly One[]): One[] => all.filter((one) => !one.deprecationReason)

const mutations = current(Object.values(schema.getMutationType()?.getFields() ?? {}))

/** What mutations do; `create` and `delete` and so on are opposites, and there is one verb for each deed. */
const verbs = [
  'create delete undelete add remove archive update set replace rotate revoke',
  'open close start stop pause resume wake run cancel kill exec sync refresh deploy roll restore replay',
  'enable disable link unlink connect disconnect activate check validate try',
  'send answer accept mark select complete move rename write',
]
  .join(' ')
  .split(' ')

test('a mutation begins with one of the verbs there are', () => {
  const wrong = mutations.filter(({ name }) => !verbs.includes(/^[a-z]+/.exec(name)?.[0] ?? ''))
  expect(wrong.map(({ name }) => name)).toEqual([])
  expect(mutations.length).toBeGreaterThan(100)
  expect(verbs).not.toContain('unpause')
})

test('a payload names what has an id by its type: `vaultCredential`, `groupRuns`', () => {
  const named = mutations.flatMap(({ type: payload }) => {
    const type = getNamedType(payload)
    return (isObjectType(type) ? current(Object.values(type.getFields())) : []).flatMap((field) => {
      const inside = getNamedType(field.type)
      const isNoun = (isObjectType(inside) || isInterfaceType(inside)) && 'id' in inside.getFields()
      return isNoun ? [{ at: `${type.name}.${field.name}`, field: field.name, noun: inside.name }] : []
    })
  })
  const wrong = named.filter(({ field, noun }) => ![noun, `${noun}s`].includes(upperFirst(field)))
  expect(wrong.map(({ at }) => at)).toEqual([])
  expect(named.length).toBeGreaterThan(60)
})

test('an argument `id` is that of what the field answers; any other says whose it is', () => {
  const roots = [schema.getQueryType(), schema.getSubscriptionType()]
  const fields = roots.flatMap((root) => current(Object.values(root?.getFields() ?? {})))
  const named = fields.filter(({ args }) => current(args).some(({ name }) => name === 'id'))
  const wrong = named.filter(({ name, type }) => upperFirst(name) !== String(type))
  expect(wrong.map(({ name }) => name)).toEqual([])
  expect(named.length).toBeGreaterThan(30)
})

test('a subscription is called after its noun: `…Events`, or `…Changed` where each value takes the place of the one before', () => {
  const fields = current(Object.values(schema.getSubscriptionType()?.getFields() ?? {}))
  expect(fields.map(({ name }) => name).filter((name) => !/(Events|Changed)$/.test(name))).toEqual([])
})

/** Settings as they are given: what Berth is told to do has the name of its order. */
const orders = /^(allow|use|verify|wake)[A-Z]/

test('a boolean of an object says `is…`, `has…` or `can…`, or is an order that an input spells the same', () => {
  const all = Object.values(schema.getTypeMap())
  const given = new Set(all.filter(isInputObjectType).flatMap((type) => Object.keys(type.getFields())))
  const booleans = all
    .filter((type) => isObjectType(type) || isInterfaceType(type))
    .filter((type) => !type.name.startsWith('__'))
    .flatMap((type) => current(Object.values(type.getFields())).map((field) => ({ type, field })))
    .filter(({ field }) => getNamedType(field.type).name === 'Boolean')
  const wrong = booleans.filter(
    ({ field: { name } }) => !/^(is|has|can)[A-Z]/.test(name) && !(orders.test(name) && given.has(name)),
  )
  expect(wrong.map(({ type, field }) => `${type.name}.${field.name}`)).toEqual([])
  expect(booleans.length).toBeGreaterThan(50)
})

test('an amount of money says that it is in US dollars', () => {
  const all = Object.values(schema.getTypeMap()).filter((type) => isObjectType(type) || isInputObjectType(type))
  const amounts = all
    .flatMap((type) =>
      current<Named & { type: GraphQLType }>(Object.values(type.getFields())).map((field) => ({ type, field })),
    )
    .filter(({ field }) => getNamedType(field.type).name === 'Decimal')
  const wrong = amounts.filter(
    ({ type, field }) => !/Usd(PerMillion)?$/.test(field.name) && !type.name.startsWith('Money'),
  )
  expect(wrong.map(({ type, field }) => `${type.name}.${field.name}`)).toEqual([])
  expect(amounts.length).toBeGreaterThan(15)
})

/** Ids that other services have made. */
const foreignIds = [
  'ChatReasoningInput.id',
  'ChatToolCallInput.id',
  'ChatToolMessageInput.toolCallId',
  'OauthRefreshInput.clientId',
]

test('what a caller gives as an id is an ID', () => {
  const inputs = Object.values(schema.getTypeMap()).filter(isInputObjectType)
  const roots = [schema.getQueryType(), schema.getSubscriptionType()]
  const given = [
    ...inputs.flatMap((type) => Object.values(type.getFields()).map((field) => ({ at: type.name, field }))),
    ...roots.flatMap((root) =>
      Object.values(root?.getFields() ?? {}).flatMap(({ name, args }) => args.map((field) => ({ at: name, field }))),
    ),
  ].filter(({ field }) => /^ids?$|Ids?$/.test(field.name))
  const wrong = given.filter(({ field }) => getNamedType(field.type).name !== 'ID')
  expect(wrong.map(({ at, field }) => `${at}.${field.name}`).toSorted()).toEqual(foreignIds)
  expect(given.length).toBeGreaterThan(200)
})

/** Ids that are names or numbers of other services, which REST shows as they are. */
const foreignIdsShown = [
  'ChatReasoning.id',
  'ChatToolCallDelta.id',
  'CodeHostApp.clientId',
  'OauthRefresh.clientId',
  'TriggerFire.deliveryId',
  'TriggeredRun.deliveryId',
]

test('what is answered as an id is an ID', () => {
  const shown = objectFields().filter(({ field }) => /^ids?$|Ids?$/.test(field.name))
  const wrong = shown.filter(({ field }) => getNamedType(field.type).name !== 'ID')
  expect(wrong.map(({ at }) => at).toSorted()).toEqual(foreignIdsShown)
  expect(shown.length).toBeGreaterThan(200)
})

test('what is answered as a word of a closed set, and never as text, is an enum for whoever gives it, too', () => {
  const shown = Map.groupBy(objectFields(), ({ field }) => field.name)
  const isWord = (name: string): boolean =>
    shown.has(name) && (shown.get(name) ?? []).every(({ field }) => isEnumType(getNamedType(field.type)))
  const texts = allGiven().filter(({ field }) => getNamedType(field.type).name === 'String')
  const wrong = texts.filter(({ field }) => isWord(field.name))
  expect(wrong.map(({ at }) => at)).toEqual([])
  expect(texts.length).toBeGreaterThan(100)
})

test('a map of texts is a TextMap, and processors are a `vcpuCount`, for whoever gives them, too', () => {
  const given = allGiven()
  expect(given.filter(({ field }) => field.name === 'env' && getNamedType(field.type).name !== 'TextMap')).toEqual([])
  const processors = [...given, ...objectFields()].filter(({ field }) => /^vcpu(?!Hours$)/.test(field.name))
  expect(new Set(processors.map(({ field }) => field.name))).toEqual(new Set(['vcpuCount']))
})

test('a list has no members that are null: what is gone is left out', () => {
  const lists = objectFields().flatMap(({ at, field }) => {
    const type = getNullableType(field.type as GraphQLOutputType)
    return isListType(type) ? [{ at, type }] : []
  })
  // A value stands at the place of what was asked for.
  const places = ['Query.nodes']
  const wrong = lists.filter(({ type }) => !isNonNullType(type.ofType)).map(({ at }) => at)
  expect(wrong).toEqual(places)
  expect(lists.length).toBeGreaterThan(150)
})

test('a filter takes moments as a DateTimeFilter', () => {
  const moments = allGiven().filter(
    ({ at, field }) => /Filter\./.test(at) && getNamedType(field.type).name === 'DateTime',
  )
  const elsewhere = moments.map(({ at }) => at).filter((at) => !at.startsWith('DateTimeFilter.'))
  expect(elsewhere).toEqual(['UsageFilter.since', 'UsageFilter.until']) // of what began, half open: not of a creation
  expect(moments.length).toBeGreaterThan(elsewhere.length)
})

type At = { at: string; field: Named & { type: GraphQLType } }

function objectFields(): At[] {
  const types = Object.values(schema.getTypeMap()).filter((type) => isObjectType(type) || isInterfaceType(type))
  return types
    .filter(({ name }) => !name.startsWith('__'))
    .flatMap((type) =>
      current<At['field']>(Object.values(type.getFields())).map((field) => ({
        at: `${type.name}.${field.name}`,
        field,
      })),
    )
}

/** What callers give: the fields of inputs, and arguments. */
function allGiven(): At[] {
  const types = Object.values(schema.getTypeMap())
  const inputs = types.filter(isInputObjectType).flatMap((type) =>
    current<At['field']>(Object.values(type.getFields())).map((field) => ({
      at: `${type.name}.${field.name}`,
      field,
    })),
  )
  const args = types
    .filter((type) => isObjectType(type) && !type.name.startsWith('__'))
    .flatMap((type) =>
      current(Object.values(isObjectType(type) ? type.getFields() : {})).flatMap((field) =>
        current<At['field']>(field.args).map((arg) => ({ at: `${type.name}.${field.name}(${arg.name})`, field: arg })),
      ),
    )
  return [...inputs, ...args]
}

function upperFirst(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
