-- Deployments: agents with everything that a run of them needs; and the record of each run, or of why there was none.

create table deployments (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid not null references users (id),
  name text not null check (length(name) between 1 and 255),
  description text check (length(description) <= 2048),
  agent_id uuid not null references agents (id) on delete cascade,
  agent_version integer check (agent_version >= 1), -- null: the newest
  environment_type text not null check (environment_type in ('none', 'existing', 'ephemeral')),
  environment_id uuid, -- not a reference: it says what is missing when the environment was deleted
  environment_config jsonb,
  vault_ids uuid[] not null default '{}',
  kickoff jsonb not null,
  budget_nano_usd bigint check (budget_nano_usd >= 0),
  metadata jsonb not null default '{}',
  status text not null check (status in ('active', 'paused')),
  paused_reason jsonb,
  run_position bigint not null default 0,
  last_run_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  archived_at timestamptz,
  check ((status = 'paused') = (paused_reason is not null)),
  check (archived_at is null or status = 'active'),
  check ((environment_type = 'existing') = (environment_id is not null)),
  check (environment_config is null or environment_type = 'ephemeral')
);
create index deployments_owner on deployments (organization_id, owner_user_id, id desc);
create index deployments_owner_user on deployments (owner_user_id);
create index deployments_agent on deployments (agent_id, id desc);

-- What started a session, or did not. Sessions are not references: their deletion leaves the record as it is.
create table deployment_runs (
  id uuid primary key,
  deployment_id uuid not null references deployments (id) on delete cascade,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid not null references users (id),
  position bigint not null,
  agent_id uuid not null,
  agent_version integer not null check (agent_version >= 1),
  session_id uuid,
  error jsonb,
  trigger jsonb not null,
  created_at timestamptz not null default now(),
  unique (deployment_id, position),
  check (num_nonnulls(session_id, error) = 1)
);
create index deployment_runs_owner on deployment_runs (organization_id, owner_user_id, id desc);
create index deployment_runs_owner_user on deployment_runs (owner_user_id);
