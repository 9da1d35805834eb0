-- Sessions: an agent at work, and the log of everything that happened in it.

create table sessions (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid not null references users (id),
  agent_id uuid references agents (id) on delete cascade,
  builtin_agent text,                       -- one of Berth's own agents, which have no row
  agent_version integer not null check (agent_version >= 1),
  agent_definition jsonb not null,          -- as it was when the session began, with what was overridden
  environment_id uuid references environments (id) on delete set null,
  deployment_id uuid,
  kind text not null check (kind in ('chat', 'computer')),
  source text not null check (source in ('user', 'schedule', 'trigger', 'deployment', 'run', 'peer')),
  title text check (length(title) <= 255),
  metadata jsonb not null default '{}',
  vault_ids uuid[] not null default '{}',
  budget_nano_usd bigint check (budget_nano_usd >= 0),
  status text not null check (status in ('idle', 'running', 'rescheduling', 'terminated')),
  stop_reason jsonb,                        -- why it is idle
  running_since timestamptz,
  active_ms bigint not null default 0,      -- without the time since running_since
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cache_read_input_tokens bigint not null default 0,
  cache_creation_5m_input_tokens bigint not null default 0,
  cache_creation_1h_input_tokens bigint not null default 0,
  web_search_requests bigint not null default 0,
  web_fetch_requests bigint not null default 0,
  cost_nano_usd bigint not null default 0,
  event_position bigint not null default 0, -- of the newest entry of the log; grows under the lock of this row
  last_event_id uuid,
  last_event_at timestamptz,
  service_events bigint not null default 0, -- events that the caller did not send
  read_event_id uuid,                       -- how far the owner has read
  read_position bigint not null default 0,
  read_service_events bigint not null default 0,
  shared_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  archived_at timestamptz,
  check ((agent_id is null) <> (builtin_agent is null)),
  check ((status = 'running') = (running_since is not null)),
  check (archived_at is null or status = 'terminated')
) with (fillfactor = 70); -- every event changes its session's row: on the same page, no index is touched
create index sessions_owner on sessions (organization_id, owner_user_id, id desc);
create index sessions_owner_user on sessions (owner_user_id);
create index sessions_agent on sessions (agent_id, id desc);
create index sessions_environment on sessions (environment_id);
create index sessions_deployment on sessions (deployment_id, id desc) where deployment_id is not null;

-- The log. What a client sends stands in it twice: where it was queued (position) and where it was taken (taken_position).
create table session_events (
  session_id uuid not null references sessions (id) on delete cascade,
  position bigint not null,
  id uuid not null unique,
  type text not null,
  data jsonb not null,                      -- what its type says, as callers see it
  size_bytes integer not null,
  answers uuid,                             -- the tool use that this confirms or gives the result of
  processed_at timestamptz,                 -- null: queued
  taken_position bigint,
  created_at timestamptz not null default now(),
  primary key (session_id, position)
);
create unique index session_events_taken on session_events (session_id, taken_position) where taken_position is not null;
create index session_events_queued on session_events (session_id, position) where processed_at is null;
-- A tool use is confirmed once and has one result, whatever dies in between.
create unique index session_events_answers on session_events (session_id, answers, type) where answers is not null;

-- What a model is saying right now, for those who want to see it before it is said. Lost with the process: not logged.
create unlogged table session_previews (
  session_id uuid not null references sessions (id) on delete cascade,
  seq bigint generated always as identity,
  event_id uuid not null,
  data jsonb not null,
  primary key (session_id, seq)
);
