/** What a database's server is given by Berth: roles, passwords, rights and settings. Running it again changes nothing. */
import { makeVerifier } from '#src/platform/secrets/scram-verifiers.ts'
import { randomToken } from '#src/platform/ids.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import type { Database } from './rows.ts'

/** With which passwords the proxy logs in to the server; a client never learns them. */
export type Logins = { owner: string; authenticated: string; anonymous: string; claims: string }

/** The users of every database as whom the proxy logs in, besides its owner. */
export const loginUsers = {
  authenticated: 'berth_authenticated',
  anonymous: 'berth_anonymous',
  claims: 'berth_claims',
} as const

const passwordBytes = 32

/** New passwords, sealed for the row with this id. */
export function sealNewLogins(sealer: Sealer, id: string): Buffer {
  const logins: Logins = {
    owner: randomToken(passwordBytes),
    authenticated: randomToken(passwordBytes),
    anonymous: randomToken(passwordBytes),
    claims: randomToken(passwordBytes),
  }
  return sealer.seal(JSON.stringify(logins), placeOf(id))
}

/** The passwords of a database. @throws Error when its data is purged. */
export function openLogins(sealer: Sealer, { id, sealedLogins }: Pick<Database, 'id' | 'sealedLogins'>): Logins {
  if (!sealedLogins) throw new Error('a database that is purged has no logins')
  return JSON.parse(sealer.open(sealedLogins, placeOf(id))) as Logins // sealed by sealNewLogins
}

function placeOf(id: string): string {
  return `databases.sealed_logins:${id}`
}

/** The statements for the whole server, to be run in the database `postgres`: roles, and who may connect. */
export async function serverSetup(sealer: Sealer, database: Database): Promise<string> {
  const { pgUser, pgDatabase } = database
  const logins = openLogins(sealer, database)
  const owner = quoteName(pgUser)
  const users = [
    { role: pgUser, password: logins.owner },
    { role: loginUsers.authenticated, password: logins.authenticated },
    { role: loginUsers.anonymous, password: logins.anonymous },
    { role: loginUsers.claims, password: logins.claims },
  ]
  const statements = [
    ...['anon', 'authenticated', 'berth_logins', ...users.map(({ role }) => role)].map(createRole),
    ...(await Promise.all(
      users.map(
        async ({ role, password }) =>
          `alter role ${quoteName(role)} with login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password ${quoteText(await makeVerifier(password))}`,
      ),
    )),
    ...users.map(({ role }) => `grant berth_logins to ${quoteName(role)} with admin false, inherit false, set false`),
    `grant anon, authenticated to ${owner} with admin false, inherit false, set true`,
    'grant authenticated to berth_authenticated with admin false, inherit true, set true',
    'grant anon to berth_anonymous with admin false, inherit true, set true',
    "alter role berth_authenticated set role = 'authenticated'",
    "alter role berth_anonymous set role = 'anon'",
    ...accessTo(pgDatabase, pgUser),
    ...settingsOf(database),
  ]
  return joined(statements)
}

/** Who owns a database of the server, and who may connect to it. */
function accessTo(name: string, owner: string): string[] {
  const users = [owner, ...Object.values(loginUsers)].map(quoteName).join(', ')
  return [
    `alter database ${quoteName(name)} owner to ${quoteName(owner)}`,
    `revoke all on database ${quoteName(name)} from public`,
    `grant connect on database ${quoteName(name)} to ${users}`,
  ]
}

/** Its settings; one that was taken away goes back to the server's own. */
function settingsOf({ pgDatabase, settings }: Database): string[] {
  return Object.entries(settings).map(([name, value]) =>
    value === null
      ? `alter database ${quoteName(pgDatabase)} reset ${quoteName(name)}`
      : `alter database ${quoteName(pgDatabase)} set ${quoteName(name)} to ${quoteText(value)}`,
  )
}

/**
 * The statements for the database itself. Policies read the claims of the client's token by `auth.claims()`: the row is
 * written by the proxy alone, while `request.jwt.claims` may be set by every client.
 */
export function databaseSetup({ pgUser }: Pick<Database, 'pgUser'>): string {
  return joined([
    `alter schema public owner to ${quoteName(pgUser)}`,
    'revoke create on schema public from public',
    'create schema if not exists auth authorization postgres',
    'grant usage on schema auth to public',
    'create unlogged table if not exists auth.sessions (process_id integer primary key, claims jsonb not null)',
    'alter table auth.sessions owner to postgres',
    `revoke all on auth.sessions from public, ${quoteName(pgUser)}, anon, authenticated`,
    'grant select (process_id), insert, update, delete on auth.sessions to berth_claims',
    `create or replace function auth.claims() returns jsonb language sql stable security definer set search_path = ''
      as $$ select claims from auth.sessions where process_id = pg_catalog.pg_backend_pid() $$`,
    `create or replace function auth.user_id() returns text language sql stable set search_path = ''
      as $$ select auth.claims() ->> 'sub' $$`,
    `create or replace function auth.role() returns text language sql stable set search_path = ''
      as $$ select current_user::text $$`,
    ...['claims', 'user_id', 'role'].map((name) => `alter function auth.${name}() owner to postgres`),
  ])
}

function createRole(name: string): string {
  return `do $$ begin if not exists (select from pg_catalog.pg_roles where rolname = ${quoteText(name)}) then create role ${quoteName(name)}; end if; end $$`
}

function joined(statements: readonly string[]): string {
  return statements.map((statement) => `${statement};\n`).join('')
}

/** A name in SQL. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
