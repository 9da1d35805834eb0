-- MicroVMs, where they run, and what belongs to each.

create table nodes (
  id uuid primary key,
  name text not null,
  agent_url text not null,               -- where its worker answers for the VMs it holds
  acceleration text check (acceleration in ('kvm', 'emulation')),
  memory_mb integer not null default 0,  -- what its VMs may be promised together
  unavailable_reason text,               -- a sentence, when it cannot run VMs
  heartbeat_at timestamptz not null default now(),
  created_at timestamptz not null default now()
);

create table templates (
  id uuid primary key,
  organization_id uuid references organizations (id), -- null: everyone's
  name text not null check (name ~ '^[a-z][a-z0-9-]{0,62}$'),
  description text not null default '',
  created_at timestamptz not null default now()
);
create unique index templates_name on templates (coalesce(organization_id, '00000000-0000-0000-0000-000000000000'), name);
create index templates_organization on templates (organization_id);
insert into templates (id, name, description)
values ('00000000-0000-7000-8000-000000000001', 'base', 'Debian with git, curl, Python, Node (JavaScript and TypeScript), Ruby and bash; user "user" in /home/user.');

create table folders (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  user_id uuid references users (id),
  name text not null check (length(name) between 1 and 255),
  node_id uuid not null references nodes (id),
  size_mb integer not null,
  created_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index folders_organization on folders (organization_id, created_at desc) where deleted_at is null;
create index folders_user on folders (user_id);
create index folders_node on folders (node_id);

create table vms (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  user_id uuid references users (id),    -- null: made with an organization key
  name text not null check (length(name) between 1 and 255),
  status text not null check (status in ('creating', 'running', 'stopping', 'stopped', 'starting', 'pausing', 'paused', 'resuming', 'deleting', 'deleted', 'error')),
  desired_status text not null check (desired_status in ('running', 'stopped', 'paused', 'deleted')),
  status_reason text,
  end_reason text,                       -- why it is being deleted, for its usage session
  template_id uuid not null references templates (id),
  node_id uuid not null references nodes (id),
  ip_address text,
  vcpu_count integer not null check (vcpu_count between 1 and 64),
  memory_mb integer not null check (memory_mb between 128 and 262144),
  disk_mb integer not null check (disk_mb > 0),
  external_ref text check (length(external_ref) between 1 and 255),
  folder_id uuid references folders (id),
  wants_folder boolean not null default true,
  metadata jsonb not null default '{}',
  network_policy jsonb not null default '{"type": "unrestricted"}',
  sealed_git_repos bytea,                -- what to clone at creation; an address may hold a credential
  warnings jsonb not null default '[]',
  boot_failures integer not null default 0,
  env_generation integer not null default 0,
  event_position bigint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  started_at timestamptz,
  stopped_at timestamptz,
  expires_at timestamptz,
  deleted_at timestamptz
);
create index vms_organization on vms (organization_id, created_at desc) where status <> 'deleted';
create unique index vms_external_ref on vms (organization_id, external_ref) where status <> 'deleted';
create index vms_node on vms (node_id) where status <> 'deleted';
create index vms_unsteady on vms (updated_at) where status in ('creating', 'stopping', 'starting', 'pausing', 'resuming', 'deleting');
create index vms_expiring on vms (expires_at) where status <> 'deleted' and expires_at is not null;
create unique index vms_folder on vms (folder_id) where status not in ('deleted'); -- a disk has one writer
create index vms_user on vms (user_id);
create index vms_template on vms (template_id);

-- What a status subscription resumes from. The position grows under the lock of the VM's row, so in commit order.
create table vm_events (
  vm_id uuid not null references vms (id) on delete cascade,
  position bigint not null,
  status text not null,
  status_reason text,
  created_at timestamptz not null default now(),
  primary key (vm_id, position)
);

create table vm_env (
  vm_id uuid not null references vms (id) on delete cascade,
  key text not null check (key ~ '^[A-Za-z_][A-Za-z0-9_]{0,127}$'),
  source text not null check (source in ('user', 'provision', 'system', 'session', 'vault', 'link')),
  visibility text not null check (visibility in ('plaintext', 'sensitive', 'secret')),
  sealed_value bytea not null,
  updated_at timestamptz not null default now(),
  primary key (vm_id, source, key)
);

-- Background processes: the record outlives the process, its output ring stays in the guest.
create table vm_processes (
  id uuid primary key,
  vm_id uuid not null references vms (id) on delete cascade,
  command text not null,
  status text not null check (status in ('running', 'exited', 'killed')),
  exit_code integer,
  started_at timestamptz not null default now(),
  finished_at timestamptz
);
create index vm_processes_vm on vm_processes (vm_id, started_at desc);
create index vm_processes_finished on vm_processes (finished_at) where finished_at is not null;

create table usage_sessions (
  id bigint generated always as identity primary key,
  organization_id uuid not null references organizations (id),
  vm_id uuid not null references vms (id),
  vcpu_count integer not null,
  memory_mb integer not null,
  cost_per_hour numeric(14, 6) not null,
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  end_reason text check (end_reason in ('request', 'timeout', 'guest_exit', 'error', 'orphaned', 'admin', 'billing')),
  check ((ended_at is null) = (end_reason is null))
);
create unique index usage_sessions_open on usage_sessions (vm_id) where ended_at is null;
create index usage_sessions_organization on usage_sessions (organization_id, id desc);
create index usage_sessions_vm on usage_sessions (vm_id);
