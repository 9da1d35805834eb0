/** Statements for the server of a database, as text: what setting one up and restoring one have in common. */

/** A statement that makes a role of Berth's, unless it is there; one of the owner's that has its name gets another. */
export function createRole(name: string): string {
  return `do $$ begin
    ${renameOwnersOwn(quoteText(name))}
    if not exists (select from pg_catalog.pg_roles where rolname = ${quoteText(name)}) then create role ${quoteName(name)}; end if;
  end $$`
}

/**
 * The condition for a role `r` of `pg_roles` or `pg_authid` that somebody else than Berth has made: Postgres gives whoever makes
 * a role the right to administer it, and lets nobody but a superuser take that away; and Berth gives it to nobody.
 */
export const isOwnersOwn = `not r.rolsuper and exists (
  select from pg_catalog.pg_auth_members made where made.roleid operator(pg_catalog.=) r.oid and made.admin_option)`

/** Lines of PL/pgSQL that give such a role another name, which nobody can have taken, or it would pass for Berth's. @param name an expression for the name */
export function renameOwnersOwn(name: string): string {
  return `if exists (select from pg_catalog.pg_roles r where r.rolname = ${name} and ${isOwnersOwn}) then
      execute pg_catalog.format('alter role %I rename to %I', ${name}, 'renamed_' || pg_catalog.gen_random_uuid());
    end if;`
}

/** A statement that lets a role log in, and takes every power over the server from it. A password may follow. */
export function makeOrdinaryLogin(role: string): string {
  return `alter role ${quoteName(role)} with login nosuperuser nocreatedb nocreaterole noreplication nobypassrls connection limit -1 valid until 'infinity'`
}

/** Statements as one text. */
export function joinStatements(statements: readonly string[]): string {
  return statements.map((statement) => `${statement};\n`).join('')
}

/** A name in SQL. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A text in SQL. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
