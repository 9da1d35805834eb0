/** The settings `text` and `metadata` of `POST /v1/responses`. */
import { limits } from '#src/platform/limits.ts'
import type { Fields } from '../chats/message-shapes.ts'
import { wrongParameter } from '../chats/parameters.ts'
import { objectAt } from './shapes.ts'

/** The form of the answer's text: a schema stands beside its type, not one level deeper as in a chat. */
export type TextSettings = { format: Fields & { type: string }; verbosity: unknown }

const names = new Set(['format', 'verbosity'])
const formatNames = new Set(['type', 'name', 'schema', 'strict', 'description'])

/** Reads `text`. @throws BerthError invalid_parameter. */
export function readText(value: unknown): TextSettings {
  if (value === undefined || value === null) return { format: { type: 'text' }, verbosity: null }
  const fields = objectAt(value, 'text', names)
  return { format: readFormat(fields['format']), verbosity: fields['verbosity'] ?? null }
}

function readFormat(value: unknown): TextSettings['format'] {
  if (value === undefined || value === null) return { type: 'text' }
  const fields = objectAt(value, 'text.format', formatNames)
  const { type, name, schema, strict = null, description = null } = fields
  if (type === 'text' || type === 'json_object') return { type }
  if (type !== 'json_schema') throw wrongParameter('text.format.type', 'must be text, json_object or json_schema.')
  if (typeof name !== 'string' || name === '') throw wrongParameter('text.format.name', 'is required: it is a string.')
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    throw wrongParameter('text.format.schema', 'is required: it is a JSON Schema, which is an object.')
  if (strict !== null && typeof strict !== 'boolean')
    throw wrongParameter('text.format.strict', 'must be true or false.')
  if (description !== null && typeof description !== 'string')
    throw wrongParameter('text.format.description', 'must be a string.')
  return { ...fields, type }
}

/** Reads `metadata`: texts of the caller's own, which the answer repeats. @throws BerthError invalid_parameter. */
export function readMetadata(value: unknown): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {}
  const pairs = typeof value === 'object' && !Array.isArray(value) ? Object.entries(value as Fields) : null
  const { metadataPairs: pairsMax, metadataKeyLength: keyMax, metadataValueLength: valueMax } = limits
  const isRight =
    pairs &&
    pairs.length <= pairsMax &&
    pairs.every(([key, one]) => key.length <= keyMax && typeof one === 'string' && one.length <= valueMax)
  if (!isRight)
    throw wrongParameter(
      'metadata',
      `must be an object of at most ${pairsMax} texts of at most ${valueMax} characters, with keys of at most ${keyMax}.`,
    )
  return value as Record<string, string> // each was checked
}
