/** People as identity providers know them: who signs in for the first time becomes a person of Berth, with no membership yet. */
import { change, findOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import { makePersonNamed, setEmail } from './joining.ts'

/** A person in the words of their identity provider: `names`, the best one first, and an e-mail that it has verified. */
export type Identity = { issuer: string; subject: string; names: readonly string[]; email: string | null }

/** The most that is stored of a subject. Unit: characters. */
export const subjectLength = 255

/**
 * The person of an identity, made at their first sign-in. Their name is theirs alone: a person of that name who is here already
 * is somebody else, and the new one gets a number behind it.
 * @returns the person's stored id.
 */
export async function findOrMakePerson(db: Db, identity: Identity): Promise<string> {
  const { issuer, subject, email } = identity
  return transaction(db, async (tx) => {
    await change(tx, sql`select pg_advisory_xact_lock(hashtextextended(${`identity ${issuer} ${subject}`}, 0))`) // two sign-ins at once
    const known = await findOne<{ userId: string }>(
      tx,
      sql`update identities set signed_in_at = now() where issuer = ${issuer} and subject = ${subject} returning user_id`,
    )
    const userId = known?.userId ?? (await makePersonNamed(tx, identity.names))
    if (!known)
      await change(tx, sql`insert into identities (issuer, subject, user_id) values (${issuer}, ${subject}, ${userId})`)
    if (email !== null) await setEmail(tx, userId, email)
    return userId
  })
}
