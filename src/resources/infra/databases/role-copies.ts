/** How the roles of a backup come to a server, as statements for its superuser in the database `postgres`. */
import type { OwnersRole } from './roles.ts'
import { quoteName, quoteText } from './sql-text.ts'

/** Besides the roles themselves, an owner's roles may be members of these only. */
const others = ['anon', 'authenticated']

/**
 * Makes the roles that the server does not have, for its owner to administer, and lets each use the database as it could. One
 * that is there stays as it is: then it is the newer one.
 */
export function bringRoles(roles: readonly OwnersRole[], database: string, owner: string): string[] {
  return roles.map((role) => {
    const name = quoteName(role.name)
    const made = [
      `create role ${name} with ${attributesOf(role)}`,
      `grant ${name} to ${quoteName(owner)} with admin true, inherit false, set false`,
      ...settingsOf(role),
      ...role.memberOf
        .filter((group) => others.includes(group.name) || roles.some((other) => other.name === group.name))
        .map(
          (group) =>
            `begin grant ${quoteName(group.name)} to ${name} with admin ${group.admin}, inherit ${group.inherit}, set ${group.set};
             exception when undefined_object then null; end`, // it is made later, and gets its members then
        ),
    ]
    const members = roles.flatMap((member) =>
      member.memberOf
        .filter((group) => group.name === role.name)
        .map(
          (group) =>
            `begin grant ${name} to ${quoteName(member.name)} with admin ${group.admin}, inherit ${group.inherit}, set ${group.set};
             exception when undefined_object then null; end`,
        ),
    )
    const uses = role.mayUse.filter((privilege) => /^[A-Z]+$/.test(privilege))
    const grants = uses.length === 0 ? '' : `grant ${uses.join(', ')} on database ${quoteName(database)} to ${name};`
    return asBlock(`if not exists (select from pg_catalog.pg_roles where rolname = ${quoteText(role.name)}) then
      ${[...made, ...members].map((statement) => `${statement};`).join('\n      ')}
    end if;
    ${grants}`)
  })
}

/** Text between dollars, whatever a role's name or setting has in it. */
function asBlock(body: string): string {
  let tag = 'berth'
  while (body.includes(tag)) tag += 'h'
  return `do $${tag}$ begin ${body} end $${tag}$`
}

function attributesOf(role: OwnersRole): string {
  return [
    role.canLogin ? 'login' : 'nologin',
    role.inherits ? 'inherit' : 'noinherit',
    role.createsDatabases ? 'createdb' : 'nocreatedb',
    role.createsRoles ? 'createrole' : 'nocreaterole',
    `connection limit ${Number(role.connectionsMax)}`,
    ...(role.validUntil === null ? [] : [`valid until ${quoteText(role.validUntil)}`]),
    ...(role.verifier === null ? [] : [`password ${quoteText(role.verifier)}`]),
  ].join(' ')
}

/** As they are stored: a list, such as that of search_path, has a form of its own there. */
function settingsOf({ name, settings }: OwnersRole): string[] {
  if (settings.length === 0) return []
  return [
    `insert into pg_catalog.pg_db_role_setting (setdatabase, setrole, setconfig)
        select 0, oid, array[${settings.map(quoteText).join(', ')}] from pg_catalog.pg_roles where rolname = ${quoteText(name)}`,
  ]
}

/**
 * Lets the owner of what is loaded act for these roles meanwhile, as the default privileges of each are set by itself; and
 * ends that. Of its rights to administer them nothing changes.
 */
export function lendRoles(roles: readonly OwnersRole[], owner: string, lent: boolean): string[] {
  return roles.map(({ name }) => `grant ${quoteName(name)} to ${quoteName(owner)} with inherit ${lent}, set ${lent}`)
}
