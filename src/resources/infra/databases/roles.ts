/**
 * Roles that the owner of a database makes on its server (`CREATE ROLE`), and those whom they make. They log in through the
 * proxy, which reads their verifiers from the server, or while that sleeps from what is stored here; and backups have them.
 */
import { change, findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import type { Services } from '#src/platform/services.ts'
import { databaseRoleLimits } from './limits.ts'
import { isOwnersOwn, quoteText } from './sql-text.ts'

/** A role as the server has it. `mayUse`: its privileges for the database itself; `settings`: `name=value`, as Postgres stores them. */
export type OwnersRole = {
  name: string
  canLogin: boolean
  inherits: boolean
  createsDatabases: boolean
  createsRoles: boolean
  connectionsMax: number
  validUntil: string | null
  verifier: string | null
  memberOf: { name: string; admin: boolean; inherit: boolean; set: boolean }[]
  settings: string[]
  mayUse: string[]
}

/** A verifier that the proxy can read. */
const isVerifier = String.raw`r.rolpassword operator(pg_catalog.~) '^SCRAM-SHA-256\$[1-9][0-9]{0,5}:[A-Za-z0-9+/=]{1,200}\$[A-Za-z0-9+/=]{44}:[A-Za-z0-9+/=]{44}$'`

/** Asks the server's database `postgres`, as its superuser, for these roles: each in JSON, on a line. One more than may be is asked for. */
export function askForRoles(pgDatabase: string): string {
  return `select pg_catalog.json_build_object('name', r.rolname, 'canLogin', r.rolcanlogin, 'inherits', r.rolinherit,
      'createsDatabases', r.rolcreatedb, 'createsRoles', r.rolcreaterole, 'connectionsMax', r.rolconnlimit,
      'validUntil', r.rolvaliduntil, 'verifier', case when ${isVerifier} then r.rolpassword end,
      'memberOf', coalesce((select pg_catalog.json_agg(pg_catalog.json_build_object('name', o.rolname,
          'admin', m.admin_option, 'inherit', m.inherit_option, 'set', m.set_option))
        from pg_catalog.pg_auth_members m join pg_catalog.pg_roles o on o.oid = m.roleid
        where m.member = r.oid and o.rolname <> 'berth_logins'), '[]'),
      'settings', coalesce((select pg_catalog.array_to_json(s.setconfig) from pg_catalog.pg_db_role_setting s
        where s.setrole = r.oid and s.setdatabase = 0), '[]'),
      'mayUse', coalesce((select pg_catalog.json_agg(a.privilege_type)
        from pg_catalog.pg_database d, pg_catalog.aclexplode(d.datacl) a
        where d.datname = ${quoteText(pgDatabase)} and a.grantee = r.oid), '[]'))
    from pg_catalog.pg_authid r where ${isOwnersOwn} order by r.oid limit ${databaseRoleLimits.databaseRolesMax + 1}`
}

/** What the server has answered to that. */
export function readRoles(printed: string): OwnersRole[] {
  return printed
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as OwnersRole) // as askForRoles makes it
    .filter(({ name }) => mayBeOwners(name))
}

/** Whether there are more roles than may be, or than there is room for. */
export function areTooManyRoles(roles: readonly OwnersRole[]): boolean {
  return (
    roles.length > databaseRoleLimits.databaseRolesMax ||
    Buffer.byteLength(JSON.stringify(roles)) > databaseRoleLimits.databaseRolesBytes
  )
}

/** Stores what the server has now, for the time that it sleeps; too many are not stored. */
export async function storeRoles(
  { db, sealer }: Pick<Services, 'db' | 'sealer'>,
  databaseId: string,
  roles: readonly OwnersRole[],
): Promise<void> {
  const wanted = areTooManyRoles(roles) ? [] : roles
  if (JSON.stringify(wanted) === JSON.stringify(await findStoredRoles({ db, sealer }, databaseId))) return
  if (wanted.length === 0) return forgetRoles(db, databaseId)
  const sealed = sealer.seal(JSON.stringify(wanted), placeOf(databaseId))
  await change(
    db,
    sql`insert into database_roles (database_id, sealed) values (${databaseId}, ${sealed})
      on conflict (database_id) do update set sealed = excluded.sealed`,
  )
}

/** Forgets what is stored of a database. */
export async function forgetRoles(db: Db, databaseId: string): Promise<void> {
  await change(db, sql`delete from database_roles where database_id = ${databaseId}`)
}

/** The roles as the server was last seen with them. */
export async function findStoredRoles(
  { db, sealer }: { db: Db; sealer: Sealer },
  databaseId: string,
): Promise<OwnersRole[]> {
  const found = await findOne<{ sealed: Buffer }>(
    db,
    sql`select sealed from database_roles where database_id = ${databaseId}`,
  )
  return found ? (JSON.parse(sealer.open(found.sealed, placeOf(databaseId))) as OwnersRole[]) : [] // sealed by storeRoles
}

function placeOf(databaseId: string): string {
  return `database_roles.sealed:${databaseId}`
}

/** Whether the database's server runs, so that it can be asked without waking it. */
export async function isAwake(db: Db, databaseId: string): Promise<boolean> {
  const found = await findOne(
    db,
    sql`select 1 from databases d join vms v on v.id = d.vm_id where d.id = ${databaseId} and v.status = 'running'`,
  )
  return found !== undefined
}

/** Asks the server, as `berth_claims`, for the verifier of such a role, $1, and makes it one that may log in; null where there is none. */
export const askForVerifier = 'select auth.role_login($1)'

/** The function that answers. Who proves to know the password is let in by the server, too, which takes members of `berth_logins` only. */
export const roleLoginSetup: readonly string[] = [
  `create or replace function auth.role_login(wanted text) returns text
  language plpgsql security definer set search_path = '' as $berth$
  declare
    one record;
  begin
    select r.oid, r.rolpassword into one from pg_catalog.pg_authid r
      where r.rolname = wanted and r.rolcanlogin and ${isVerifier} and ${isOwnersOwn};
    if not found then return null; end if;
    if not exists (select from pg_catalog.pg_auth_members m join pg_catalog.pg_roles o on o.oid = m.roleid
        where o.rolname = 'berth_logins' and m.member = one.oid) then
      execute format('grant berth_logins to %I with admin false, inherit false, set false', wanted);
    end if;
    return one.rolpassword;
  end $berth$`,
  'revoke all on function auth.role_login(text) from public',
  'grant execute on function auth.role_login(text) to berth_claims',
]

/** What it has made, as `alter extension` names it. */
export const roleLoginParts = ['function auth.role_login(text)'] as const

/** Names that no role of an owner's may have, because Berth gives them to roles of its own. */
const reserved = /^(?:berth_.*|pg_.*|app_[0-9a-z]{6}|postgres|anon|authenticated)$/

/** Whether a role of this name may be an owner's. */
export function mayBeOwners(name: string): boolean {
  return name !== '' && name.length <= nameLengthMax && !reserved.test(name)
}
/** Postgres has no longer ones. */
const nameLengthMax = 63

/** Whether a name is that of a database's owner, as it is given to each. */
export function isOwnersName(name: string): boolean {
  return /^app_[0-9a-z]{6}$/.test(name)
}
