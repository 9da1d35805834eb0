/** The three OpenAPI documents as generators of clients read them: valid by the specification, and precise. */
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { isEnumType } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { surfaces } from '#rest-compat/surfaces.ts'
import { BerthError, errorStatuses, type ErrorCode } from '#src/platform/errors.ts'
import { schema } from '#schema/schema.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { follow, problemsOf, type Schema } from '../contract/json-schema.ts'

type Document = Record<string, unknown> & {
  paths: Record<string, Record<string, Record<string, unknown>>>
  components: { schemas: Record<string, Schema> }
}

const names = surfaces.map(({ name }) => name)
let berth: Berth
const documents = new Map<string, Document>()
beforeAll(async () => {
  berth = await startBerth()
  for (const { name, openapiPath } of surfaces) {
    const { body } = await berth.call<Document>('GET', openapiPath)
    documents.set(name, body)
  }
})
afterAll(() => berth.stop())

const documentOf = (name: string): Document => documents.get(name) ?? expect.fail(`no document ${name}`)

/** What the linter finds, by its strictest rules for OpenAPI 3.1. */
async function faultsOf(document: Document): Promise<string[]> {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: {
      'no-server-example.com': 'off', // an installation of one host is at localhost
      'no-ambiguous-paths': 'off', // /vms/external/{external_ref} is beside /vms/{vm_id}/env in the documented interface
    },
  })
  const source = JSON.stringify(document)
  const problems = await lintFromString({ source, config, absoluteRef: '/openapi.json' })
  // Whoever comes back from a sign-in, or wants the file of a backup, is sent on, and never gets anything else.
  const isSentOn = ({ ruleId, location: [at] }: (typeof problems)[number]): boolean =>
    ruleId === 'operation-2xx-response' && /callback|download/.test(at?.pointer ?? '')
  return problems.filter((one) => !isSentOn(one)).map(({ ruleId, message }) => `${ruleId}: ${message}`)
}

/** Every object in a document, with its place. */
function* partsOf(value: unknown, place = ''): Generator<[string, Schema]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield [place, value as Schema]
  for (const [key, one] of Object.entries(value)) yield* partsOf(one, `${place}/${key}`)
}

const keysOf = (of: Schema): Record<string, Schema> => (of['properties'] ?? {}) as Record<string, Schema>

describe.each(names)('the document of %s', (name) => {
  test('is valid by the specification, every reference leads somewhere, and every operation has an id of its own', async () => {
    expect(await faultsOf(documentOf(name))).toEqual([])
  })

  test('says of every object which keys it has', () => {
    const silent = [...partsOf(documentOf(name))].filter(
      ([, part]) =>
        [part['type']].flat().includes('object') && !('properties' in part) && !('additionalProperties' in part),
    )
    expect(silent.map(([place]) => place)).toEqual([])
  })

  test('has every error that there is, as the service tells it', () => {
    const { envelope } = surfaces.find((one) => one.name === name) ?? expect.fail(`no surface ${name}`)
    const document = documentOf(name)
    const error = { $ref: '#/components/schemas/Error' }
    const told = Object.keys(errorStatuses).flatMap((code) =>
      problemsOf(envelope(new BerthError(code as ErrorCode, 'x'), 'req_x'), error, document as Schema, {
        closed: true,
      }),
    )
    expect(told).toEqual([])
    const { enum: codes } = document.components.schemas['ErrorCode'] as { enum: string[] }
    expect(codes).toContain('missing_scope')
    expect(codes.includes('forbidden')).toBe(name !== 'llm') // for which the gateway has a word of its own
  })

  test('leaves open only what is the client’s own, or the model’s', () => {
    const open = [...partsOf(documentOf(name))].filter(
      ([place, part]) => /\/properties\/\w+$/.test(place) && Object.keys(part).every((word) => word === 'description'),
    )
    expect(open.map(([place]) => place.replace('/components/schemas/', ''))).toEqual(
      name === 'llm' ? ['UiMessage/properties/metadata', expect.stringMatching(/^UiMessageChunk.*\/input$/)] : [],
    )
  })

  test('tells the objects of a choice apart by the words of a key', () => {
    /**
     * The chunk of a chat or an error, by their keys; parts of a message, of which those of the AI SDK's own are open;
     * tools that Anthropic defines, whose types carry a date.
     */
    const otherwise = ['/text/event-stream/schema', '/UiMessagePart', '/MessageTool']
    const document = documentOf(name)
    const whole = (one: Schema): Schema =>
      typeof one['$ref'] === 'string' ? follow(one['$ref'], document as Schema) : one
    const vague = [...partsOf(document)].filter(([place, part]) => {
      const choices = ((part['oneOf'] ?? part['anyOf'] ?? []) as Schema[]).map(whole)
      const objects = choices.filter((one) => 'properties' in one)
      const words = (one: Schema, key: string): unknown[] => (keysOf(one)[key]?.['enum'] ?? []) as unknown[]
      const isDistinct = (key: string): boolean => {
        const all = objects.flatMap((one) => words(one, key))
        return objects.every((one) => words(one, key).length > 0) && new Set(all).size === all.length
      }
      return objects.length > 1 && !otherwise.some((end) => place.endsWith(end)) && !['type', 'role'].some(isDistinct)
    })
    expect(vague.map(([place]) => place)).toEqual([])
  })
})

