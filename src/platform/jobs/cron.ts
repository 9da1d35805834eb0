/**
 * The moments of a cron expression in a time zone: five fields (minute, hour, day of the month, month, day of the week),
 * as POSIX defines them. A local time that the clocks skip does not occur. One that occurs twice counts both times where
 * the hour is `*`, with a step or without, as in ISC cron: such an expression is a pace. Otherwise it counts the first time.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BerthError } from '#src/platform/errors.ts'
import { momentAt, now } from '#src/platform/clock.ts'

const expressionLengthMax = 255
/** One element of a field: `*`, a number or a name, or a range of them, each with a step if wanted. */
const element = /^(?:\*|(\d{1,2}|[a-z]{3})(?:-(\d{1,2}|[a-z]{3}))?)(?:\/(\d+))?$/i
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
/** February 29 is at most eight years away, as around the year 2100. */
const monthsMax = 8 * 12 + 1

/** The moments of an expression. */
export type Cron = { cron: string; timezone: string }

/**
 * Checks an expression and its time zone.
 * @throws BerthError invalid_cron, invalid_timezone.
 */
export function readCron(cron: string, timezone: string): Cron {
  if (cron.length > expressionLengthMax) throw invalidCron(fiveFields)
  const read = { cron: cron.trim().split(/\s+/).join(' '), timezone }
  timesOf(read.cron)
  if (!isTimeZone(timezone))
    throw new BerthError(
      'invalid_timezone',
      'timezone must be a name of the IANA time zone database, such as Europe/Berlin or UTC.',
    )
  if (nextMoment(read, now()) === null) throw invalidCron('Its months do not have that day.')
  return read
}

/** The first moment after this one; null when there is none, as on February 30. @throws BerthError invalid_cron. */
export function nextMoment({ cron, timezone }: Cron, after: Date): Date | null {
  const times = timesOf(cron)
  const local = Temporal.Instant.fromEpochMilliseconds(after.getTime()).toZonedDateTimeISO(timezone)
  const today = local.toPlainDate()
  for (const day of daysOf(times, today)) {
    if (times.everyHour && changesClocks(day, timezone)) {
      const at = everyOccurrence(times, day, timezone).find((one) => one > after.getTime())
      if (at !== undefined) return momentAt(at)
      continue
    }
    const first = day.equals(today) ? local.hour * 60 + local.minute : 0
    for (const { hour, minute } of timesOfDay(times)) {
      if (hour * 60 + minute < first) continue // its first occurrence is over, also where clocks were set back
      const at = occurrence(day.toPlainDateTime({ hour, minute }), timezone)
      if (at !== null && at > after.getTime()) return momentAt(at)
    }
  }
  return null
}

function* timesOfDay({ hours, minutes }: Times): Generator<{ hour: number; minute: number }> {
  for (const hour of hours) for (const minute of minutes) yield { hour, minute }
}

/** Whether a zone's clocks change in the course of this day. */
function changesClocks(day: Temporal.PlainDate, timezone: string): boolean {
  return day.toZonedDateTime(timezone).offset !== day.add({ days: 1 }).toZonedDateTime(timezone).offset
}

/** All moments of a day, also the second ones of local times that occur twice; ascending, in milliseconds since the epoch. */
function everyOccurrence(times: Times, day: Temporal.PlainDate, timezone: string): number[] {
  const moments = new Set<number>()
  for (const time of timesOfDay(times))
    for (const which of ['earlier', 'later'] as const) {
      const at = occurrence(day.toPlainDateTime(time), timezone, which)
      if (at !== null) moments.add(at)
    }
  return [...moments].toSorted((one, other) => one - other)
}

/**
 * This moment and those that follow, so many at most; none without a first one. A list has the moments of many, so other
 * requests get their turn between them.
 */
export async function momentsFrom(cron: Cron, first: Date | null, most: number): Promise<Date[]> {
  const moments: Date[] = []
  for (let next = first; next && moments.length < most; next = nextMoment(cron, next)) {
    moments.push(next)
    await nextTurn()
  }
  return moments
}

