/**
 * What Berth needs to hold on the server of a database, and its owner may undo: by statements about the database itself, which
 * shut out others or everybody. It is looked at every minute, and set back.
 */
import type { Database } from './rows.ts'
import { loginUsers, setupMark } from './setup.ts'
import { quoteText } from './sql-text.ts'

/** What is found after an upgrade of Berth: no fault that anybody made, so no reason either. */
export const otherVersion = 'it was set up by another version'

/** With this the reason of a database begins whose server was found otherwise than it was set up. */
export const faultsReason = 'Its server was not as Berth had set it up, and is being set up again: '

/** Asks the server, in its database `postgres`, what is not as it was set up: a clause on each line, and nothing where all is right. */
export function askForFaults({ pgUser, pgDatabase }: Pick<Database, 'pgUser' | 'pgDatabase'>): string {
  const names = [pgUser, ...Object.values(loginUsers)].map((name) => `(${quoteText(name)})`).join(', ')
  return `
    with d as (select * from pg_catalog.pg_database where datname = ${quoteText(pgDatabase)}),
      users (name) as (values ${names}),
      r as (select r.* from pg_catalog.pg_roles r join users on rolname = name)
    select 'the database was dropped or renamed, so there is an empty one' where not exists (select from d)
    union all select 'the database had a connection limit' from d where datconnlimit <> -1
    union all select 'the database took no connections' from d where not datallowconn
    union all select 'the database was a template' from d where datistemplate
    union all select 'the database had another owner' from d where pg_catalog.pg_get_userbyid(datdba) <> ${quoteText(pgUser)}
    union all select pg_catalog.format('%s could not log in', name) from users where not exists (
      select from r where rolname = name and rolcanlogin and not rolsuper and rolconnlimit = -1
        and (rolvaliduntil is null or rolvaliduntil = 'infinity'))
    union all select pg_catalog.format('%s could not connect', rolname) from r, d
      where not pg_catalog.has_database_privilege(r.oid, d.oid, 'connect')
    union all select ${quoteText(otherVersion)} where not exists (
      select from r where rolname = ${quoteText(loginUsers.claims)}
        and pg_catalog.shobj_description(oid, 'pg_authid') = ${quoteText(setupMark)})`
}
