-- Outbound webhooks: endpoints, what happened, and the delivery of each event to each endpoint.

create table webhook_endpoints (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  user_id uuid references users (id),            -- who made it
  url text not null,
  description text,
  event_types text[],                            -- null: all of them, also those that come later
  sealed_secret bytea not null,
  sealed_previous_secret bytea,
  previous_secret_until timestamptz,             -- until then both secrets sign
  enabled boolean not null default true,
  disabled_reason text check (disabled_reason in ('manual', 'gone', 'failures')),
  disabled_at timestamptz,
  failures integer not null default 0,           -- attempts in a row that failed
  last_problem text,                             -- why the latest of them did
  held_until timestamptz,                        -- no attempt before then, because the latest failed
  event_position bigint not null default 0,      -- of the latest attempt
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint webhook_endpoints_disabled check (enabled = (disabled_reason is null))
);
create index webhook_endpoints_organization on webhook_endpoints (organization_id, id desc);
create index webhook_endpoints_user on webhook_endpoints (user_id);

-- Written in the transaction of the change itself, and only if an endpoint wants it.
create table webhook_events (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  type text not null,
  subject_id text not null,                      -- the public id of what it happened to
  details jsonb,                                 -- further ids of the payload
  created_at timestamptz not null default now()
);
create index webhook_events_organization on webhook_events (organization_id, id desc);
create index webhook_events_created on webhook_events (created_at);

create table webhook_deliveries (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  endpoint_id uuid not null references webhook_endpoints (id) on delete cascade,
  event_id uuid not null references webhook_events (id) on delete cascade,
  status text not null check (status in ('pending', 'succeeded', 'failed')),
  tries integer not null default 0,              -- attempts since it was made or replayed
  attempts integer not null default 0,           -- all of them
  next_attempt_at timestamptz,
  claim integer not null default 0,              -- only the latest claim's result counts
  claimed_until timestamptz,
  response_status integer,                       -- of the latest attempt
  problem text,                                  -- why that failed
  finished_at timestamptz,
  replayed_at timestamptz,
  created_at timestamptz not null default now(),
  constraint webhook_deliveries_once unique (event_id, endpoint_id),
  constraint webhook_deliveries_due check ((status = 'pending') = (next_attempt_at is not null))
);
create index webhook_deliveries_endpoint on webhook_deliveries (endpoint_id, id desc);
create index webhook_deliveries_organization on webhook_deliveries (organization_id, id desc);
create index webhook_deliveries_pending on webhook_deliveries (endpoint_id, next_attempt_at) where status = 'pending';
create index webhook_deliveries_claimed on webhook_deliveries (organization_id, endpoint_id) where claimed_until is not null;

create table webhook_attempts (
  delivery_id uuid not null references webhook_deliveries (id) on delete cascade,
  number integer not null,
  endpoint_id uuid not null,
  position bigint not null,                      -- grows with each attempt of the endpoint
  status text not null check (status in ('pending', 'succeeded', 'failed')), -- of the delivery after it
  started_at timestamptz not null,
  duration_ms integer not null,
  response_status integer,
  problem text,
  answer text,                                   -- the beginning of a refusal
  primary key (delivery_id, number)
);
create unique index webhook_attempts_position on webhook_attempts (endpoint_id, position);

-- When endpoints were told that this certificate will end, and could not be renewed so far.
alter table certificates add column expiry_told_at timestamptz;
