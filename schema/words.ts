/** What REST's description tells clients of a field beside its type: the few words of a text, by which types tell objects apart; that a JSON value is an object. */
import { forRest } from './rest-fields.ts'

/** What a field of such a text says of itself, beside its type: a sentence, and the words for OpenAPI. */
type Words = { description: string; extensions: { words: readonly string[] } }

/** A text that is one of these words. */
export function oneOfWords(words: readonly string[], description: string): Words {
  return { description, extensions: { words } }
}

/** A text that is the same for every object. */
export function constant(word: string, because = ''): Words & { resolve: () => string } {
  return { ...oneOfWords([word], `Always \`${word}\`${because}.`), resolve: () => word }
}

/** The `type` by which REST's clients tell objects apart, where GraphQL has `__typename`. */
export function always(word: string, because = ''): Words & { resolve: () => string } {
  const { extensions, ...fields } = constant(word, because)
  return { ...fields, extensions: { ...extensions, ...forRest.extensions } }
}

/** The same as an enum, which GraphQL has too: the kind of a member of a union that may have nothing else to say. */
export function kindOf<Kind, Word extends string>(type: Kind, word: Word) {
  return { type, ...oneOfWords([word], 'Which kind.'), resolve: () => word }
}

/** The words that a field may answer, where it says so. */
export function wordsOf(extensions: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const { words } = extensions
  return Array.isArray(words) ? (words as string[]) : undefined // made by the functions above
}

/** A JSON value that is an object, such as a JSON Schema. */
export const jsonObject = { extensions: { isJsonObject: true } } as const

/** Whether a field of JSON is an object always. */
export function isJsonObject({ isJsonObject: is }: Readonly<Record<string, unknown>>): boolean {
  return is === true
}
