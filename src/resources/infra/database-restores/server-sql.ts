/**
 * What a restore says to the database's server, as statements for the superuser in the database `postgres` unless they
 * say otherwise. All of them may be run again. A dump is loaded as the owner of its data and never as the superuser,
 * because what is in it (checks, defaults, functions of indexes) runs while it is loaded.
 */
import type { OwnersRole } from '#src/resources/infra/databases/roles.ts'
import { bringRoles, lendRoles } from '#src/resources/infra/databases/role-copies.ts'
import { loginUsers, ownersRole, powersOfOwner, rightsOfOwner } from '#src/resources/infra/databases/setup.ts'
import {
  createRole,
  joinStatements,
  makeOrdinaryLogin,
  quoteName,
  quoteText,
} from '#src/resources/infra/databases/sql-text.ts'

/** Lists the server's databases, one a line; an owner may have made a template of one. */
export const listDatabases =
  "select datname from pg_catalog.pg_database where datname not in ('template0', 'template1') order by datname"

/** Asks for the version of the server, and how many bytes a database takes: `17.6|8123456`. */
export function describeServer(name: string): string {
  return `select pg_catalog.current_setting('server_version'), pg_catalog.pg_database_size(${quoteText(name)})`
}

/** The schemas that are Berth's: dumps leave them out, and each database gets its own. */
export const ownSchemas = ['auth']

/** Which database is loaded into, whose data they are, whose they become, and the roles that the first one has made. */
export type Load = { loaded: string; sourceUser: string; targetUser: string; roles: readonly OwnersRole[] }

/** Each must be run by itself, outside of a transaction: makes an empty database, and the owner of what is loaded. */
export function prepareLoad({ loaded, sourceUser, targetUser, roles }: Load): string[] {
  const [name, source] = [quoteName(loaded), quoteName(sourceUser)]
  return [
    `drop database if exists ${name} with (force)`,
    ...['anon', 'authenticated', ownersRole, ...Object.values(loginUsers), sourceUser].map(createRole),
    makeOrdinaryLogin(sourceUser),
    ...rightsOfOwner(sourceUser),
    ...(sourceUser === targetUser ? powersOfOwner(sourceUser) : []),
    `create database ${name} template template0 owner ${source}`,
    `revoke all on database ${name} from public`,
    ...bringRoles(roles, loaded, targetUser),
    ...lendRoles(roles, sourceUser, true),
  ]
}

/** For the database that was loaded, in one transaction: its objects become the target's. */
export function handOver({ sourceUser, targetUser }: Load): string {
  if (sourceUser === targetUser) return ''
  const [source, target] = [sourceUser, targetUser].map(quoteName) as [string, string] // one each
  return joinStatements([`reassign owned by ${source} to ${target}`, `drop owned by ${source}`])
}

/** By itself: removes the owner of what was loaded, if that is not the database's own. */
export function forgetSource({ sourceUser, targetUser, roles }: Omit<Load, 'loaded'>): string[] {
  return sourceUser === targetUser
    ? lendRoles(roles, sourceUser, false)
    : [`drop role if exists ${quoteName(sourceUser)}`]
}

/** What replaces what: the database's name, that under which the data was loaded, and that for the old data. */
export type Swap = { name: string; loaded: string; replaced: string }

/** Each by itself: ends every session of both databases, and lets nobody in any more. */
export function closeDatabases({ name, loaded }: Swap): string[] {
  return [
    `alter database ${quoteName(name)} with allow_connections false is_template false`,
    `select count(pg_catalog.pg_terminate_backend(pid, 5000)) from pg_catalog.pg_stat_activity where datname in (${quoteText(name)}, ${quoteText(loaded)})`,
  ]
}

/**
 * In one transaction: the loaded database takes the place of the other one, with the settings that its owner gave that
 * one, and for the roles that may use that one.
 */
export function swapDatabases({ name, loaded, replaced }: Swap): string {
  const oidOf = (database: string): string =>
    `(select oid from pg_catalog.pg_database where datname = ${quoteText(database)})`
  return joinStatements([
    `delete from pg_catalog.pg_db_role_setting where setdatabase = ${oidOf(loaded)}`,
    `insert into pg_catalog.pg_db_role_setting select ${oidOf(loaded)}, setrole, setconfig from pg_catalog.pg_db_role_setting where setdatabase = ${oidOf(name)}`,
    `do $$ declare one record; begin
      for one in select a.privilege_type, a.grantee::pg_catalog.regrole as role from pg_catalog.pg_database d, pg_catalog.aclexplode(d.datacl) a
        where d.datname = ${quoteText(name)} and a.grantee <> 0 loop
        execute pg_catalog.format('grant %s on database %I to %s', one.privilege_type, ${quoteText(loaded)}, one.role);
      end loop;
    end $$`,
    `alter database ${quoteName(name)} rename to ${quoteName(replaced)}`,
    `alter database ${quoteName(loaded)} rename to ${quoteName(name)}`,
  ])
}

/** Each by itself: drops what was loaded in vain, where loading had begun, and lets clients into the database again. */
export function giveUpLoad({ name, loaded }: Swap, isBegun: boolean): string[] {
  return [
    ...(isBegun ? [`drop database if exists ${quoteName(loaded)} with (force)`] : []),
    `alter database ${quoteName(name)} with allow_connections true`,
  ]
}

/** By itself: drops the data that a restore replaced. */
export function dropReplaced({ replaced }: Swap): string {
  return `drop database if exists ${quoteName(replaced)} with (force)`
}
