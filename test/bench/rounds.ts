/** Rounds: every candidate once in each, in rotated order, so that a busy moment of the machine affects all equally. */

/** The middle value; NaN of none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The value below which this part (0 to 1) of the values lies; NaN of none. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  if (part === 0.5 && sorted.length % 2 === 0)
    return ((sorted[sorted.length / 2 - 1] ?? NaN) + (sorted[sorted.length / 2] ?? NaN)) / 2
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? NaN
}

/** Measures each candidate once in every round; answers the measurements of each, by round. */
export async function inRounds<Candidate, Measured>(
  rounds: number,
  candidates: readonly Candidate[],
  measure: (candidate: Candidate) => Promise<Measured>,
): Promise<Measured[][]> {
  const measured: Measured[][] = candidates.map(() => [])
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < candidates.length; turn++) {
      const which = (round + turn) % candidates.length
      measured[which]?.push(await measure(candidates[which] as Candidate)) // which is below the length
    }
  }
  return measured
}

/** The median of the per-round ratios of two candidates: steadier than the ratio of their medians. */
export function ratioOf(ours: readonly number[], theirs: readonly number[]): number {
  return median(ours.map((value, round) => value / (theirs[round] ?? NaN)))
}

/** A number as a table shows it: three significant digits. */
export function shown(value: number): string {
  if (!Number.isFinite(value)) return '–'
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return value.toPrecision(3)
}

/** A table's row of measurements: how many, their p50 and their p99. */
export function rowOf(what: string, values: readonly number[]): string[] {
  return [what, String(values.length), shown(median(values)), shown(quantile(values, 0.99))]
}

/** A ratio as a table shows it. */
export function shownRatio(value: number): string {
  return Number.isFinite(value) ? `${value.toFixed(2)}×` : '–'
}
