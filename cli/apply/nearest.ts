/** What was probably meant by a word that nobody knows. */

const lengthMax = 100 // of words that are compared

/** The nearest of the words, if one is near: a third of its letters may differ. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  if (word.length > lengthMax) return undefined
  const scored = words
    .filter((one) => one.length <= lengthMax)
    .map((one) => [distance(word.toLowerCase(), one.toLowerCase()), one] as const)
    .sort(([one], [other]) => one - other)
  const [best] = scored
  return best && best[0] <= Math.max(1, Math.floor(best[1].length / 3)) ? best[1] : undefined
}

/** How many letters must be put in, taken out, replaced, or changed with their neighbour. */
function distance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, at) => at)]
  const cost = (row: number, at: number): number => rows[row]?.[at] ?? Infinity
  for (let row = 1; row <= one.length; row++) {
    const now = [row]
    rows.push(now)
    for (let at = 1; at <= other.length; at++) {
      const isEqual = one[row - 1] === other[at - 1]
      const isTurned = row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1]
      now.push(
        Math.min(
          cost(row - 1, at) + 1,
          cost(row, at - 1) + 1,
          cost(row - 1, at - 1) + (isEqual ? 0 : 1),
          isTurned ? cost(row - 2, at - 2) + 1 : Infinity,
        ),
      )
    }
  }
  return cost(one.length, other.length)
}

/** ` Did you mean x?`, or nothing. */
export function didYouMean(word: string, words: readonly string[]): string {
  const near = nearest(word, words)
  return near === undefined ? '' : ` Did you mean ${near}?`
}
