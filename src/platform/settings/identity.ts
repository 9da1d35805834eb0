/** Settings of who is let in: identity providers, signing in at this machine, and what people may make. */
import { isLoopback, optional, setting } from './entries.ts'
import { issuers } from './issuers.ts'
import { count, mailFrom, onOff, smtpUrl, text } from './readers.ts'

const usualOrganizations = 5
const usualAuditDays = 400
const auditDaysMax = 36_500

/** In the order of the table. */
export const identitySettings = {
  issuers: setting(
    'BERTH_ISSUERS',
    issuers,
    [],
    'other identity providers: `[{"issuer", "jwks_uri", "audience"}]`, and those of [sign-in](docs/reference/sign-in.md)',
  ),
  organizationsPerPerson: setting(
    'BERTH_ORGANIZATIONS_PER_PERSON',
    count('how many organizations one person may make, or 0 for none'),
    ({ issuers }) => (issuers.length === 0 ? usualOrganizations : 0),
    'organizations that one person may make, each with its own quotas; with `0` only the operator makes them',
    '`5`; `0` with `BERTH_ISSUERS`',
  ),
  auditDays: setting(
    'BERTH_AUDIT_DAYS',
    count('how many days audit events are kept, 1 to 36500', 1, auditDaysMax),
    usualAuditDays,
    'how many days audit events are kept: who did what',
  ),
  smtpUrl: optional(
    'BERTH_SMTP_URL',
    smtpUrl,
    'the mail server that sends invitations: `smtp://user:password@host:587`, or `smtps://` for TLS from the start. A login goes over TLS only',
    'none: links are shown, not sent',
  ),
  smtpFrom: optional(
    'BERTH_SMTP_FROM',
    mailFrom,
    'the address that they are from, alone or as `Name <address>`',
    '`berth@` and the host of `BERTH_PUBLIC_URL`',
  ),
  builtInIssuer: setting('BERTH_BUILT_IN_ISSUER', onOff, true, 'whether Berth signs tokens itself'),
  localSignIn: setting(
    'BERTH_LOCAL_SIGN_IN',
    onOff,
    ({ builtInIssuer, host }) => builtInIssuer && isLoopback(host),
    'whether GraphiQL may mint a token for the user of this machine who started Berth, or for whoever has the code that the start printed',
    '`on` while listening on loopback',
  ),
  audience: setting(
    'BERTH_AUDIENCE',
    text('the audience that tokens must name'),
    'berth',
    'the audience that tokens must name',
  ),
  hs256Secret: optional(
    'BERTH_JWT_HS256_SECRET',
    text('at least 32 characters', 32),
    'development only: accept tokens signed with this secret',
  ),
}
