-- An agent's name in a column of its own, so that a search does not read whole definitions, which may have a megabyte each.

set local lock_timeout = '10s'; -- both tables are locked, and agents are written again

alter table agents add column name text generated always as (left(definition ->> 'name', 255)) stored check (length(name) <= 255);

-- Invitations that are sent by e-mail. The secret of the link is kept only until it is sent.

alter table invitations
  add column email text check (length(email) <= 254),
  add column mail_status text check (mail_status in ('pending', 'sent', 'failed')), -- null: not to be sent
  add column mail_reason text check (length(mail_reason) <= 500), -- why it was not sent at the last attempt
  add column mail_attempts integer not null default 0,
  add column sealed_secret bytea check (length(sealed_secret) <= 255),
  add constraint invitations_secret_until_sent check (sealed_secret is null or mail_status is not distinct from 'pending');

call declare_organization_events('invitations', 'Invitation', '{accepted_at,mail_status,mail_reason}');
