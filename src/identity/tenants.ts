/** `npm run -s tenants -- --by requests`: lists the organizations that use most of this installation now. */
import { parseArgs } from 'node:util'
import { answerHelp, UsageError } from '#src/platform/command-line.ts'
import { listTenants, tenantOrders, tenantsShown, type TenantOrder, type TenantUse } from '#src/resources/tenants.ts'
import { runCommand, withRunningBerth } from './command.ts'

const usage = `npm run -s tenants -- [--by ${tenantOrders.join('|')}]

Lists the ${tenantsShown} organizations that use most, by the requests of the last minute without --by.`

function readCommandLine(words: readonly string[]): TenantOrder {
  answerHelp(words, usage)
  let by: string | undefined
  try {
    ;({ by } = parseArgs({ args: [...words], options: { by: { type: 'string' } }, strict: true }).values)
  } catch {
    throw new UsageError(`The command is: ${usage}`)
  }
  const order = tenantOrders.find((one) => one === (by ?? 'requests'))
  if (!order) throw new UsageError(`--by must be one of ${tenantOrders.join(', ')}.`)
  return order
}

const columns: readonly (readonly [head: string, value: (one: TenantUse) => string])[] = [
  ['ORGANIZATION', ({ name }) => name],
  ['REQUESTS/MIN', ({ requests }) => String(requests)],
  ['VMS', ({ vms }) => String(vms)],
  ['MEMORY MB', ({ memoryMb }) => String(memoryMb)],
  ['BUILDS', ({ builds }) => String(builds)],
  ['SESSIONS', ({ sessions }) => String(sessions)],
  ['STORED MB', ({ storedMb }) => String(storedMb)],
]

function tableOf(tenants: readonly TenantUse[]): string {
  const rows = [columns.map(([head]) => head), ...tenants.map((one) => columns.map(([, value]) => value(one)))]
  const widths = columns.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)))
  return rows
    .map(
      (row) =>
        `${row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  ')}\n`,
    )
    .join('')
}

if (import.meta.main)
  await runCommand('list of organizations', async () => {
    const by = readCommandLine(process.argv.slice(2))
    await withRunningBerth('berth-tenants', async (db, config) => {
      process.stdout.write(tableOf(await listTenants({ db, config }, by)))
    })
  })
