-- Organizations that people make, and invitations to them: a link that one person accepts.

alter table organizations add column created_by uuid references users;
create index organizations_created_by on organizations (created_by);

create table invitations (
  id uuid primary key,
  organization_id uuid not null references organizations,
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  note text check (length(note) <= 255),
  secret_sha256 bytea not null unique check (length(secret_sha256) = 32),
  created_by uuid not null references users,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  accepted_at timestamptz,
  accepted_by uuid references users
);
create index invitations_organization on invitations (organization_id, id desc);
create index invitations_created_by on invitations (created_by);
create index invitations_accepted_by on invitations (accepted_by);
call declare_organization_events('invitations', 'Invitation', '{accepted_at}');