/** When a zone's clocks show this local time, the first or the last time, in milliseconds since the epoch; null when they skip it. */
function occurrence(
  local: Temporal.PlainDateTime,
  timezone: string,
  which: 'earlier' | 'later' = 'earlier',
): number | null {
  const shown = local.toZonedDateTime(timezone, { disambiguation: which })
  return shown.toPlainDateTime().equals(local) ? shown.epochMilliseconds : null
}

/** What the fields of an expression say, in ascending order; weekdays count from Sunday, 0. */
type Times = {
  minutes: number[]
  hours: number[]
  /** Whether the hour is `*`, with a step or without. */
  everyHour: boolean
  months: number[]
  isOn: (dayOfMonth: number, dayOfWeek: number) => boolean
}

/** @throws BerthError invalid_cron. */
function timesOf(cron: string): Times {
  const fields = cron.split(' ')
  if (fields.length !== fieldRules.length) throw invalidCron(fiveFields)
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = fieldRules.map((rule, at) =>
    numbersOf(fields[at] ?? '', rule),
  )
  const [restrictsDay, restrictsWeekday] = [fields[2] !== '*', fields[4] !== '*']
  return {
    minutes,
    hours,
    everyHour: fields[1]?.startsWith('*') === true && !fields[1].includes(','),
    months,
    isOn: (day, weekday) =>
      restrictsDay && restrictsWeekday
        ? days.includes(day) || weekdays.includes(weekday)
        : days.includes(day) && weekdays.includes(weekday),
  }
}

/** The days of an expression from one on. */
function* daysOf({ months, isOn }: Times, from: Temporal.PlainDate): Generator<Temporal.PlainDate> {
  for (let ahead = 0; ahead < monthsMax; ahead++) {
    const month = from.with({ day: 1 }).add({ months: ahead })
    if (!months.includes(month.month)) continue
    for (let day = ahead === 0 ? from.day : 1; day <= month.daysInMonth; day++)
      if (isOn(day, (month.dayOfWeek + day - 1) % 7)) yield month.with({ day })
  }
}

type FieldRule = (typeof fieldRules)[number]

/** The numbers of a field, ascending. @throws BerthError invalid_cron. */
function numbersOf(field: string, rule: FieldRule): number[] {
  const numbers = new Set<number>()
  for (const one of field.split(',')) {
    const named = elementNumbers(one, rule)
    if (!numbers.isDisjointFrom(named)) throw invalidCron(`Its ${rule.name} names something twice.`)
    for (const number of named) numbers.add(number)
  }
  return [...numbers].toSorted((one, other) => one - other)
}

function elementNumbers(text: string, rule: FieldRule): Set<number> {
  const [found, first, last, step] = element.exec(text) ?? []
  const by = Number(step ?? 1)
  const from = first === undefined ? rule.least : numberOf(first, rule)
  const only = step === undefined ? from : rule.most // 5/15 is from 5 on
  const to = last !== undefined ? numberOf(last, rule) : first === undefined ? rule.most : only
  if (found === undefined || by < 1 || !isWithin(from, rule) || !isWithin(to, rule) || from > to)
    throw invalidCron(fieldSentence(rule))
  if (by > rule.most)
    throw invalidCron(
      `The step of its ${rule.name} is ${rule.most} at most: a larger one would start over before it is reached.`,
    )
  const numbers = new Set<number>()
  for (let number = from; number <= to; number += by) numbers.add(rule.name === 'day of the week' ? number % 7 : number)
  return numbers
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

function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name) || name.length > expressionLengthMax) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone.length > 0
  } catch {
    return false // what Intl does not know is no time zone
  }
}

const fiveFields = 'It has five fields: minute, hour, day of the month, month, day of the week, such as 0 3 * * *.'

function invalidCron(reason: string): BerthError {
  return new BerthError('invalid_cron', `cron is not an expression that can be used. ${reason}`)
}
