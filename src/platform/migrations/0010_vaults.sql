-- Vaults: a person's credentials for agents. Secrets are sealed, bound to their row, and gone once archived.

create table vaults (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid not null references users (id),
  display_name text not null check (length(display_name) between 1 and 255),
  metadata jsonb not null default '{}',
  event_position bigint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  archived_at timestamptz
);
create index vaults_owner on vaults (organization_id, owner_user_id, id desc);
create index vaults_owner_user on vaults (owner_user_id);

create table vault_credentials (
  id uuid primary key,
  vault_id uuid not null references vaults (id) on delete cascade,
  display_name text check (length(display_name) between 1 and 255),
  auth jsonb not null,                      -- what may be shown of it, as callers see it
  key_kind text not null check (key_kind in ('mcp_server_url', 'secret_name')),
  key text not null,                        -- the server's address in its normal form, or the variable's name
  sealed_secrets bytea,
  token_generation integer not null default 1, -- grows with every change of the tokens
  refused_generation integer,               -- whose refresh token the authorization server refused for good
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  archived_at timestamptz,
  check ((archived_at is null) = (sealed_secrets is not null))
);
create index vault_credentials_vault on vault_credentials (vault_id, id desc);
create unique index vault_credentials_key on vault_credentials (vault_id, key_kind, key) where archived_at is null;

create table vault_events (
  vault_id uuid not null references vaults (id) on delete cascade,
  position bigint not null,
  type text not null,
  credential_id uuid,                       -- may be gone by now
  created_at timestamptz not null default now(),
  primary key (vault_id, position)
);

-- Which VM's requests may have a placeholder replaced by which credential's secret.
create table vm_credentials (
  vm_id uuid not null references vms (id) on delete cascade,
  credential_id uuid not null references vault_credentials (id) on delete cascade,
  primary key (vm_id, credential_id)
);
create index vm_credentials_credential on vm_credentials (credential_id);
