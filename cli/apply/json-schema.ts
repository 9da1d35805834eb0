/** Checks values by the JSON Schema of files, with the path of each mistake. It knows what that schema uses, and no more. */
import schemaOfFiles from './berth.schema.json' with { type: 'json' }
import { didYouMean } from './nearest.ts'

/** The part of JSON Schema that the schema of files uses. */
export type JsonSchema = {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  pattern?: string
  minLength?: number
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: boolean | JsonSchema
  minProperties?: number
  maxProperties?: number
  items?: JsonSchema
  anyOf?: JsonSchema[]
  $ref?: string
  $defs?: Record<string, JsonSchema>
  description?: string
}

/** The schema of files, as `npm run generate` makes it of the GraphQL schema. */
export const fileSchema: JsonSchema = schemaOfFiles

/** What a member of `vm:` looks like; the one pattern of the schema. */
const portPattern = /^.+:[0-9]{1,5}$/

/** A path in a file: `agents.reviewer.model.id`. Names that would be read otherwise are quoted. */
export function pathOf(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`
  const shown = /^[\w-]+$/.test(key) ? key : JSON.stringify(key)
  return path === '' ? shown : `${path}.${shown}`
}

/** The mistakes in a value, a sentence each; none when it is right. */
export function problemsIn(value: unknown, schema: JsonSchema = fileSchema, path = ''): string[] {
  const here = path === '' ? 'The file' : path
  if (schema.$ref !== undefined) return problemsIn(value, definitionOf(schema.$ref), path)
  if (schema.anyOf) return ofAny(value, schema.anyOf, path)
  if ('const' in schema) return value === schema.const ? [] : [`${here}: it must be ${JSON.stringify(schema.const)}.`]
  if (schema.enum) return ofEnum(value, schema.enum, path)
  if (schema.type === undefined) return [] // any JSON
  const types = [schema.type].flat()
  if (!types.includes(typeOf(value)) && !(typeOf(value) === 'integer' && types.includes('number')))
    return [
      `${here}: it must be ${types.map(wordOf).join(' or ')}, not ${shown(value, path)}.${quoteAdvice(value, types, path)}`,
    ]
  if (typeof value === 'string') return ofText(value, schema, here)
  if (Array.isArray(value))
    return value.flatMap((one, at) => (schema.items ? problemsIn(one, schema.items, pathOf(path, at)) : []))
  return typeof value === 'object' && value !== null ? ofObject(value as Record<string, unknown>, schema, path) : []
}

function definitionOf(reference: string): JsonSchema {
  const found = fileSchema.$defs?.[reference.replace('#/$defs/', '')]
  if (!found) throw new Error(`the schema has no ${reference}`)
  return found
}

/** The mistakes by the alternative that was probably meant: the one for what kind of value it is. */
function ofAny(value: unknown, alternatives: readonly JsonSchema[], path: string): string[] {
  const all = alternatives.map((one) => problemsIn(value, one, path))
  if (all.some((problems) => problems.length === 0)) return []
  const resolved = alternatives.map((one) => (one.$ref === undefined ? one : definitionOf(one.$ref)))
  const at = resolved.findIndex(({ type }) => [type].flat().includes(typeOf(value)))
  if (at >= 0) return all[at] ?? []
  const words = resolved.map(({ type }) => wordOf(String(type)))
  return [`${path}: it must be ${words.join(' or ')}, not ${shown(value, path)}.`]
}

function ofEnum(value: unknown, known: readonly unknown[], path: string): string[] {
  if (known.includes(value)) return []
  const words = known.filter((one) => typeof one === 'string')
  const meant = typeof value === 'string' ? didYouMean(value, words) : ''
  return [`${path}: it must be one of ${words.join(', ')}, not ${shown(value, path)}.${meant}`]
}

function ofText(value: string, { minLength = 0, pattern }: JsonSchema, here: string): string[] {
  if (value.length < minLength) return [`${here}: it must not be empty.`]
  if (pattern !== undefined && !portPattern.test(value))
    return [`${here}: it must be a name, a colon and a port, such as web:3000, not ${shown(value, here)}.`]
  return []
}

function ofObject(value: Record<string, unknown>, schema: JsonSchema, path: string): string[] {
  const { properties = {}, required = [], additionalProperties = true } = schema
  const known = Object.keys(properties)
  const problems = Object.entries(value).flatMap(([key, one]) => {
    const field = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (field) return problemsIn(one, field, pathOf(path, key))
    if (typeof additionalProperties === 'object') return problemsIn(one, additionalProperties, pathOf(path, key))
    return additionalProperties ? [] : [`${pathOf(path, key)}: no such field.${didYouMean(key, known)}`]
  })
  const here = path === '' ? 'The file' : path
  for (const name of required) if (!Object.hasOwn(value, name)) problems.push(`${pathOf(path, name)}: it is missing.`)
  const count = Object.keys(value).length
  if (problems.length === 0 && (count < (schema.minProperties ?? 0) || count > (schema.maxProperties ?? Infinity)))
    problems.push(`${here}: it must have exactly one of ${known.join(', ')}.`)
  return problems
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number' && Number.isFinite(value)) return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'number' ? 'no number of JSON' : typeof value // .inf and .nan
}

function wordOf(type: string): string {
  const words: Record<string, string> = {
    string: 'a text',
    integer: 'a whole number',
    number: 'a number',
    boolean: 'true or false',
    array: 'a list',
    object: 'fields with values',
    null: 'null',
  }
  return words[type] ?? type
}

function quoteAdvice(value: unknown, types: readonly string[], path: string): string {
  const isPlain = typeof value === 'number' || typeof value === 'boolean'
  if (!types.includes('string') || !isPlain) return ''
  return ` Put it in quotes${isSecret(path) ? '' : `: "${value}"`}.`
}

/** Whether a path leads to variables, whose values are shown nowhere. */
function isSecret(path: string): boolean {
  return /^\w+\.(?:[\w-]+|"(?:[^"\\]|\\.)*")\.(?:env|variables)\b/.test(path)
}

function shown(value: unknown, path: string): string {
  if (isSecret(path)) return `${wordOf(typeOf(value))} (not shown)`
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? 'nothing')
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
