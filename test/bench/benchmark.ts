/** A benchmark measures Berth beside a peer or a lower bound in one run, and returns tables. */
import { shown } from './rounds.ts'

/** How long and how often to measure. `quick` is for trying a benchmark out: its numbers mean nothing. */
export type Effort = { quick: boolean; rounds: number; secondsPerRound: number }

/** Rows of text under columns. Ratios compare with the first row unless the column says otherwise. */
export type Table = { title: string; columns: readonly string[]; rows: readonly (readonly string[])[] }

/** A goal and its result; `met` is null where it could not be measured. */
export type Goal = { what: string; wanted: string; measured: string; met: boolean | null }

/** The goal that a value is not above this. */
export function atMost(what: string, value: number, most: number, unit = 'ms'): Goal {
  return { what, wanted: `≤ ${most} ${unit}`, measured: `${shown(value)} ${unit}`, met: value <= most }
}

/** What a benchmark found: how it measured, in sentences, then tables and goals. */
export type Findings = { how: string; tables: readonly Table[]; goals: readonly Goal[] }

/** One benchmark. `say` reports progress. */
export type Benchmark = {
  name: string
  title: string
  measure: (effort: Effort, say: (line: string) => void) => Promise<Findings>
}
