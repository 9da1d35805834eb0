-- Build jobs, their logs and what belongs to them; uploads.

create table build_jobs (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  created_by uuid references users (id),  -- null: made with an organization key
  status text not null check (status in ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
  repo_url text,                          -- without credentials, for reading
  sealed_source bytea,                    -- the whole address: it may hold a credential
  repo_key text,                          -- what makes two addresses the same repository
  git_ref text,
  commit_sha text,
  sealed_spec bytea not null,             -- its environment may hold secrets
  template_id uuid not null references templates (id),
  vcpu_count integer not null check (vcpu_count between 1 and 64),
  memory_mb integer not null check (memory_mb between 128 and 262144),
  timeout_seconds integer not null check (timeout_seconds between 1 and 7200),
  output_type text not null check (output_type in ('artifact', 'template', 'function')),
  output_name text not null,
  error text,
  exit_code integer,
  failing_step integer,                   -- the command that ended the build, counted from 1
  output jsonb,
  cancel_requested boolean not null default false,
  node_id uuid references nodes (id),
  queued_at timestamptz not null default now(),
  started_at timestamptz,
  claimed_at timestamptz,                 -- when its node's worker took it up: at most once
  finished_at timestamptz,
  tail text[] not null default '{}',      -- the last lines of the log, kept when the log is dropped
  log_end_ms bigint,                      -- the id of the log's last entry, the one that says done
  log_end_seq integer,
  event_position bigint not null default 0,
  check ((status in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null and log_end_ms is not null and log_end_seq is not null)),
  check (status <> 'running' or (node_id is not null and started_at is not null))
);
create index build_jobs_organization on build_jobs (organization_id, id desc);
create index build_jobs_queued on build_jobs (organization_id, queued_at, id) where status = 'queued';
create index build_jobs_running on build_jobs (node_id) where status = 'running';
create index build_jobs_running_of on build_jobs (organization_id) where status = 'running';
create index build_jobs_served on build_jobs (organization_id, started_at desc) where started_at is not null;
create index build_jobs_created_by on build_jobs (created_by);
create index build_jobs_template on build_jobs (template_id);
create index build_jobs_node on build_jobs (node_id);

-- What a subscription to a build's state resumes from; the position grows under the lock of the build's row.
create table build_events (
  job_id uuid not null references build_jobs (id) on delete cascade,
  position bigint not null,
  status text not null,
  cancel_requested boolean not null,
  error text,
  created_at timestamptz not null default now(),
  primary key (job_id, position)
);

-- One partition a day, made ahead and dropped whole by housekeeping. Without a foreign key, so that a drop touches nothing else.
create table build_log_lines (
  job_id uuid not null,
  ms bigint not null,
  seq integer not null,
  output text not null,
  primary key (job_id, ms, seq)
) partition by range (ms);

-- An organization's secrets for its builds, named in a spec.
create table build_secrets (
  organization_id uuid not null references organizations (id),
  name text not null check (name ~ '^[A-Za-z_][A-Za-z0-9_]{0,127}$'),
  sealed_value bytea not null,
  updated_at timestamptz not null default now(),
  primary key (organization_id, name)
);

-- A disk that builds of one repository and organization share on one node, one build at a time.
create table build_caches (
  organization_id uuid not null references organizations (id),
  repo_key text not null,
  node_id uuid not null references nodes (id),
  folder_id uuid not null,                -- the disk, by the driver's name for it
  job_id uuid references build_jobs (id), -- the build that has it now
  used_at timestamptz not null default now(),
  primary key (organization_id, repo_key, node_id)
);
create index build_caches_node on build_caches (node_id);
create index build_caches_job on build_caches (job_id);
create index build_caches_used on build_caches (used_at);

-- Files that callers put into the object store by a signed address.
create table uploads (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  created_by uuid references users (id),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  checked_at timestamptz                  -- when its file was seen in the store
);
create index uploads_organization on uploads (organization_id);
create index uploads_created_by on uploads (created_by);
create index uploads_unchecked on uploads (created_at) where checked_at is null;

-- A template made by a build is a disk on one node.
alter table templates add column node_id uuid references nodes (id);
alter table templates add column build_job_id uuid references build_jobs (id);
alter table templates add column size_bytes bigint;
create index templates_node on templates (node_id);
create index templates_build_job on templates (build_job_id);