test.each<[string, (document: Document) => void, string]>([
  ['a reference into nothing', ({ components }) => delete components.schemas['Vault'], 'no-unresolved-refs'],
  [
    'two operations of one id',
    ({ paths }) => Object.assign(paths['/v1/vaults']?.['get'] ?? {}, { operationId: 'createVault' }),
    'operation-operationId-unique',
  ],
  [
    'a type that is none',
    ({ components }) => Object.assign(components.schemas['Money'] ?? {}, { type: 'money' }),
    'struct',
  ],
  [
    'a parameter that nobody declares',
    ({ paths }) => Object.assign(paths['/v1/vaults/{id}']?.['get'] ?? {}, { parameters: [] }),
    'path-parameters-defined',
  ],
])('the linter finds %s', async (_fault, spoil, rule) => {
  const document = structuredClone(documentOf('agents'))
  spoil(document)
  expect((await faultsOf(document)).map((one) => one.split(':')[0])).toContain(rule)
})

describe('the agents service', () => {
  const fits = (value: unknown, component: string): string[] =>
    problemsOf(value, { $ref: `#/components/schemas/${component}` }, documentOf('agents') as Schema, { closed: true })

  test('describes every kind of event that a log may hold', () => {
    const kinds = schema.getType('SessionEventType')
    const { discriminator } = documentOf('agents').components.schemas['SessionEvent'] as {
      discriminator?: { mapping: object }
    }
    expect(Object.keys(discriminator?.mapping ?? {}).sort()).toEqual(
      isEnumType(kinds)
        ? kinds
            .getValues()
            .map(({ value }) => String(value))
            .sort()
        : [],
    )
  })

  test('describes each reason for which a session is idle', () => {
    for (const type of ['end_turn', 'retries_exhausted', 'budget_reached'])
      expect(fits({ type }, 'StopReason'), type).toEqual([])
    expect(fits({ type: 'requires_action', event_ids: ['sevt_x'] }, 'StopReason')).toEqual([])
    expect(fits({ type: 'requires_action' }, 'StopReason')).not.toEqual([])
    expect(fits({ type: 'bored' }, 'StopReason')).not.toEqual([])
  })

  test('takes a plain text for a model, an effort or an agent, and an agent without its type, as it says', async () => {
    for (const [component, value] of [
      ['AgentModelInput', 'berth/demo'],
      ['AgentModelInput', { id: 'berth/demo', effort: 'low' }],
      ['SessionAgentInput', 'agt_x'],
      ['SessionAgentInput', { id: 'agt_x', version: 1 }],
    ] as const)
      expect(fits(value, component), component).toEqual([])
    const token = await berth.token()
    const post = (path: string, body: unknown) =>
      berth.call<{ id: string }>('POST', `/agents/v1/${path}`, { token, body })
    const made = await post('agents', { name: 'plain', model: 'berth/demo' })
    expect(made.status).toBe(201)
    expect((await post('agents', { name: 'plain', model: { id: 'berth/demo', effort: 'low' } })).status).toBe(201)
    expect((await post('sessions', { agent: made.body.id })).status).toBe(201)
    expect((await post('sessions', { agent: { id: made.body.id, version: 1 } })).status).toBe(201)
  })
})
