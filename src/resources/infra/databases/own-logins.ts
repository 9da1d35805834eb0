/**
 * The roles as which clients who are not the owner log in to the server. A role may always change its own password and
 * settings, whatever its rights are. So each connection has a role for itself, which is put right before anybody logs in with
 * it: what a client changes of its role is nobody else's.
 */
import { quoteText, renameOwnersOwn } from './sql-text.ts'

/** Kinds of clients, as they are named on the server. */
export type OwnLoginKind = 'authenticated' | 'anonymous'

/**
 * The settings with which sessions of clients begin, as Postgres stores them. What a session says is not shown to others
 * of its role, who are other people; and all of them together leave room for temporary files of the owner.
 */
export const clientSettings: Readonly<Record<OwnLoginKind, readonly string[]>> = {
  authenticated: ['role=authenticated', 'track_activities=off', 'temp_file_limit=32MB'],
  anonymous: ['role=anon', 'track_activities=off', 'temp_file_limit=32MB'],
}

/** As whom a client of this kind logs in. @param number of its kind, from 0 */
export function ownLoginOf(kind: OwnLoginKind, number: number): string {
  return `berth_${kind}_${number}`
}

/** Asks the server to put such a role right, as `berth_claims`: $1 is the kind, $2 the number. */
export const prepareOwnLogin = 'select auth.prepare_login($1, $2::pg_catalog.int4)'

/** Whether a session that has just begun has begun with these settings: $1, joined by commas, and no others of its role. */
export const hasOwnSettings = `select (
    select pg_catalog.string_agg(pg_catalog.array_to_string(setconfig, ','), ';') from pg_catalog.pg_db_role_setting
    where setrole operator(pg_catalog.=) (
      select oid from pg_catalog.pg_roles where rolname operator(pg_catalog.=) session_user)
  ) operator(pg_catalog.=) $1::pg_catalog.text`

const settingsArray = (kind: OwnLoginKind): string => `array[${clientSettings[kind].map(quoteText).join(', ')}]`

/** Each password is that of the role without a number, which nobody is. */
const prepareFunction = `create or replace function auth.prepare_login(kind text, number integer) returns void
  language plpgsql security definer set search_path = '' as $berth$
  declare
    login text := 'berth_' || kind || '_' || number;
    rights text := case kind when 'anonymous' then 'anon' else 'authenticated' end;
    settings text[] := case kind when 'anonymous' then ${settingsArray('anonymous')} else ${settingsArray('authenticated')} end;
    shared record;
    own record;
  begin
    if kind not in ('anonymous', 'authenticated') or number not between 0 and 999 then raise 'no such login'; end if;
    ${renameOwnersOwn('login')}
    select rolpassword into shared from pg_authid where rolname = 'berth_' || kind;
    if not exists (select from pg_authid where rolname = login) then
      execute format('create role %I', login);
      execute format('grant berth_logins to %I with admin false, inherit false, set false', login);
      execute format('grant %I to %I with admin false, inherit true, set true', rights, login);
    end if;
    select * into own from pg_authid where rolname = login;
    if own.rolpassword is distinct from shared.rolpassword or not own.rolcanlogin or own.rolconnlimit <> 1 then
      execute format('alter role %I with login connection limit 1 password %L', login, shared.rolpassword);
    end if;
    if not has_database_privilege(own.oid, current_database(), 'connect') then
      execute format('grant connect on database %I to %I', current_database(), login);
    end if;
    if (select string_agg(array_to_string(setconfig, ','), ';') from pg_db_role_setting where setrole = own.oid)
      is distinct from array_to_string(settings, ',') then
      delete from pg_db_role_setting where setrole = own.oid;
      insert into pg_db_role_setting (setdatabase, setrole, setconfig) values (0, own.oid, settings);
    end if;
  end $berth$`

/** A role may give away all rights that it was given, and all clients of a kind share one. */
const refusal = `create or replace function auth.refuse_strangers() returns event_trigger language plpgsql set search_path = '' as $berth$
  begin
    if session_user like any (array['berth_authenticated%', 'berth_anonymous%']) then
      raise insufficient_privilege using message =
        format('%s changes what all clients of this database share: only its owner may do it', lower(tg_tag));
    end if;
  end $berth$`

const trigger = `do $$ begin if not exists (select from pg_catalog.pg_event_trigger where evtname = 'berth_strangers') then
    create event trigger berth_strangers on ddl_command_start when tag in ('DROP OWNED', 'ALTER DEFAULT PRIVILEGES')
      execute function auth.refuse_strangers();
  end if; end $$`

/** What makes all of that, in the database itself. */
export const ownLoginSetup: readonly string[] = [
  prepareFunction,
  'revoke all on function auth.prepare_login(text, integer) from public',
  'grant execute on function auth.prepare_login(text, integer) to berth_claims',
  refusal,
  trigger,
]

/** What it has made, as `alter extension` names it. */
export const ownLoginParts = [
  'function auth.prepare_login(text, integer)',
  'function auth.refuse_strangers()',
  'event trigger berth_strangers',
]
