/** The rows of invitations. */
import { rowsOf } from '#src/platform/nouns.ts'
import type { Role } from '#src/platform/access/permissions.ts'
import { sql } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** Whether an invitation was sent by e-mail; it is pending until then, as long as it is tried. */
export type MailStatus = 'pending' | 'sent' | 'failed'

type Stored = Row<'invitations', { role: Role; mailStatus: MailStatus | null }>
/** An invitation as it is shown, without its secret; ids are uuids. */
export type Invitation = Omit<Stored, 'secretSha256' | 'sealedSecret' | 'mailAttempts'>

/** The columns of one. */
export const columns = sql`id, organization_id, role, note, email, mail_status, mail_reason, created_by, created_at, expires_at,
  accepted_at, accepted_by`

/** How they are found. */
export const invitations = rowsOf<Invitation>('invitation', 'invitations', 'invitation', columns)

/** Whether it can be accepted. */
export const isOpen = sql`accepted_at is null and expires_at > now()`

/** Whether whoever made an invitation may still make it. */
export const isStillMeant = sql`exists (
  select from memberships m join organizations o on o.id = m.organization_id
  where m.organization_id = invitations.organization_id and m.user_id = invitations.created_by
    and m.deactivated_at is null and o.deactivated_at is null
    and (m.role = 'owner' or (m.role = 'admin' and invitations.role <> 'owner')))`
