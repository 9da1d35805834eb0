-- Triggers: events of a repository at the code host that start sessions; what the code host delivered; and what became of each.

create table triggers (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid not null references users (id), -- on whose behalf sessions start
  agent_id uuid not null references agents (id) on delete cascade,
  agent_version integer check (agent_version >= 1),  -- null: the newest
  deployment_id uuid references deployments (id) on delete cascade, -- where its sessions work, and what they may use; null: nowhere, and nothing
  repo text not null check (length(repo) between 3 and 511), -- owner/name, as the code host spells it
  repo_key text not null check (length(repo_key) between 3 and 511), -- the same in lower case
  repository_id bigint,                    -- the code host's own id: it stays when the repository is renamed; null: known by its name alone
  events text[] not null check (cardinality(events) between 1 and 50),
  filters jsonb not null,
  enabled boolean not null default true,
  access_checked_at timestamptz,           -- when the code host last said that the owner may write to the repository
  event_position bigint not null default 0, -- of the fire that was decided last; grows under the lock of this row
  last_fired_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index triggers_owner on triggers (organization_id, owner_user_id, id desc);
create index triggers_owner_user on triggers (owner_user_id);
create index triggers_agent on triggers (agent_id, id desc);
create index triggers_deployment on triggers (deployment_id, id desc);
create index triggers_repository on triggers (repository_id) where repository_id is not null;
create index triggers_repo_key on triggers (repo_key) where repository_id is null;

-- A delivery, once for each organization that has a trigger for it.
create table trigger_deliveries (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  delivery text not null check (length(delivery) between 1 and 100), -- the code host's own id
  event text not null,
  action text,
  routed jsonb not null,                   -- the fields that filters look at and that agents are told
  payload bytea,                           -- as it was sent, for some days; null when it is too large, or was removed
  received_at timestamptz not null default now(),
  unique (organization_id, delivery)
);
create index trigger_deliveries_payload on trigger_deliveries (received_at) where payload is not null;
create index trigger_deliveries_received on trigger_deliveries (received_at);

create table trigger_fires (
  id uuid primary key,
  trigger_id uuid not null references triggers (id) on delete cascade,
  organization_id uuid not null references organizations (id),
  delivery_row_id uuid not null references trigger_deliveries (id),
  delivery text not null,                  -- the code host's own id of it
  event text not null,
  action text,
  repo text not null,
  shown boolean not null default false,    -- whether the owner may see what was delivered: they could still write to the repository
  ref text,                                -- this and the next three are null until it is shown
  sha text,
  number integer,
  sender jsonb,
  position bigint,                         -- set once it is decided: among the trigger's fires, in that order
  status text not null default 'pending' check (status in ('pending', 'started', 'skipped', 'failed')),
  skip_reason text,
  session_id uuid references sessions (id) on delete set null, -- null again once the session is deleted
  error jsonb,
  redelivery_count integer not null default 0,
  received_at timestamptz not null default now(),
  finished_at timestamptz,
  unique (trigger_id, delivery_row_id),
  unique (trigger_id, position),
  check ((status = 'pending') = (finished_at is null)),
  check ((status = 'pending') = (position is null)),
  check ((status = 'skipped') = (skip_reason is not null)),
  check ((status = 'failed') = (error is not null))
);
create index trigger_fires_list on trigger_fires (trigger_id, id desc);
create index trigger_fires_delivery on trigger_fires (delivery_row_id);
create index trigger_fires_session on trigger_fires (session_id);
create index trigger_fires_organization on trigger_fires (organization_id);
create index trigger_fires_pending on trigger_fires (received_at) where status = 'pending';
create index trigger_fires_waiting on trigger_fires (organization_id) where status = 'pending';
create index trigger_fires_received on trigger_fires (received_at);
