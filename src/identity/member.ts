/**
 * `npm run -s member -- --org acme`, `remove --org acme --user bob`, `role --org acme --user bob --role admin`: lists
 * the members of an organization, removes one, and changes roles.
 */
import { parseArgs } from 'node:util'
import { answerHelp, UsageError } from '#src/platform/command-line.ts'
import { isRole, roles, type Role } from '#src/platform/access/permissions.ts'
import { BerthError } from '#src/platform/errors.ts'
import { openServices } from '#src/platform/services.ts'
import type { Db } from '#src/platform/postgres.ts'
import { nearestKey } from '#src/platform/shapes/unknown-keys.ts'
import '#src/resources/wiring.ts'
import { unknownOrganization } from '#src/resources/identity/joining.ts'
import { changeMembershipRole, listMembers, removeMembership, type Member } from '#src/resources/identity/members.ts'
import { findOrganizationNamed } from '#src/resources/identity/memberships.ts'
import { runCommand, withRunningBerth } from './command.ts'

const usage = `npm run -s member -- [list] --org <name> | remove --org <name> --user <name> | role --org <name> --user <name> --role ${roles.join('|')}`
const roleWidth = 8

type Work = { organization: string } & (
  | { verb: 'list' }
  | { verb: 'remove'; user: string }
  | { verb: 'role'; user: string; role: Role }
)

/** The work of a command line; undefined when it asks for help. */
function readCommandLine(words: readonly string[]): Work | undefined {
  answerHelp(words, usage)
  const options = {
    org: { type: 'string' },
    user: { type: 'string' },
    role: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const
  let parsed: { values: { org?: string; user?: string; role?: string; help?: boolean }; positionals: string[] }
  try {
    parsed = parseArgs({ args: [...words], options, strict: true, allowPositionals: true })
  } catch {
    throw new UsageError(`The command is: ${usage}`)
  }
  const {
    values: { org: organization, user, role, help },
    positionals: [verb = 'list', ...more],
  } = parsed
  if (help) return undefined
  if (!organization || more.length > 0) throw new UsageError(`The command is: ${usage}`)
  if (verb === 'list' && !user && !role) return { organization, verb }
  if (verb === 'remove' && user && !role) return { organization, verb, user }
  if (verb === 'role' && user && role) {
    if (!isRole(role)) throw new UsageError(`--role must be one of ${roles.join(', ')}.`)
    return { organization, verb, user, role }
  }
  throw new UsageError(`The command is: ${usage}`)
}

async function doWork(work: Work | undefined): Promise<void> {
  if (!work) return void process.stdout.write(`${usage}\n`)
  await withRunningBerth('berth-member', async (db, config, _run, databaseUrl) => {
    const organization = await findOrganizationNamed(db, work.organization)
    if (!organization)
      throw await unknownOrganization(
        db,
        work.organization,
        `Creating a token creates one: npm run -s token -- --user <name> --org ${work.organization} --create`,
      )
    if (work.verb === 'list')
      return void process.stdout.write(
        (await listMembers(db, organization.id))
          .map((one) => `${one.role.padEnd(roleWidth)}${one.userName}\n`)
          .join(''),
      )
    const member = await findMember(db, organization.id, work.organization, work.user)
    if (work.verb === 'role') {
      await changeMembershipRole(db, organization.id, member.id, work.role)
      return void process.stdout.write(`${work.user} is now ${work.role} of ${work.organization}.\n`)
    }
    const services = await openServices(config, databaseUrl, 'web')
    try {
      await removeMembership(services, organization.id, member.id)
    } finally {
      await services.close()
    }
    process.stdout.write(`${work.user} no longer belongs to ${work.organization}.\n`)
  })
}

async function findMember(db: Db, organizationId: string, organization: string, user: string): Promise<Member> {
  const members = await listMembers(db, organizationId)
  const found = members.find(({ userName }) => userName === user)
  if (found) return found
  const near = nearestKey(
    user,
    members.map(({ userName }) => userName),
  )
  throw new BerthError(
    'not_found',
    `${organization} has no member named ${user}.${near === undefined ? '' : ` Did you mean ${near}?`} npm run -s member -- --org ${organization} lists them.`,
  )
}

if (import.meta.main) await runCommand('change of members', async () => doWork(readCommandLine(process.argv.slice(2))))
