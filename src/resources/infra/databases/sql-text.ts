/** Statements for the server of a database, as text: what setting one up and restoring one have in common. */

/** A statement that makes a role, unless it is there. */
export function createRole(name: string): string {
  return `do $$ begin if not exists (select from pg_catalog.pg_roles where rolname = ${quoteText(name)}) then create role ${quoteName(name)}; end if; end $$`
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
