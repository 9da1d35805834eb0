-- What every database has from the beginning. Roles with a login have no password yet, so nobody gets in with them.
create role anon nologin;
create role authenticated nologin;
create role berth_logins nologin;
create role berth_authenticated login;
create role berth_anonymous login;
create role berth_claims login;
grant berth_logins to berth_authenticated, berth_anonymous, berth_claims with admin false, inherit false, set false;
create database app;
revoke all on database app, postgres, template1 from public;
\connect app
revoke create on schema public from public;
create schema auth;
grant usage on schema auth to public;
create unlogged table auth.sessions (process_id integer primary key, claims jsonb not null);
grant select (process_id), insert, update, delete on auth.sessions to berth_claims;
create function auth.claims() returns jsonb language sql stable security definer set search_path = ''
  as $$ select claims from auth.sessions where process_id = pg_catalog.pg_backend_pid() $$;
create function auth.user_id() returns text language sql stable set search_path = ''
  as $$ select auth.claims() ->> 'sub' $$;
create function auth.role() returns text language sql stable set search_path = ''
  as $$ select current_user::text $$;
checkpoint;
