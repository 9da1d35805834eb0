/**
 * Rules for fields that many nouns share (names, descriptions, metadata), and for reading a body
 * by a schema.
 */
import { z } from 'zod'
import { BerthError } from '../errors.ts'
import { limits } from '../limits.ts'
import { sentenceOf } from '../shapes.ts'

/** Labels: up to 16 pairs of key and text. */
export type Metadata = Readonly<Record<string, string>>
/** The same as callers give them; in a change a null value deletes its key. */
export type MetadataInput = Readonly<Record<string, string | null>>

const metadataSentence = `metadata must be a flat object of text: at most ${limits.metadataPairs} pairs, keys of 1 to ${limits.metadataKeyLength} characters, values of at most ${limits.metadataValueLength}.`
const keyShape = z.string().min(1).max(limits.metadataKeyLength)
const valueShape = z.string().max(limits.metadataValueLength)
const metadataShape = z.record(keyShape, valueShape)
const metadataPatchShape = z.record(keyShape, valueShape.nullable())

/** The shape of a `name` or `display_name`. */
export const nameShape = z.string().min(1).max(limits.nameLength)

type Usually<Shape extends z.ZodType, Output> = z.ZodPipe<
  z.ZodOptional<z.ZodNullable<Shape>>,
  z.ZodTransform<Output, z.output<Shape> | null | undefined>
>

/** The schema of an optional field: absent and null mean `usual`. */
export function usually<Shape extends z.ZodType>(
  shape: Shape,
  usual: NonNullable<z.output<Shape>>,
): Usually<Shape, NonNullable<z.output<Shape>>>
export function usually<Shape extends z.ZodType>(shape: Shape, usual: null): Usually<Shape, z.output<Shape> | null>
export function usually(shape: z.ZodType, usual: unknown): z.ZodType {
  return shape.nullish().transform((given) => given ?? usual)
}

/**
 * A required name: 1 to 255 characters.
 * @param field the caller's name for it.
 * @throws BerthError invalid_request.
 */
export function readName(given: unknown, field = 'name'): string {
  const outcome = nameShape.safeParse(given)
  if (!outcome.success)
    throw new BerthError('invalid_request', `${field} must be text of 1 to ${limits.nameLength} characters.`)
  return outcome.data
}

/**
 * Optional text: absent, null and empty become null.
 * @throws BerthError invalid_request when it is longer than that many characters.
 */
export function readText(given: unknown, field: string, longest: number): string | null {
  if (given === undefined || given === null || given === '') return null
  if (typeof given !== 'string' || given.length > longest)
    throw new BerthError('invalid_request', `${field} must be text of at most ${longest} characters.`)
  return given
}

/** A description: at most 2048 characters. @throws BerthError invalid_request. */
export function readDescription(given: unknown): string | null {
  return readText(given, 'description', limits.descriptionLength)
}

/** The metadata of something new. @throws BerthError invalid_request. */
export function readMetadata(given: unknown): Metadata {
  const outcome = metadataShape.safeParse(given ?? {})
  if (!outcome.success || Object.keys(outcome.data).length > limits.metadataPairs)
    throw new BerthError('invalid_request', metadataSentence)
  return outcome.data
}

/**
 * Metadata after a change: a null value deletes its key, keys that are not named stay; null for the whole clears it.
 * @throws BerthError invalid_request.
 */
export function mergeMetadata(before: Metadata, patch: unknown): Metadata {
  if (patch === undefined) return before
  if (patch === null) return {}
  const outcome = metadataPatchShape.safeParse(patch)
  if (!outcome.success) throw new BerthError('invalid_request', metadataSentence)
  const after = new Map(Object.entries(before))
  for (const [key, value] of Object.entries(outcome.data)) {
    if (value === null) after.delete(key)
    else after.set(key, value)
  }
  return readMetadata(Object.fromEntries(after))
}

/**
 * Longer than any list that these schemas allow. A schema validates every item before it counts them, so longer lists
 * are refused before that.
 */
const longestList = 5_000

function hasLongList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value) && value.length > longestList) return true
  return Object.values(value).some(hasLongList)
}

/**
 * Reads a part of a body by its schema, which is exact: see platform/shapes.ts.
 * @param field the caller's name for it; the error names the place in it, never the value.
 * @throws BerthError invalid_request.
 */
export function readShape<Shape extends z.ZodType>(shape: Shape, given: unknown, field: string): z.output<Shape> {
  if (hasLongList(given))
    throw new BerthError('invalid_request', `${field} has a list of more than ${longestList} items. Send fewer.`)
  const outcome = shape.safeParse(given)
  if (outcome.success) return outcome.data
  throw new BerthError('invalid_request', sentenceOf(outcome.error, field))
}
