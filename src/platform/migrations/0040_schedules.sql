-- Schedules: at the moments of a cron expression they start a session, with an agent or by a deployment.

create table schedules (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid not null references users (id), -- sessions start on their behalf
  agent_id uuid references agents (id) on delete cascade,
  agent_version integer check (agent_version > 0),   -- null: the newest
  deployment_id uuid references deployments (id) on delete cascade,
  kickoff jsonb,
  cron text not null check (length(cron) between 9 and 255),
  timezone text not null check (length(timezone) between 1 and 255),
  enabled boolean not null,
  overlap text not null check (overlap in ('skip', 'allow')),
  jitter_ms integer not null check (jitter_ms between 0 and 10000), -- how long after its moments it fires
  next_run_at timestamptz,                           -- its next moment, by its cron expression
  planned_at timestamptz not null,                   -- when that was found out, by the clock of then
  last_run_at timestamptz,
  last_session_id uuid,                              -- the session that it started last, which may be deleted
  last_error text,
  failures integer not null default 0,               -- since it last started a session
  run_position bigint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((agent_id is null) <> (deployment_id is null)),
  check ((agent_id is null) = (kickoff is null)),
  check (agent_version is null or agent_id is not null),
  check (enabled = (next_run_at is not null))
);
create index schedules_due on schedules (next_run_at, organization_id) where enabled;
create index schedules_due_of on schedules (organization_id, next_run_at) where enabled;
create index schedules_owner on schedules (organization_id, owner_user_id, id desc);
create index schedules_owner_user on schedules (owner_user_id);
create index schedules_agent on schedules (agent_id, id desc);
create index schedules_deployment on schedules (deployment_id, id desc);

-- What became of each moment of a schedule. The key makes each count once.
create table schedule_runs (
  id uuid primary key,
  schedule_id uuid not null references schedules (id) on delete cascade,
  scheduled_at timestamptz not null,
  position bigint not null,
  status text not null check (status in ('started', 'skipped', 'failed')),
  session_id uuid references sessions (id) on delete set null,
  skip_reason text check (skip_reason in ('overlap', 'missed', 'rate_limited', 'deployment_paused')),
  error_type text,
  message text,
  created_at timestamptz not null default now(),
  unique (schedule_id, scheduled_at),
  unique (schedule_id, position),
  check ((status = 'skipped') = (skip_reason is not null)),
  check ((status = 'failed') = (error_type is not null)),
  check (session_id is null or status = 'started')
);
create index schedule_runs_schedule on schedule_runs (schedule_id, id desc);
create index schedule_runs_session on schedule_runs (session_id);
create index schedule_runs_created on schedule_runs (created_at);
