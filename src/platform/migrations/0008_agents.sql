-- Agents with their versions, and environments.

create table agents (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid references users (id), -- null: made with an organization key, so the organization's
  version integer not null check (version >= 1),
  definition jsonb not null,                -- the newest version's
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  archived_at timestamptz
);
create index agents_owner on agents (organization_id, owner_user_id, id desc);
create index agents_owner_user on agents (owner_user_id);

-- Every version there ever was; a session keeps the one it began with.
create table agent_versions (
  agent_id uuid not null references agents (id) on delete cascade,
  version integer not null check (version >= 1),
  definition jsonb not null,
  created_at timestamptz not null default now(),
  primary key (agent_id, version)
);

create table environments (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid not null references users (id),
  name text not null check (length(name) between 1 and 255),
  description text check (length(description) <= 2048),
  config jsonb not null,
  metadata jsonb not null default '{}',
  status text not null check (status in ('provisioning', 'ready', 'error', 'archived')),
  status_reason text,                    -- a sentence for the owner when the status is error
  ephemeral boolean not null default false, -- of one run: not listed, and gone with it
  vm_id uuid references vms (id),
  prepared_vm_id uuid references vms (id), -- the VM in which packages and the setup script have been run
  event_position bigint not null default 0,
  used_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  archived_at timestamptz,
  check ((status = 'archived') = (archived_at is not null)),
  check (status <> 'archived' or vm_id is null)
);
create unique index environments_name on environments (organization_id, owner_user_id, name) where status <> 'archived';
create index environments_owner on environments (organization_id, owner_user_id, id desc);
create index environments_owner_user on environments (owner_user_id);
create index environments_vm on environments (vm_id);
create index environments_prepared_vm on environments (prepared_vm_id);

-- What a subscription to an environment's state resumes from; the position grows under the lock of the environment's row.
create table environment_events (
  environment_id uuid not null references environments (id) on delete cascade,
  position bigint not null,
  status text not null,
  status_reason text,
  vm_id uuid,
  created_at timestamptz not null default now(),
  primary key (environment_id, position)
);
