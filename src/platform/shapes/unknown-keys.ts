/**
 * Unknown keys of a request are refused by name, with the nearest known one: a silently dropped key could be a
 * restriction that someone relies on.
 */

import { areSynonyms } from './synonyms.ts'

const shownLength = 64
/** Longer keys are not compared: a caller's key may have a megabyte. */
const comparedLength = 64
const plainKey = /^[A-Za-z0-9_$.[\]-]+$/

/**
 * The first key that is not among the known ones. Checks at most one key more than are known.
 * @param also one more key that is known.
 */
export function findUnknownKey(
  object: object,
  known: Pick<ReadonlySet<string>, 'has'>,
  also?: string,
): string | undefined {
  for (const key in object) if (Object.hasOwn(object, key) && !known.has(key) && key !== also) return key
  return undefined
}

/**
 * The sentence for an unknown key.
 * @param kind what it is in the request, such as `field` or `query parameter`.
 * @param place the path before it, such as `tools[0].`.
 * @param nested paths of fields inside the known ones, as `nearestKey` takes them.
 */
export function unknownKeySentence(
  kind: string,
  key: string,
  known: Iterable<string>,
  place = '',
  nested: readonly string[] = [],
): string {
  const near = nearestKey(key, known, nested)
  return `Unknown ${kind} ${place}${shownKey(key)}. ${near === undefined ? 'Leave it out' : `Did you mean ${place}${near}? Correct it or leave it out`}.`
}

/**
 * The known key or name that was probably intended: a similar spelling, the same beginning, a word of it written out, a usual
 * synonym, or the same last word, as `name` for `secret_name`.
 * @param nested paths of fields inside the known ones, such as `config.networking`, the nearest first: one of them is meant when
 * its last name is the key, and no known one is as close.
 */
export function nearestKey(key: string, known: Iterable<string>, nested: readonly string[] = []): string | undefined {
  if (key.length > comparedLength) return undefined
  const names = [...known]
  const near = nearestOf(key, names)
  if (near && near.distance <= alike) return near.name
  const inside = nested.find((path) => bare(lastName(path)) === bare(key))
  return inside ?? near?.name ?? sameEnding(key, names) ?? sameEnding(key, nested)
}

/** The distances of names that mean the same: a usual synonym is meant before a longer or shorter form of another name. */
const [synonymous, alike] = [0.5, 1]

function nearestOf(key: string, names: readonly string[]): { name: string; distance: number } | undefined {
  const bareKey = bare(key)
  let nearest: { name: string; distance: number } | undefined
  for (const name of names) {
    const candidate = bare(name)
    const distance =
      candidate === bareKey
        ? 0
        : areSynonyms(bareKey, candidate)
          ? synonymous
          : beginAlike(bareKey, candidate) || haveAlikeWords(key, name)
            ? alike
            : editDistance(bareKey, candidate)
    if (
      distance <= Math.floor(Math.max(bareKey.length, candidate.length) / 3) &&
      (nearest === undefined || distance < nearest.distance)
    )
      nearest = { name, distance }
  }
  return nearest
}

/** The last name of a path, without what says that it is in a list. */
function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1)
}

/** The only name that ends in the words of the key, or in whose words the key ends: `id` for `vmId`. */
function sameEnding(key: string, paths: readonly string[]): string | undefined {
  const words = wordsOf(key)
  const endsIn = (long: readonly string[], short: readonly string[]): boolean =>
    short.length > 0 &&
    short.length < long.length &&
    short.every((word, at) => word === long[long.length - short.length + at])
  const found = paths.filter((path) => {
    const others = wordsOf(lastName(path))
    return endsIn(others, words) || endsIn(words, others)
  })
  return new Set(found.map(lastName)).size === 1 ? found[0] : undefined
}

const leastPrefixLength = 4

function beginAlike(one: string, other: string): boolean {
  return Math.min(one.length, other.length) >= leastPrefixLength && (one.startsWith(other) || other.startsWith(one))
}

/** Whether each word of one is that of the other, or its beginning: `org_id` and `organization_id`, `mem_mb` and `memoryMb`. */
function haveAlikeWords(one: string, other: string): boolean {
  const [words, others] = [wordsOf(one), wordsOf(other)]
  return (
    words.length > 1 &&
    words.length === others.length &&
    words.every((word, at) => {
      const counterpart = others[at] ?? ''
      const isLong = Math.min(word.length, counterpart.length) >= leastWordLength
      return word === counterpart || (isLong && (word.startsWith(counterpart) || counterpart.startsWith(word)))
    })
  )
}

const leastWordLength = 3

function wordsOf(key: string): string[] {
  return key
    .slice(0, comparedLength)
    .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
}

/** Normalizes spelling: `memoryMb` and `memory_mb` become the same. */
function bare(key: string): string {
  return key
    .slice(0, comparedLength)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
}

/** How many letters must be added, removed, changed or swapped with the next. At most 64 × 64 steps. */
function editDistance(one: string, other: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let row = 1; row <= one.length; row++) {
    const next = [row]
    for (let column = 1; column <= other.length; column++) {
      const changed = (last[column - 1] ?? 0) + (one[row - 1] === other[column - 1] ? 0 : 1)
      const best = Math.min(changed, (last[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1)
      const isSwap = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      next.push(isSwap ? Math.min(best, (beforeLast[column - 2] ?? 0) + 1) : best)
    }
    beforeLast = last
    last = next
  }
  return last[other.length] ?? 0
}

/** The key for an error sentence: shortened, and quoted if it has special characters. */
function shownKey(key: string): string {
  const cut = key.length > shownLength ? `${key.slice(0, shownLength)}…` : key
  return plainKey.test(key.slice(0, shownLength)) ? cut : JSON.stringify(cut)
}
