/**
 * The log: JSON lines on standard output, with everything that looks like a secret taken out of every line,
 * wherever it stands. Redaction works on the finished text, because a secret can hide at any depth of an object.
 */
import { pino, type Logger } from 'pino'

/** Longest line kept; the rest of a longer one is dropped. Unit: characters. */
const longestLine = 16_384
/** Looked through for secrets; more than the longest line, so that none is cut in two before it is found. Unit: characters. */
const longestSearched = 4 * longestLine

const secretPatterns: readonly [RegExp, string][] = [
  [/svc_live_ak_[0-9a-z]{16}\.[A-Za-z0-9_-]+/g, 'svc_live_ak_[redacted]'],
  [/\b[a-z][a-z0-9_]{0,30}_[0-9a-z]{16}\.[A-Za-z0-9_-]{43}/g, '[redacted key]'], // whatever BERTH_KEY_PREFIX is
  [/\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_=-]*/g, '[redacted jwt]'],
  [/\bbdb_[A-Za-z0-9_-]{43}/g, '[redacted database token]'],
  [/([?&](?:token|access_token|code|berth_token)=)[^&\s"\\]+/gi, '$1[redacted]'],
  [/(:\/\/[^\s:/@"\\]+:)[^\s@"\\]+@/g, '$1[redacted]@'],
  [/("(?:authorization|cookie|password|secret|token|privateKey)"\s*:\s*)"(?:[^"\\]|\\.)*"/gi, '$1"[redacted]"'],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*-----END [A-Z ]*PRIVATE KEY-----/g, '[redacted private key]'],
]

/** Secrets that have no form of their own, such as the keys of model providers; bounded by the table that names them. */
const knownSecrets = new Set<string>()

/** Takes this text out of every line from now on; text too short to be a secret is left alone. */
export function neverLog(secret: string): void {
  if (secret.length < 8) return
  knownSecrets.add(secret).add(JSON.stringify(secret).slice(1, -1)) // as it is, and as it stands in a line of JSON
}

/** The text without anything that looks like a secret. */
export function redact(text: string): string {
  for (const secret of knownSecrets) text = text.replaceAll(secret, '[redacted]')
  for (const [pattern, replacement] of secretPatterns) text = text.replace(pattern, replacement)
  return text
}

const destination = {
  write(line: string): void {
    const safe = redact(line.slice(0, longestSearched))
    process.stdout.write(safe.length > longestLine ? `${safe.slice(0, longestLine)}…"}\n` : safe)
  },
}

/** The process's log. */
export const log: Logger = pino({ level: 'info', base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination)

/** Sets the least severe level that is written. */
export function setLogLevel(level: string): void {
  log.level = level
}
