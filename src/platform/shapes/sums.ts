/** What sums over time are asked by: a range of days, and what they are grouped by. */
import { nowMs, timestamp } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'

const dayMs = 86_400_000
/** Limits of sums: the days of a range, what they are grouped by, and the groups that are shown. */
export const sumLimits = { daysMax: 366, dimensionsMax: 2, groupsMax: 5_000 } as const

/** A range of days, UTC, both inclusive, such as `2026-11-21`. */
export type Days = { from: string; to: string }

/** The days of a range; by default the month of its last day up to that, and today. @throws BerthError invalid_request. */
export function readDays(range: { from?: string | null; to?: string | null }): Days {
  const to = readDay('to', range.to ?? timestamp(nowMs()).slice(0, 10))
  const from = readDay('from', range.from ?? `${to.slice(0, 7)}-01`)
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1
  if (days < 1 || days > sumLimits.daysMax)
    throw new BerthError(
      'invalid_request',
      `from must not be after to, and they span ${sumLimits.daysMax} days at most.`,
    )
  return { from, to }
}

/** What to group by, in any order. @throws BerthError invalid_request for too many, or the same twice. */
export function readDimensions<Dimension extends string>(
  given: readonly Dimension[] | null | undefined,
): readonly Dimension[] {
  const dimensions = given ?? []
  if (dimensions.length > sumLimits.dimensionsMax || new Set(dimensions).size < dimensions.length)
    throw new BerthError('invalid_request', `dimensions may be ${sumLimits.dimensionsMax} different ones at most.`, {
      field: 'dimensions',
    })
  return dimensions
}

/** The groups that are shown, of those that were read: one more than that at most. */
export function shownGroups<Group>(found: readonly Group[]): { groups: Group[]; hasMoreGroups: boolean } {
  const { groupsMax } = sumLimits
  return { groups: found.slice(0, groupsMax), hasMoreGroups: found.length > groupsMax }
}

function readDay(name: string, text: string): string {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN
  if (Number.isNaN(ms) || timestamp(ms).slice(0, 10) !== text)
    throw new BerthError('invalid_request', `${name} must be a day such as 2026-11-21.`)
  return text
}
