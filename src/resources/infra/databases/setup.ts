/** What a database's server is given by Berth: roles, passwords, rights and settings. Running it again changes nothing. */
import { makeVerifier } from '#src/platform/secrets/scram-verifiers.ts'
import { randomToken } from '#src/platform/ids.ts'
import { sha256, type Sealer } from '#src/platform/secrets.ts'
import type { Database } from './rows.ts'
import { clientSettings, ownLoginParts, ownLoginSetup } from './own-logins.ts'
import { roleLoginParts, roleLoginSetup } from './roles.ts'
import { createRole, joinStatements, makeOrdinaryLogin, quoteName, quoteText } from './sql-text.ts'

/** With which passwords the proxy logs in to the server; a client never learns them. */
export type Logins = { owner: string; authenticated: string; anonymous: string; claims: string }

/** The users of every database as whom the proxy logs in, besides its owner; clients have roles of their own: see `own-logins.ts`. */
export const loginUsers = {
  authenticated: 'berth_authenticated',
  anonymous: 'berth_anonymous',
  claims: 'berth_claims',
} as const

/** What the owner of a database may do on its server, and its clients may not. Every owner is a member. */
export const ownersRole = 'berth_owners'

/** Functions that work on the sessions of others, or store what no table's rights limit. */
const ownersFunctions = [
  'pg_cancel_backend(integer)',
  'pg_terminate_backend(integer, bigint)',
  'lo_creat(integer)',
  'lo_create(oid)',
  'lo_from_bytea(oid, bytea)',
].map((name) => `pg_catalog.${name}`)

const passwordBytes = 32
/**
 * Many iterations make guesses at a password slow. Nobody guesses one of 32 random bytes; and a server repeats them for
 * each password that it is given, to find out whether it is empty.
 */
const iterations = 1

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

/** The statements for the whole server: roles, and who may connect. To be run where its owner can shut nobody out. */
export async function serverSetup(sealer: Sealer, database: Database): Promise<string> {
  const { pgUser, pgDatabase } = database
  const logins = openLogins(sealer, database)
  const users = [
    { role: pgUser, password: logins.owner },
    { role: loginUsers.authenticated, password: logins.authenticated },
    { role: loginUsers.anonymous, password: logins.anonymous },
    { role: loginUsers.claims, password: logins.claims },
  ]
  const statements = [
    ...['anon', 'authenticated', 'berth_logins', ownersRole, ...users.map(({ role }) => role)].map(createRole),
    ...(await Promise.all(
      users.map(
        async ({ role, password }) =>
          `${makeOrdinaryLogin(role)} password ${quoteText(await makeVerifier(password, iterations))}`,
      ),
    )),
    ...users.map(({ role }) => `grant berth_logins to ${quoteName(role)} with admin false, inherit false, set false`),
    ...rightsOfOwner(pgUser),
    ...powersOfOwner(pgUser),
    'grant authenticated to berth_authenticated with admin false, inherit true, set true',
    'grant anon to berth_anonymous with admin false, inherit true, set true',
    ...settingsOfClients(pgDatabase),
    ...accessTo(pgDatabase, pgUser),
    ...settingsOf(database),
  ]
  return joinStatements(statements)
}

/** A client may change the settings and the password of its own role, which is also that of others: they are set anew. */
function settingsOfClients(pgDatabase: string): string[] {
  return (['authenticated', 'anonymous'] as const).flatMap((kind) => {
    const role = quoteName(loginUsers[kind])
    return [
      `alter role ${role} reset all`,
      `alter role ${role} in database ${quoteName(pgDatabase)} reset all`,
      ...clientSettings[kind].map((setting) => {
        const [name = '', value = ''] = setting.split('=')
        return `alter role ${role} set ${quoteName(name)} to ${quoteText(value)}`
      }),
    ]
  })
}

/**
 * What an owner may do besides: act as the clients of its database, to test its policies, call what clients may not, and see
 * what the server counts and what it is asked, as in `pg_stat_statements`.
 */
export function rightsOfOwner(owner: string): string[] {
  return [
    `grant anon, authenticated to ${quoteName(owner)} with admin false, inherit false, set true`,
    `grant ${ownersRole}, pg_read_all_stats to ${quoteName(owner)} with admin false, inherit true, set false`,
  ]
}

/**
 * With these an owner makes roles and databases. Since Postgres 16 that is no way to more than it has: it administers the roles
 * that it has made and no others, and gives them no attribute and no membership that it lacks. Programs that make databases
 * (Rails, Django) connect to `postgres` for that, where an owner may do nothing else.
 */
export function powersOfOwner(owner: string): string[] {
  return [
    `alter role ${quoteName(owner)} with createdb createrole`,
    `grant connect on database postgres to ${quoteName(owner)}`,
  ]
}

/** Who owns a database of the server, and who may connect to it. */
function accessTo(name: string, owner: string): string[] {
  const users = [owner, ...Object.values(loginUsers)].map(quoteName).join(', ')
  return [
    `alter database ${quoteName(name)} with allow_connections true connection limit -1 is_template false`,
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
export function databaseSetup(database: Pick<Database, 'pgUser'>): string {
  return joinStatements([
    ...statementsInside(database),
    `comment on role ${loginUsers.claims} is ${quoteText(setupMark)}`, // the last one: then all is done
  ])
}

function statementsInside({ pgUser }: Pick<Database, 'pgUser'>): string[] {
  return [
    // Its owner may have dropped it.
    `do $$ begin if exists (select from pg_catalog.pg_namespace where nspname = 'public') then
      alter schema public owner to ${quoteName(pgUser)}; revoke create on schema public from public; end if; end $$`,
    `revoke execute on function ${ownersFunctions.join(', ')} from public`,
    `grant execute on function ${ownersFunctions.join(', ')} to ${ownersRole}`,
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
    ...ownLoginSetup,
    ...roleLoginSetup,
    ownParts,
  ]
}

/**
 * What Berth has made, or given other rights, counts as a part of the language that every database has: then no dump
 * contains it, and owners can dump their databases without the right to read claims. Newer versions have more parts.
 */
const parts = [
  'schema auth',
  'table auth.sessions',
  ...['auth.claims()', 'auth.user_id()', 'auth.role()', ...ownersFunctions].map((name) => `function ${name}`),
  ...ownLoginParts,
  ...roleLoginParts,
]
const ownParts = `do $$ declare part text; begin
    foreach part in array array[${parts.map(quoteText).join(', ')}] loop
      begin
        execute 'alter extension plpgsql add ' || part;
      exception when object_not_in_prerequisite_state then null; -- it is one already
      end;
    end loop;
  end $$`

/** What a server bears that was set up by these very statements; where it bears another mark it is set up again. */
export const setupMark = `set up by ${sha256(
  joinStatements([...statementsInside({ pgUser: '' }), ...rightsOfOwner(''), ...powersOfOwner('')]),
)
  .toString('hex')
  .slice(0, 16)}`
