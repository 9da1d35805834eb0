/** The settings of Postgres that an organization may choose for its database. */
import { BerthError } from '#src/platform/errors.ts'

/** Whether a value is one of the setting's, and what its values are. */
type Rule = { takes: (value: string) => boolean; says: string }

const unitsInKb: Readonly<Record<string, number>> = { kB: 1, MB: 1024 }
const unitsInMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000, h: 3_600_000 }
const dayMs = 86_400_000

function memory(leastKb: number): Rule {
  return {
    takes: (value) => isBetween(amountOf(value, unitsInKb), leastKb, 4 * 1024 * 1024),
    says: `an amount from ${leastKb}kB to 4096MB, such as 16MB`,
  }
}

const duration: Rule = {
  takes: (value) => value === '0' || isBetween(amountOf(value, unitsInMs), 1, 20 * dayMs),
  says: 'a time up to 480h, such as 30s or 5min, or 0 for none',
}

function number(least: number, most: number): Rule {
  return {
    takes: (value) => /^\d{1,6}(?:\.\d{1,4})?$/.test(value) && isBetween(Number(value), least, most),
    says: `a number from ${least} to ${most}`,
  }
}

function oneOf(...words: readonly string[]): Rule {
  return { takes: (value) => words.includes(value), says: words.join(', ') }
}

/** A number with a unit, in the smallest unit; NaN for anything else. */
function amountOf(value: string, units: Readonly<Record<string, number>>): number {
  const [, digits = '', unit = ''] = /^(\d{1,9})([a-zA-Z]{1,3})$/.exec(value) ?? []
  return Number(digits || NaN) * (Object.hasOwn(units, unit) ? (units[unit] ?? NaN) : NaN)
}

function isBetween(amount: number, least: number, most: number): boolean {
  return amount >= least && amount <= most
}

const zones = new Set(Intl.supportedValuesOf('timeZone'))

/** They apply to sessions of this one database. Everything else is the server's, and stays as it is. */
const allowed: Readonly<Record<string, Rule>> = {
  work_mem: memory(64),
  maintenance_work_mem: memory(1024),
  effective_cache_size: memory(1024),
  temp_buffers: memory(1024),
  statement_timeout: duration,
  lock_timeout: duration,
  idle_in_transaction_session_timeout: duration,
  idle_session_timeout: duration,
  random_page_cost: number(0, 1000),
  seq_page_cost: number(0, 1000),
  default_statistics_target: number(1, 10_000),
  jit: oneOf('on', 'off'),
  enable_seqscan: oneOf('on', 'off'),
  default_transaction_isolation: oneOf('read committed', 'repeatable read', 'serializable'),
  timezone: { takes: (value) => value === 'UTC' || zones.has(value), says: 'a time zone such as UTC or Europe/Rome' },
}

/**
 * The settings after a change: those that it names are set, or with null reset; the others stay.
 * @throws BerthError invalid_request.
 */
export function changeSettings(
  before: Readonly<Record<string, string | null>>,
  given: Readonly<Record<string, string | null>>,
): Record<string, string | null> {
  const settings = { ...before }
  for (const [name, value] of Object.entries(given)) {
    const rule = Object.hasOwn(allowed, name) ? allowed[name] : undefined
    if (!rule)
      throw new BerthError(
        'invalid_request',
        `settings may name ${Object.keys(allowed).join(', ')}, and nothing else.`,
        { field: 'settings' },
      )
    if (value !== null && !rule.takes(value))
      throw new BerthError('invalid_request', `settings.${name} must be ${rule.says}.`, { field: 'settings' })
    settings[name] = value
  }
  return settings
}
