/** `npm run -s token -- --user alice --org acme --role owner [--ttl 1h] [--create]`: prints a token, and nothing else, on standard output. */
import { parseArgs } from 'node:util'
import { answerHelp, UsageError } from '#src/platform/command-line.ts'
import { isRole, roles } from '#src/platform/access/permissions.ts'
import { loadSealer } from '#src/platform/secrets.ts'
import { createOption, newNames, NothingRuns, runCommand, withRunningBerth } from './command.ts'
import { issueToken, type TokenRequest } from './issuer.ts'

const usage =
  'npm run -s token -- --user <name> --org <name> [--role viewer|member|admin|owner] [--ttl 90s|15m|1h|7d] [--create]'
const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }
const ttlSecondsMax = 30 * 86_400

/**
 * Reads a duration such as 90s, 15m, 1h or 7d; returns seconds.
 * @throws Error saying what is allowed.
 */
export function readTtl(text: string): number {
  const match = /^([1-9]\d{0,6})([smhd])$/.exec(text)
  const seconds = match ? Number(match[1]) * (unitSeconds[match[2] ?? ''] ?? 0) : 0
  if (seconds < 1 || seconds > ttlSecondsMax)
    throw new UsageError('--ttl must be a duration such as 90s, 15m, 1h or 7d, at most 30d.')
  return seconds
}

function readCommandLine(words: readonly string[]): TokenRequest {
  answerHelp(words, usage)
  const options = {
    user: { type: 'string' },
    org: { type: 'string' },
    role: { type: 'string' },
    ttl: { type: 'string' },
    ...createOption,
  } as const
  let values: { user?: string; org?: string; role?: string; ttl?: string; create?: boolean }
  try {
    values = parseArgs({ args: [...words], options, strict: true, allowPositionals: false }).values
  } catch {
    throw new UsageError(`The command is: ${usage}`)
  }
  if (!values.user || !values.org) throw new UsageError(`--user and --org are needed: ${usage}`)
  const role = values.role ?? null
  if (role !== null && !isRole(role)) throw new UsageError(`--role must be one of ${roles.join(', ')}.`)
  return {
    user: values.user,
    organization: values.org,
    role,
    ttlSeconds: readTtl(values.ttl ?? '1h'),
    newNames: newNames(values.create),
  }
}

async function printToken(request: TokenRequest): Promise<void> {
  await withRunningBerth('berth-token', async (db, config, run) => {
    if (!config.builtInIssuer)
      throw new NothingRuns(
        'The built-in issuer is off (BERTH_BUILT_IN_ISSUER); get a token from your identity provider.',
      )
    const issuer = { ...config, publicUrl: run?.publicUrl ?? config.publicUrl } // tokens contain the URL that is really in use
    const { token } = await issueToken(
      { db, sealer: loadSealer(config.secretKey, config.dataDir), config: issuer },
      request,
    )
    process.stdout.write(`${token}\n`)
  })
}

if (import.meta.main) await runCommand('token', async () => printToken(readCommandLine(process.argv.slice(2))))
