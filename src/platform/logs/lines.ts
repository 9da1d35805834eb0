/** Readable log lines: time, level, message and fields; a stack below. */

const levels: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'ERROR',
  60: 'FATAL',
}
const levelWidth = 5
const timeOfDay = { from: 'yyyy-mm-ddT'.length, to: 'yyyy-mm-ddThh:mm:ss'.length } as const

/**
 * The terminal's form of a JSON line; any other line unchanged. Control characters are removed, so that nothing in it
 * can control the terminal.
 */
export function prettyLine(json: string): string {
  let read: Record<string, unknown>
  try {
    read = JSON.parse(json) as Record<string, unknown> // a line of pino's, or one that was cut
  } catch {
    return json
  }
  const { level, time, msg, err, ...rest } = read
  const error = typeof err === 'object' && err !== null ? (err as { stack?: unknown; message?: unknown }) : undefined
  const parts = [
    String(time).slice(timeOfDay.from, timeOfDay.to),
    (levels[Number(level)] ?? String(level)).padEnd(levelWidth),
    printable(textOf(msg)),
    ...Object.entries(rest).map(
      ([name, value]) =>
        `${printable(name)}=${printable(typeof value === 'string' && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value))}`,
    ),
  ]
  const below = textOf(error?.stack ?? error?.message)
    .split('\n')
    .filter(Boolean)
    .map((line) => `    ${printable(line)}\n`)
  return `${parts.filter(Boolean).join(' ')}\n${below.join('')}`
}

/** A text as it is, nothing for nothing, and anything else as JSON. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/** Removes what a terminal would take for a command. */
function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '\uFFFD')
}
