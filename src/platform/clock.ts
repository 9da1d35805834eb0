/** The only place that reads the wall clock, so a test can hold or move it. */

let offsetMs = 0

/** Milliseconds since the Unix epoch. */
export function nowMs(): number {
  return Date.now() + offsetMs
}

/** The current moment. */
export function now(): Date {
  return new Date(nowMs())
}

/** The time so many milliseconds from now; negative numbers are in the past. */
export function fromNow(byMs: number): Date {
  return new Date(nowMs() + byMs)
}

/** The time so many days from now. */
export function daysFromNow(days: number): Date {
  return fromNow(days * 86_400_000)
}

/** The moment of a stored text, or of so many milliseconds since the Unix epoch. */
export function momentAt(at: string | number): Date {
  return new Date(at)
}

/** RFC 3339, UTC, three fractional digits and `Z`: the format of every time that a caller sees. */
export function timestamp(at: Date | number): string {
  return (typeof at === 'number' ? new Date(at) : at).toISOString()
}

/** Tests only: moves this process's clock by so many milliseconds from the real one. */
export function shiftClock(byMs: number): void {
  offsetMs = byMs
}
