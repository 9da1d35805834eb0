/** Authorizations that a person has begun: their state comes back through the browser, and is good once, and for them alone. */
import { BerthError } from '#src/platform/errors.ts'
import { randomToken } from '#src/platform/ids.ts'
import { codeHostLimits } from '#src/platform/limits/code-host.ts'
import { change, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import { sha256 } from '#src/platform/secrets.ts'

const stateBytes = 32

/** Begins one. @returns its state, and when it ends. */
export async function beginAuthorization(tx: Tx, userId: string): Promise<{ state: string; expiresAt: string }> {
  const state = randomToken(stateBytes)
  await change(tx, sql`select 1 from users where id = ${userId} for no key update`) // so that the count below is exact
  await change(
    tx,
    sql`
    delete from code_host_states where user_id = ${userId} and (expires_at < now() or digest not in (
      select digest from code_host_states where user_id = ${userId} order by expires_at desc limit ${codeHostLimits.statesPerUserMax - 1}))`,
  )
  const { expiresAt } = await getOne<{ expiresAt: string }>(
    tx,
    sql`
    insert into code_host_states (digest, user_id, expires_at)
    values (${sha256(state)}, ${userId}, now() + ${codeHostLimits.stateSeconds}::int * interval '1 second') returning expires_at`,
  )
  return { state, expiresAt }
}

/** Uses a state up. @throws BerthError invalid_code when it is not one of this person's that is still good. */
export async function endAuthorization(db: Db, userId: string, state: string): Promise<void> {
  const used = /^[\w-]{43}$/.test(state)
    ? await change(
        db,
        sql`delete from code_host_states where digest = ${sha256(state)} and user_id = ${userId} and expires_at > now()`,
      )
    : 0
  if (used === 0)
    throw new BerthError(
      'invalid_code',
      'state belongs to no authorization that you began: it was used before, is older than ten minutes, or is somebody else’s. Begin again.',
      { field: 'state' },
    )
}
