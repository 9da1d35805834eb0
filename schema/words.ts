/** Texts that are one of a few words, which REST's description tells clients, so that their types can tell objects apart. */

/** What a field of such a text says of itself, beside its type: a sentence, and the words for OpenAPI. */
type Words = { description: string; extensions: { words: readonly string[] } }

/** A text that is one of these words. */
export function oneOfWords(words: readonly string[], description: string): Words {
  return { description, extensions: { words } }
}

/** A text that is always the same, such as the `type` by which clients tell objects apart. */
export function always(word: string, because = ''): Words & { resolve: () => string } {
  return { ...oneOfWords([word], `Always \`${word}\`${because}.`), resolve: () => word }
}

/** The words that a field may answer, where it says so. */
export function wordsOf(extensions: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const { words } = extensions
  return Array.isArray(words) ? (words as string[]) : undefined // made by the functions above
}
