/**
 * The log: lines on standard output, as JSON or, in a terminal, in readable form. Everything that looks like a secret
 * is redacted, wherever it is in a line. Redaction works on the finished text, because a secret can be at any depth of
 * an object.
 */
import { pino, type Logger } from 'pino'
import { prettyLine } from './logs/lines.ts'
import type { LogFormat } from './settings/readers.ts'

/** Longest line kept; the rest of a longer one is dropped. Unit: characters. */
const longestLine = 16_384
/** How much of a line is searched for secrets: more than is kept, so that none is cut in two before it is found. Unit: characters. */
const longestSearched = 4 * longestLine

const secretPatterns: readonly [RegExp, string][] = [
  [/svc_live_ak_[0-9a-z]{16}\.[A-Za-z0-9_-]+/g, 'svc_live_ak_[redacted]'],
  [/(^|[^A-Za-z0-9_])[a-z][a-z0-9_]{0,30}_[0-9a-z]{16}\.[A-Za-z0-9_-]{43}/g, '$1[redacted key]'], // whatever BERTH_KEY_PREFIX is
  [/\bbdb_[A-Za-z0-9_-]{43}/g, '[redacted database token]'],
  [/([?&](?:token|access_token|code|berth_token)=)[^&\s"\\]+/gi, '$1[redacted]'],
  [/("(?:authorization|cookie|password|secret|token|privateKey)"\s*:\s*)"(?:[^"\\]|\\.)*"/gi, '$1"[redacted]"'],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*-----END [A-Z ]*PRIVATE KEY-----/g, '[redacted private key]'],
]

/** Secrets that no pattern recognises, such as keys of model providers; bounded by the table that names them. */
const knownSecrets = new Set<string>()

/** Redacts this text in every line from now on, unless it is too short to be a secret. */
export function neverLog(secret: string): void {
  if (secret.length < 8) return
  knownSecrets.add(secret).add(JSON.stringify(secret).slice(1, -1)) // as it is, and as it stands in a line of JSON
}

/** The text without anything that looks like a secret. */
export function redact(text: string): string {
  for (const secret of knownSecrets) text = text.replaceAll(secret, '[redacted]')
  for (const [pattern, replacement] of secretPatterns) text = text.replace(pattern, replacement)
  return redactPasswords(text.replace(/[A-Za-z0-9_.=-]+/g, redactTokens))
}

const shortestHeader = 8 // characters, of a token's first part

/**
 * Redacts signed tokens (JWT) in a run of their characters: three parts with dots between, the first beginning with
 * `eyJ`.
 */
function redactTokens(run: string): string {
  if (!run.includes('eyJ')) return run
  const parts = run.split('.')
  for (let index = 0; index + 2 < parts.length; index++) {
    const [first = '', second = ''] = parts.slice(index, index + 2)
    let at = first.indexOf('eyJ', first.lastIndexOf('=') + 1)
    while (at > 0 && /\w/.test(first[at - 1] ?? '')) at = first.indexOf('eyJ', at + 1)
    if (at < 0 || first.length - at < shortestHeader || second === '' || second.includes('=')) continue
    parts.splice(index, 3, `${first.slice(0, at)}[redacted jwt]`)
  }
  return parts.join('.')
}

const endsAddress = /[\s"\\]/

/**
 * Redacts passwords in URLs: `https://user:password@host`. Without a regular expression, because a password may contain
 * what begins a URL.
 */
function redactPasswords(text: string): string {
  const parts = text.split('@')
  for (const [index, part] of parts.entries()) {
    if (index === parts.length - 1) break // behind it stands no @
    let start = part.length
    while (start > 0 && !endsAddress.test(part[start - 1] ?? '')) start--
    const password = beginningOfPassword(part, start)
    if (password > 0 && password < part.length) parts[index] = `${part.slice(0, password)}[redacted]`
  }
  return parts.join('@')
}

/** The position after the next `://user:`; 0 where there is none. */
function beginningOfPassword(text: string, from: number): number {
  for (let at = text.indexOf('://', from); at >= 0; at = text.indexOf('://', at + 3)) {
    let end = at + 3
    while (end < text.length && text[end] !== ':' && text[end] !== '/') end++
    if (text[end] === ':' && end > at + 3) return end + 1
    at = end - 3
  }
  return 0
}

let isPretty = false

const destination = {
  write(line: string): void {
    const safe = redact(line.slice(0, longestSearched))
    const shown = safe.length > longestLine ? `${safe.slice(0, longestLine)}…"}\n` : safe
    process.stdout.write(isPretty ? prettyLine(shown) : shown)
  },
}

/** The process's log. */
export const log: Logger = pino({ level: 'info', base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination)

/** Sets the least severe level that is written. */
export function setLogLevel(level: string): void {
  log.level = level
}

/** Sets the format of lines: readable, or JSON. */
export function setLogFormat(format: LogFormat): void {
  isPretty = writesForPeople(format)
}

/** Whether this format is the readable one; `auto` depends on whether standard output is a terminal. */
export function writesForPeople(format: LogFormat): boolean {
  return format === 'pretty' || (format === 'auto' && process.stdout.isTTY)
}
