/** Invitations to an organization: a link with a secret, which one person accepts. */
import { allow, owned } from '#src/platform/access.ts'
import { findPerson } from '#src/platform/access/callers.ts'
import { isAtLeast, type Role } from '#src/platform/access/permissions.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { isToken, newUuid, randomToken } from '#src/platform/ids.ts'
import { changeInBatches } from '#src/platform/jobs/batches.ts'
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { readsOf } from '#src/platform/nouns.ts'
import { change, findOne, getOne, noticesSent, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { sha256 } from '#src/platform/secrets.ts'
import type { Call } from '#src/platform/services.ts'
import { invitationLimits } from './invitations/limits.ts'
import { linkOf, mailInvitation, readEmail, secretPlace } from './invitations/mails.ts'
import { columns, invitations, isOpen, isStillMeant, type Invitation } from './invitations/rows.ts'
import { addMembership, setRole } from './memberships.ts'
import type { Organization } from './organizations.ts'

const forgottenAtOnce = 1_000

/** How callers read invitations; accepted and expired ones are not listed. */
export const invitationReads = readsOf(invitations, { may: 'members:write', whose: owned, listed: () => isOpen })

/**
 * Invites somebody to the caller's organization, by e-mail when an address is given.
 * @returns the link, which is shown this once.
 * @throws BerthError not_permitted_for_role for an owner when the caller is not one; invalid_request; rate_limited when too many
 * are open, or too many are sent.
 */
export async function createInvitation(
  call: Call,
  { role, note, email: givenEmail }: { role: Role; note?: string | null; email?: string | null },
): Promise<{ invitation: Invitation; url: string }> {
  const { organizationId, userId, role: own } = allow(call.caller, 'members:write')
  if (role === 'owner' && own !== 'owner')
    throw new BerthError('not_permitted_for_role', 'Only an owner may invite an owner. Ask one of them.')
  const email = readEmail(call.config, givenEmail)
  const mailed = email !== null
  if (mailed) await call.limiter.spend(`invitation-mails:${organizationId}`, invitationLimits.mailsPerMinute)
  const [id, secret] = [newUuid(), randomToken()]
  const invitation = await transaction(call.db, async (tx) => {
    await checkCount(tx, organizationId, {
      rows: sql`invitations where organization_id = ${organizationId} and ${isOpen}`,
      nouns: 'open invitations',
      most: invitationLimits.openMax,
      advice: 'Revoke one that is not needed',
    })
    if (mailed) await call.jobs.enqueue(tx, mailInvitation, { invitationId: id })
    return getOne<Invitation>(
      tx,
      sql`
      insert into invitations (id, organization_id, role, note, secret_sha256, created_by, expires_at, email, mail_status, sealed_secret)
      values (${id}, ${organizationId}, ${role}, ${readNote(note)}, ${sha256(secret)}, ${userId},
        now() + ${invitationLimits.validDays} * interval '1 day', ${email}, ${mailed ? 'pending' : null},
        ${mailed ? call.sealer.seal(secret, secretPlace(id)) : null}) returning ${columns}`,
    )
  })
  return { invitation, url: linkOf(call.config, secret) }
}

function readNote(note: string | null | undefined): string | null {
  const text = note?.trim() ?? ''
  if (text.length > invitationLimits.noteLength || text.includes('\0') || !text.isWellFormed())
    throw new BerthError('invalid_request', `note has at most ${invitationLimits.noteLength} characters.`, {
      field: 'note',
    })
  return text === '' ? null : text
}

/** Takes back an invitation that nobody has accepted yet. @throws BerthError not_found. */
export async function revokeInvitation(call: Call, publicId: string): Promise<Invitation> {
  const scope = allow(call.caller, 'members:write')
  return invitations.locked(call.db, publicId, sql`${owned(scope)} and accepted_at is null`, async (tx, before) => {
    await change(tx, sql`delete from invitations where id = ${before.id}`)
    return before
  })
}

/** Ends the invitations that a person made and nobody has accepted, when they leave the organization. */
export async function endInvitationsOf(tx: Tx, organizationId: string, userId: string): Promise<void> {
  await change(
    tx,
    sql`delete from invitations where organization_id = ${organizationId} and created_by = ${userId} and accepted_at is null`,
  )
}

/**
 * Accepts an invitation: the caller becomes a member with its role. One that they have already is raised, never lowered.
 * Accepting it again changes nothing.
 * @param link the whole link, or the secret at its end.
 * @returns the organization.
 * @throws BerthError forbidden for anybody but a person; not_found for one that is unknown, revoked, expired, was accepted by
 * somebody else, or whose maker may not invite any more.
 */
export async function acceptInvitation(call: Call, link: string): Promise<Organization> {
  const userId = findPerson(call.caller)
  if (userId === null)
    throw new BerthError('forbidden', 'Only a person accepts an invitation. Sign in, or use your own token.')
  const secret = link.trim().replace(/^.*#/s, '')
  if (!isToken(secret)) throw notFound('invitation')
  const organization = await transaction(call.db, async (tx) => {
    const found = await findOne<Invitation>(
      tx,
      sql`
      select ${columns} from invitations
      where secret_sha256 = ${sha256(secret)}
        and ((accepted_at is null and expires_at > now() and ${isStillMeant}) or accepted_by = ${userId})
      for no key update`,
    )
    if (!found) throw notFound('invitation')
    if (found.acceptedBy === null) {
      await join(tx, found, userId)
      await change(
        tx,
        sql`
        update invitations set accepted_at = now(), accepted_by = ${userId}, mail_status = nullif(mail_status, 'pending'), sealed_secret = null
        where id = ${found.id}`,
      )
    } else if (!(await lockMembership(tx, found.organizationId, userId))) throw notFound('invitation') // who has left meanwhile
    return getOne<Organization>(
      tx,
      sql`select id, name, created_at from organizations where id = ${found.organizationId}`,
    )
  })
  await noticesSent(call.db)
  return organization
}

async function join(tx: Tx, { organizationId, role }: Invitation, userId: string): Promise<void> {
  await addMembership(tx, { organizationId, userId, role })
  const held = await lockMembership(tx, organizationId, userId) // it may have been there, also since a moment
  if (held && !isAtLeast(held.role, role)) await setRole(tx, held.id, role)
}

function lockMembership(
  tx: Tx,
  organizationId: string,
  userId: string,
): Promise<Pick<Row<'memberships', { role: Role }>, 'id' | 'role'> | undefined> {
  return findOne(
    tx,
    sql`
    select id, role from memberships
    where organization_id = ${organizationId} and user_id = ${userId} and deactivated_at is null for no key update`,
  )
}

/** How long invitations stay. */
export const invitationRetention: readonly Retention[] = [
  {
    what: 'Invitations',
    until: `${invitationLimits.keptDays} days after they expired`,
    forget: ({ db }) =>
      changeInBatches(
        db,
        forgottenAtOnce,
        sql`
        delete from invitations where id in (
          select id from invitations where expires_at < now() - ${invitationLimits.keptDays} * interval '1 day' limit ${forgottenAtOnce})`,
      ),
  },
]
