-- Functions: programs that the edge starts in a VM of their own at the first request, and that sleep when nobody asks.

alter table vms drop constraint vms_purpose_check;
alter table vms add constraint vms_purpose_check check (purpose in ('database', 'function'));
alter table routes drop constraint routes_kind_check;
alter table routes add constraint routes_kind_check check (kind in ('proxy', 'domain', 'function'));

create table functions (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  user_id uuid references users (id),    -- who made it; null: made with an organization key
  name text not null check (name ~ '^[a-z][a-z0-9-]{0,62}$'),
  host text not null,                    -- the name at which it is reached without a domain; it stays when the name changes
  status text not null check (status in ('stopped', 'starting', 'running', 'stopping', 'error', 'deleting', 'deleted')),
  status_reason text,
  event_position bigint not null default 0,
  version_id uuid,                       -- the current one; null: nothing is deployed yet
  versions_made integer not null default 0,
  vm_id uuid,                            -- the current instance; null: there is none
  sealed_variables bytea,                -- { key: value }; null: none
  generation integer not null default 1, -- grows with whatever an instance is made from besides its version
  vcpu_count integer not null check (vcpu_count between 1 and 64),
  memory_mb integer not null check (memory_mb between 128 and 262144),
  idle_seconds integer not null check (idle_seconds > 0),
  failures integer not null default 0,   -- in a row, since it last ran for a while
  retry_at timestamptz,                  -- after a failure: when it may start again
  active_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create unique index functions_name on functions (organization_id, name) where status not in ('deleting', 'deleted');
create index functions_organization on functions (organization_id, id desc);
create index functions_user on functions (user_id);
create index functions_unsteady on functions (updated_at) where status in ('starting', 'stopping', 'deleting');
create index functions_running on functions (active_at) where status in ('running', 'error');

-- What was deployed. A version never changes.
create table function_versions (
  id uuid primary key,
  function_id uuid not null references functions (id),
  organization_id uuid not null references organizations (id),
  user_id uuid references users (id),    -- who deployed it; null: an organization key
  number integer not null check (number > 0),
  object_key text not null check (length(object_key) between 1 and 512), -- of an upload, or of a build's output
  binary_url text not null,              -- the same as it is shown
  build_id uuid references build_jobs (id),
  start_command text check (length(start_command) between 1 and 4096), -- null: what the binary itself says
  port integer not null check (port between 1 and 65535),
  created_at timestamptz not null default now(),
  unique (function_id, number)
);
create index function_versions_organization on function_versions (organization_id);
create index function_versions_user on function_versions (user_id);
create index function_versions_build on function_versions (build_id);
create index function_versions_object on function_versions (object_key);

-- A version in a VM. An instance that is no longer its function's answers what it has begun, and ends.
create table function_instances (
  vm_id uuid primary key references vms (id),
  function_id uuid not null references functions (id),
  version_id uuid not null references function_versions (id),
  generation integer not null,           -- the function's, when the instance was made
  ends_at timestamptz,                   -- set once it is no longer its function's
  ready_at timestamptz,                  -- when its program first took a connection
  failed_attempts integer not null default 0, -- how many ends of its program its function knows of
  worker_number bigint not null default 0, -- the fencing token of the worker that has it
  progress jsonb not null default '{}',  -- of its program and its log: workers/infra/functions/instances.ts
  created_at timestamptz not null default now()
);
create index function_instances_function on function_instances (function_id);
create index function_instances_version on function_instances (version_id);

create table function_events (
  function_id uuid not null references functions (id) on delete cascade,
  position bigint not null,
  status text not null,
  status_reason text,
  version_number integer,                -- of the current version
  created_at timestamptz not null default now(),
  primary key (function_id, position)
);

-- What the programs of a function print. The log has a limited size: its oldest lines are dropped.
create table function_logs (
  function_id uuid primary key references functions (id) on delete cascade,
  position bigint not null default 0,    -- of the newest line
  bytes bigint not null default 0,       -- of the lines that are there
  dropped_bytes bigint not null default 0,
  dropped_to bigint not null default 0   -- the position of the newest dropped line
);
create table function_log_lines (
  function_id uuid not null references function_logs (function_id) on delete cascade,
  position bigint not null,
  version_number integer not null,
  output text not null,                  -- masked, 16 KiB at most
  created_at timestamptz not null default now(),
  primary key (function_id, position)
);

-- Who ordered a build with a key: what it may deploy is checked again when it ends.
alter table build_jobs add column key_id text references api_keys (key_id);
create index build_jobs_key on build_jobs (key_id);

-- The function that a database is linked to: its programs get the address and a password as variables.
alter table databases add column function_id uuid references functions (id);
create index databases_function on databases (function_id);
