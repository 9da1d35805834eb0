/**
 * `npm run -s credits -- grant --org acme --usd 25 [--note text]`, `show --org acme`, `plan --org acme --plan
 * self_hosted`: grants an organization credits for models, shows its credits, and sets or removes its plan.
 */
import { userInfo } from 'node:os'
import { parseArgs } from 'node:util'
import { answerHelp, UsageError } from '#src/platform/command-line.ts'
import type { Db } from '#src/platform/postgres.ts'
import { unknownOrganization } from '#src/resources/identity/joining.ts'
import { findOrganizationNamed } from '#src/resources/identity/memberships.ts'
import {
  dollars,
  grantCredits,
  nanoUsdPerUsd,
  readCredits,
  selfHostedPlan,
  setPlan,
} from '#src/resources/llm/billing.ts'
import { runCommand, withRunningBerth } from './command.ts'

const usage = `npm run -s credits -- grant --org <name> --usd <amount> [--note <text>] | show --org <name> | plan --org <name> --plan ${selfHostedPlan}|none`
const noteCharactersMax = 1_000

type Work = { organization: string; change: (db: Db, organizationId: string) => Promise<void> }

function readCommandLine(words: readonly string[]): Work {
  answerHelp(words, usage)
  const options = {
    org: { type: 'string' },
    usd: { type: 'string' },
    note: { type: 'string' },
    plan: { type: 'string' },
  } as const
  let parsed: { values: Partial<Record<keyof typeof options, string>>; positionals: string[] }
  try {
    parsed = parseArgs({ args: [...words], options, strict: true, allowPositionals: true })
  } catch {
    throw new UsageError(`The command is: ${usage}`)
  }
  const {
    values: { org: organization, ...rest },
    positionals: [verb, ...more],
  } = parsed
  if (!organization || more.length > 0) throw new UsageError(`The command is: ${usage}`)
  switch (verb) {
    case 'grant':
      return { organization, change: readGrant(rest) }
    case 'plan':
      return { organization, change: readPlan(rest) }
    case 'show':
      return { organization, change: async () => undefined }
    default:
      throw new UsageError(`The command is: ${usage}`)
  }
}

function readGrant({ usd, note, plan }: Partial<Record<string, string>>): Work['change'] {
  if (!usd || !/^-?\d{1,7}(?:\.\d{1,9})?$/.test(usd) || plan !== undefined)
    throw new UsageError('--usd must be an amount in US dollars such as 25 or 0.5; --usd=-5 takes back.')
  if (note !== undefined && (note === '' || note.length > noteCharactersMax))
    throw new UsageError(`--note must be a text of 1 to ${noteCharactersMax} characters.`)
  return (db, organizationId) =>
    grantCredits(db, { organizationId, usd: Number(usd), grantedBy: userInfo().username, note: note ?? null })
}

function readPlan({ plan, usd, note }: Partial<Record<string, string>>): Work['change'] {
  if ((plan !== 'none' && plan !== selfHostedPlan) || usd !== undefined || note !== undefined)
    throw new UsageError(`--plan must be ${selfHostedPlan} or none.`)
  return (db, organizationId) => setPlan(db, organizationId, plan === 'none' ? null : plan)
}

async function printCredits({ organization, change }: Work): Promise<void> {
  await withRunningBerth('berth-credits', async (db) => {
    const found = await findOrganizationNamed(db, organization)
    if (!found)
      throw await unknownOrganization(
        db,
        organization,
        `Creating a token creates one: npm run -s token -- --user <name> --org ${organization} --create`,
      )
    await change(db, found.id)
    const { plan, grantedUsd, balanceUsd, reservedUsd, spentUsd, spentThisMonthUsd, monthlyBudgetUsd } =
      await readCredits(db, found.id)
    const money = (usd: string): string => dollars(Math.round(Number(usd) * nanoUsdPerUsd))
    const lines = [
      ['organization', organization],
      ['plan', plan ?? 'none'],
      ['left', `${money(balanceUsd)}, ${money(reservedUsd)} of it reserved for requests`],
      ['granted', money(grantedUsd)],
      ['spent', money(spentUsd)],
      [
        'this month',
        `${money(spentThisMonthUsd)}${monthlyBudgetUsd === null ? '' : ` of a budget of ${money(monthlyBudgetUsd)}`}`,
      ],
    ] as const
    process.stdout.write(lines.map(([name, value]) => `${name.padEnd(14)}${value}\n`).join(''))
  })
}

if (import.meta.main)
  await runCommand('change of credits', async () => printCredits(readCommandLine(process.argv.slice(2))))
