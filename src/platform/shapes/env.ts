/** Which environment variables a caller may set. */
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'

/** How much of a value its readers see. */
export const visibilities = ['plaintext', 'sensitive', 'secret'] as const
export type Visibility = (typeof visibilities)[number]
/** What a key looks like. */
export const keyShape = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/
const reservedPrefixes = ['BERTH_', 'SYSTEM_', 'LD_', 'DYLD_', 'GIT_CONFIG']
/** Variables that change what every program loads or runs. From PERL5OPT on it is the same trick in other languages. */
const reservedKeys = new Set([
  'PATH',
  'IFS',
  'BASH_ENV',
  'ENV',
  'PROMPT_COMMAND',
  'NODE_OPTIONS',
  'PYTHONPATH',
  'PERL5OPT',
  'PERL5LIB',
  'RUBYOPT',
  'RUBYLIB',
  'PYTHONSTARTUP',
  'PYTHONHOME',
  'SHELLOPTS',
  'BASHOPTS',
  'PS4',
  'GIT_SSH',
  'GIT_SSH_COMMAND',
  'JAVA_TOOL_OPTIONS',
  '_JAVA_OPTIONS',
])

/**
 * Checks variables that a caller sets: those of a VM, or of one command. For the latter no key is reserved, since a
 * command line could set it, too.
 * @throws BerthError invalid_env_key or invalid_env_value; nothing of the body is used then. Values are never shown.
 */
export function checkEnv(
  variables: Readonly<Record<string, string>>,
  visibility: Visibility,
  owner: 'VM' | 'command' = 'VM',
): void {
  const entries = Object.entries(variables)
  if (entries.length > limits.envVarsPerVm)
    throw new BerthError('invalid_env_key', `A ${owner} has at most ${limits.envVarsPerVm} variables.`)
  let totalBytes = 0
  for (const [key, value] of entries) {
    if (!keyShape.test(key))
      throw new BerthError(
        'invalid_env_key',
        'The name of a variable must have 1 to 128 letters, digits and underscores, and must not begin with a digit.',
      )
    const upper = key.toUpperCase()
    if (owner === 'VM' && (reservedKeys.has(upper) || reservedPrefixes.some((prefix) => upper.startsWith(prefix))))
      throw new BerthError('invalid_env_key', `The key ${key} is reserved; choose another name.`)
    const bytes = Buffer.byteLength(value)
    if (value.includes('\0'))
      throw new BerthError('invalid_env_value', `The value of ${key} contains a NUL character; remove it.`)
    if (!value.isWellFormed())
      throw new BerthError('invalid_env_value', `The value of ${key} is not well-formed Unicode.`)
    if (/[\r\n]/.test(value) && visibility === 'plaintext')
      throw new BerthError(
        'invalid_env_value',
        `The value of ${key} contains line breaks; store it with visibility sensitive or secret.`,
      )
    if (/^\s*\(\)\s*\{/.test(value))
      throw new BerthError(
        'invalid_env_value',
        `The value of ${key} looks like a shell function, which a shell would run; it is refused.`,
      )
    if (bytes > limits.envValueBytes)
      throw new BerthError(
        'invalid_env_value',
        `The value of ${key} is larger than ${limits.envValueBytes / 1024} KiB.`,
      )
    totalBytes += bytes + key.length
  }
  if (totalBytes > limits.envTotalBytes)
    throw new BerthError(
      'invalid_env_value',
      `All variables together may have at most ${limits.envTotalBytes / 1024} KiB.`,
    )
}

/** Checks a body that should be a flat object from text to text. */
export function readEnv(body: unknown): Record<string, string> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new BerthError('invalid_request', 'Send a JSON object from text to text: {"KEY": "value"}.')
  for (const [key, value] of Object.entries(body))
    if (typeof value !== 'string')
      throw new BerthError('invalid_env_value', `The value of ${key.slice(0, limits.envKeyLength)} must be text.`)
  return body as Record<string, string> // checked just above
}

/** Reads the visibility of a request. */
export function readVisibility(text: string | null | undefined): Visibility | null {
  if (text === null || text === undefined) return null
  const found = visibilities.find((one) => one === text)
  if (!found) throw new BerthError('invalid_request', 'visibility must be plaintext, sensitive or secret.')
  return found
}
