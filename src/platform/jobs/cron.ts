/**
 * The moments of a cron expression in a time zone: five fields (minute, hour, day of the month, month, day of the week),
 * as POSIX defines them. A local time that the clocks skip does not occur; one that occurs twice counts the first time.
 */
import { CronExpressionParser } from 'cron-parser'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { BerthError } from '#src/platform/errors.ts'
import { momentAt, now } from '#src/platform/clock.ts'

const expressionLengthMax = 255
/** One element of a field: `*`, a number or a name, or a range of them, each with a step if wanted. */
const element = /^(?:\*|(\d{1,2}|[a-z]{3})(?:-(\d{1,2}|[a-z]{3}))?)(?:\/(\d{1,2}))?$/i
const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
/** The fields in their order, each with its numbers, and the names of the first of those where they have any. */
const fieldRules: readonly { name: string; least: number; most: number; names?: readonly string[] }[] = [
  { name: 'minute', least: 0, most: 59 },
  { name: 'hour', least: 0, most: 23 },
  { name: 'day of the month', least: 1, most: 31 },
  { name: 'month', least: 1, most: 12, names: monthNames },
  { name: 'day of the week', least: 0, most: 7, names: dayNames },
]
/** More skipped or repeated moments than there are in a row in any time zone. */
const triesMax = 200

/** Moments that were found lately: many schedules have the same expression, and each is shown again and again. */
const found = createBoundedMap<string, number | null>({ entriesMax: 10_000 })
/** How local times are shown, by time zone: making one takes longer than a moment does. */
const clocks = createBoundedMap<string, Intl.DateTimeFormat>({ entriesMax: 500 })

/** The moments of an expression. */
export type Cron = { cron: string; timezone: string }

/**
 * Checks an expression and its time zone.
 * @throws BerthError invalid_cron, invalid_timezone.
 */
export function readCron(cron: string, timezone: string): Cron {
  const fields = cron.trim().split(/\s+/)
  if (cron.length > expressionLengthMax || fields.length !== fieldRules.length)
    throw invalidCron('It has five fields: minute, hour, day of the month, month, day of the week, such as 0 3 * * *.')
  for (const [at, rule] of fieldRules.entries())
    if (!isField(fields[at] ?? '', rule)) throw invalidCron(fieldSentence(rule))
  if (!isTimeZone(timezone))
    throw new BerthError(
      'invalid_timezone',
      'timezone must be a name of the IANA time zone database, such as Europe/Berlin or UTC.',
    )
  const read = { cron: fields.join(' '), timezone }
  if (nextMoment(read, now()) === null) throw invalidCron('It has no moment in the years to come.')
  return read
}

/** The first moment after this one; null when there is none. @throws BerthError invalid_cron. */
export function nextMoment(of: Cron, after: Date): Date | null {
  const key = `${after.getTime()} ${of.timezone} ${of.cron}`
  let next = found.get(key)
  if (next === undefined) {
    next = findNext(of, after)?.getTime() ?? null
    found.set(key, next)
  }
  return next === null ? null : momentAt(next)
}

function findNext({ cron, timezone }: Cron, after: Date): Date | null {
  const moments = parse(cron, timezone, after)
  for (let tries = 0; tries < triesMax; tries++) {
    const next = nextOf(moments)
    if (next === null) return null
    // The parser moves a local time that does not exist to the next one that does, which is another local time.
    if (moments.includesDate(next) && !isRepeated(next, timezone)) return next
  }
  return null
}

type FieldRule = (typeof fieldRules)[number]

function isField(field: string, rule: FieldRule): boolean {
  return field.split(',').every((one) => {
    const [found, first, last, step] = element.exec(one) ?? []
    if (found === undefined || Number(step ?? 1) < 1) return false
    if (first === undefined) return true
    const [from, to] = [numberOf(first, rule), last === undefined ? undefined : numberOf(last, rule)]
    return isWithin(from, rule) && (to === undefined || (isWithin(to, rule) && from <= to))
  })
}

function isWithin(number: number, { least, most }: FieldRule): boolean {
  return number >= least && number <= most // not a number is neither
}

/** The number that an end of a range says; not a number for a name that the field does not have. */
function numberOf(text: string, { least, names = [] }: FieldRule): number {
  if (/^\d/.test(text)) return Number(text)
  const at = names.indexOf(text.toLowerCase())
  return at < 0 ? NaN : least + at
}

function fieldSentence({ name, least, most, names }: FieldRule): string {
  const words = names ? `, or ${names[0]} to ${names.at(-1)}` : ''
  return `Its ${name} must be *, a number from ${least} to ${most}${words}, a range such as ${least + 1}-${least + 3}, or a list of those; each may have a step, such as */2.`
}

function parse(cron: string, timezone: string, after: Date) {
  try {
    return CronExpressionParser.parse(`0 ${cron}`, { currentDate: after, tz: timezone })
  } catch {
    throw invalidCron('It names a day that its months do not have, or something twice.') // the parser’s own words are for programmers
  }
}

function nextOf(moments: ReturnType<typeof parse>): Date | null {
  try {
    return moments.next().toDate()
  } catch {
    return null // the parser gives up when a day does not exist, such as February 30
  }
}

/** Whether the same local time was shown an hour, or half an hour, before. */
function isRepeated(at: Date, timezone: string): boolean {
  const local = clockOf(timezone)
  const shown = local.format(at)
  return [30, 60].some((minutes) => local.format(momentAt(at.getTime() - minutes * 60_000)) === shown)
}

function clockOf(timezone: string): Intl.DateTimeFormat {
  const known = clocks.get(timezone)
  if (known) return known
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, dateStyle: 'short', timeStyle: 'short' })
  clocks.set(timezone, clock)
  return clock
}

function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name) || name.length > expressionLengthMax) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone.length > 0
  } catch {
    return false // what Intl does not know is no time zone
  }
}

function invalidCron(reason: string): BerthError {
  return new BerthError('invalid_cron', `cron is not an expression that can be used. ${reason}`)
}
