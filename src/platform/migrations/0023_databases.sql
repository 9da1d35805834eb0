-- Managed Postgres: each database runs in a VM of its own, and projects say which VMs reach it.

create table projects (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  user_id uuid references users (id),    -- null: made with an organization key
  name text not null check (length(name) between 1 and 255),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index projects_organization on projects (organization_id, id desc);
create index projects_user on projects (user_id);

-- What a VM, a folder is for, where it is not a user's: it is in no list and takes no command.
alter table vms add column purpose text check (purpose in ('database'));
alter table vms add column project_id uuid references projects (id);
create index vms_project on vms (project_id);
alter table folders add column purpose text check (purpose in ('database'));

insert into templates (id, name, description)
values ('00000000-0000-7000-8000-000000000002', 'postgres', 'Debian with Postgres 17; databases start from it.');

create table databases (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  user_id uuid references users (id),    -- who made it
  name text not null check (name ~ '^[a-z][a-z0-9-]{0,62}$'),
  status text not null check (status in ('creating', 'active', 'updating', 'restoring', 'deleting', 'deleted', 'error')),
  status_reason text,
  event_position bigint not null default 0,
  vm_id uuid references vms (id),        -- null: none yet, or it is deleted
  folder_id uuid references folders (id), -- the disk of its data, which outlives the VM; null until the VM ran, and once it is purged
  project_id uuid references projects (id),
  network_name text check (network_name ~ '^[a-z][a-z0-9-]{0,62}$'),
  native_credential_generation integer not null default 1,
  client_mode_enabled boolean not null default false,
  pg_database text not null default 'app',
  pg_user text not null unique,
  token_verifier text,                   -- SCRAM-SHA-256; null once it is purged, as what follows
  token_hash bytea,                      -- SHA-256
  sealed_logins bytea,                   -- the passwords with which the proxy logs in: { owner, authenticated, anonymous, claims }
  vcpu_count integer not null check (vcpu_count between 1 and 64),
  memory_mb integer not null check (memory_mb between 128 and 262144),
  disk_mb integer not null check (disk_mb > 0),
  settings jsonb not null default '{}',  -- of Postgres, for its database
  sleep_after_seconds integer check (sleep_after_seconds > 0), -- null: never
  active_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  purge_after timestamptz                -- when the data of a deleted one goes; null: it is gone, or the database is not deleted
);
create unique index databases_name on databases (organization_id, name) where status not in ('deleting', 'deleted');
create index databases_organization on databases (organization_id, id desc);
create index databases_user on databases (user_id);
create unique index databases_vm on databases (vm_id);
create unique index databases_folder on databases (folder_id);
create index databases_project on databases (project_id);
create index databases_unsteady on databases (updated_at) where status in ('creating', 'updating', 'deleting');
create index databases_deleted on databases (purge_after) where purge_after is not null;

create table database_events (
  database_id uuid not null references databases (id) on delete cascade,
  position bigint not null,
  status text not null,
  status_reason text,
  created_at timestamptz not null default now(),
  primary key (database_id, position)
);

-- What the database's server last said of itself.
create table database_metrics (
  database_id uuid primary key references databases (id) on delete cascade,
  connections integer not null,
  size_bytes bigint not null,
  transactions bigint not null,          -- since the statistics were reset, as the rest
  rolled_back bigint not null,
  rows_read bigint not null,
  rows_written bigint not null,
  blocks_hit bigint not null,
  blocks_read bigint not null,
  deadlocks bigint not null,
  measured_at timestamptz not null default now()
);

-- The processes that let clients in, and the changes of databases that each has carried out.
create unlogged table edge_processes (
  id uuid primary key,
  heartbeat_at timestamptz not null default now()
);
create unlogged table edge_acknowledgements (
  edge_id uuid not null references edge_processes (id) on delete cascade,
  database_id uuid not null,
  position bigint not null,              -- of the database's event
  primary key (edge_id, database_id)
);
