/**
 * `npm run -s key -- --org acme --name laptop [--days 90] [--create]`: creates an API key and prints it, and nothing
 * else, on standard output.
 */
import { parseArgs } from 'node:util'
import { answerHelp, UsageError } from '#src/platform/command-line.ts'
import { nowMs, timestamp } from '#src/platform/clock.ts'
import { limits } from '#src/platform/limits.ts'
import { transaction } from '#src/platform/postgres.ts'
import { findOrMakeOrganization, findOrMakeUser, type NewNames } from '#src/resources/identity/joining.ts'
import { createKeyFor } from '#src/resources/identity/api-keys.ts'
import { createOption, newNames, runCommand, withRunningBerth } from './command.ts'
import { checkName } from './issuer.ts'

const usage = 'npm run -s key -- --org <name> --name <name of the key> [--days <n>] [--user <its creator>] [--create]'
/** Recorded as the creator of keys made from the command line: a user without a membership. */
const operator = 'operator'

type KeyRequest = { organization: string; name: string; user: string; expiresAt: string | null; newNames: NewNames }

function readCommandLine(words: readonly string[]): KeyRequest {
  answerHelp(words, usage)
  const options = {
    org: { type: 'string' },
    name: { type: 'string' },
    user: { type: 'string' },
    days: { type: 'string' },
    ...createOption,
  } as const
  let values: { org?: string; name?: string; user?: string; days?: string; create?: boolean }
  try {
    values = parseArgs({ args: [...words], options, strict: true, allowPositionals: false }).values
  } catch {
    throw new UsageError(`The command is: ${usage}`)
  }
  const { org, name, user = operator, days, create } = values
  if (!org || !name) throw new UsageError(`--org and --name are needed: ${usage}`)
  if (days !== undefined && (!/^[1-9]\d{0,3}$/.test(days) || Number(days) > limits.apiKeyDaysMax))
    throw new UsageError(
      `--days must be a whole number from 1 to ${limits.apiKeyDaysMax}; leave it out for a key that does not expire.`,
    )
  return {
    organization: org,
    name,
    user,
    expiresAt: days === undefined ? null : timestamp(nowMs() + Number(days) * 86_400_000),
    newNames: newNames(create),
  }
}

async function printKey({ organization, name, user, expiresAt, newNames }: KeyRequest): Promise<void> {
  await withRunningBerth('berth-key', async (db, config) => {
    checkName('organization', organization)
    checkName('user', user)
    const { key } = await transaction(db, async (tx) => {
      const { id: organizationId, isNew } = await findOrMakeOrganization(tx, organization, newNames)
      const maker = await findOrMakeUser(tx, user, isNew || user === operator ? { make: true } : newNames)
      const order = { organizationId, createdBy: maker.id }
      return createKeyFor(tx, { ...order, prefix: config.apiKeyPrefix, name, expiresAt })
    })
    process.stdout.write(`${key}\n`)
  })
}

if (import.meta.main) await runCommand('key', async () => printKey(readCommandLine(process.argv.slice(2))))
