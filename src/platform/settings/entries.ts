/** The entries of the table of settings. */
import type { Reader } from './readers.ts'

/** Earlier settings in the table, from which the defaults of others are derived. */
export type EarlierSettings = { port: number; host: string; issuers: readonly unknown[]; builtInIssuer: boolean }

/** One setting. `shownDefault` and `what` are Markdown for the table of settings. */
export type Setting<Value> = {
  name: string
  reader: Reader<Value>
  defaultOf(earlier: EarlierSettings): Value | null
  shownDefault: string
  what: string
}

/**
 * A setting with a default, which may depend on others. `shownDefault` describes a default that is not a plain value.
 */
export function setting<Value>(
  name: string,
  reader: Reader<Value>,
  byDefault: NoInfer<Value> | ((earlier: EarlierSettings) => NoInfer<Value>),
  what: string,
  shownDefault = shown(byDefault),
): Setting<Value> & { defaultOf(earlier: EarlierSettings): Value } {
  const isMade = (one: unknown): one is (earlier: EarlierSettings) => Value => typeof one === 'function'
  return {
    name,
    reader,
    defaultOf: (earlier) => (isMade(byDefault) ? byDefault(earlier) : byDefault),
    what,
    shownDefault,
  }
}

/** A setting without a default: null unless it is set. */
export function optional<Value>(
  name: string,
  reader: Reader<Value>,
  what: string,
  shownDefault = 'none',
): Setting<Value> & { defaultOf(earlier: EarlierSettings): null } {
  return { name, reader, defaultOf: () => null, what, shownDefault }
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return 'none'
  return `\`${typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value)}\``
}

/** Whether only this machine can reach this address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}

/** A port derived from the public one, below those of outgoing connections (32768). */
export function besidePort(publicPort: number, by: number): number {
  return publicPort + by < 32_768 ? publicPort + by : ((publicPort + by) % 19_999) + 10_000 // a modulus for which no port is beside itself
}
