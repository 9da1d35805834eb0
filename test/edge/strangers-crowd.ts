/** What strangers try in a database that takes them, one after the other: on its roles, its settings, and its door. */
import type pg from 'pg'

/** A way in: a client that connects, with these options of node-postgres. */
export type Enter = (options: { user: string; password: string }) => Promise<pg.Client>

/** Statements of somebody without the token, most of which fail. */
export const strangersStatements: readonly string[] = [
  'alter role nobody_there set work_mem = 1024',
  'alter database app set work_mem = 1024',
  'alter database app connection limit 0',
  'alter system set work_mem = 1024',
  'set role none',
  "alter role current_user password 'x'",
  'alter role current_user set statement_timeout = 1',
  "alter role current_user in database app set search_path = 'nowhere'",
  'alter role current_user reset all',
  'drop owned by current_user',
  'alter default privileges grant all on tables to public',
  'revoke connect on database app from current_user',
  'create role another',
  'grant anon to current_user',
  'drop role current_user',
  'reset role',
  "select set_config('request.jwt.claims', '{}', false)",
  'select count(*) from shared',
]

/**
 * One stranger's round: all statements on one connection, then a login with a wrong password.
 * @param owner the name of the database's owner.
 * @returns how many logins of its own failed, which should not
 */
export async function tryAll(enter: Enter, owner: string, between: () => Promise<void>): Promise<number> {
  let client: pg.Client
  try {
    client = await enter({ user: 'anon', password: '' })
  } catch {
    return 1
  }
  for (const text of strangersStatements) {
    await client.query(text).catch(() => undefined)
    await between()
  }
  await client.end().catch(() => undefined)
  await enter({ user: owner, password: 'wrong' }).then(
    (wrong) => wrong.end(),
    () => undefined, // as it should
  )
  return 0
}
