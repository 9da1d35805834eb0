/** Enums: names as GraphQL spells them, values as REST and the tables do. */
import type { EnumRef } from '@pothos/core'
import { builder } from './builder.ts'

type Types = (typeof builder)['$inferSchemaTypes']

/** The GraphQL name of a stored word: `SCREAMING_SNAKE_CASE`. */
export function enumName(word: string): string {
  return word.toUpperCase().replace(/[^A-Z0-9]/g, '_')
}

/**
 * Makes an enum from a closed set of words.
 * @param words each word, as it is stored and as REST shows it, with its description.
 */
export function enumOf<Word extends string>(
  name: string,
  description: string,
  words: Readonly<Record<Word, string>>,
): EnumRef<Types, Word> {
  const values = Object.entries<string>(words).map(([word, meaning]) => [
    enumName(word),
    { value: word, description: meaning },
  ])
  return builder.enumType(name, {
    description,
    values: Object.fromEntries(values) as Record<string, { value: Word }>,
  }) as never // Pothos cannot resolve a generic type
}

/** Makes an enum of types of the graph: `WEBHOOK_ENDPOINT` is `WebhookEndpoint`. */
export function enumOfTypes<Name extends string>(
  name: string,
  description: string,
  types: readonly Name[],
): EnumRef<Types, Name> {
  const values = types.map((type) => [
    enumName(type.replace(/(?<!^)[A-Z]/g, '_$&')),
    { value: type, description: `An object of the type \`${type}\`.` },
  ])
  return builder.enumType(name, {
    description,
    values: Object.fromEntries(values) as Record<string, { value: Name }>,
  }) as never // as above
}
