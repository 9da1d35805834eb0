-- Groups: sessions that talk with their user and with each other. What a run of one comes to is in its task, which has the
-- same id.

create table groups (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid not null references users (id),
  name text not null check (length(name) between 1 and 255),
  description text check (length(description) <= 2048),
  revision bigint not null default 0,       -- of the newest event: grows under the lock of this row
  message_sequence bigint not null default 0, -- of the newest message
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index groups_owner on groups (organization_id, owner_user_id, id desc);
create index groups_owner_user on groups (owner_user_id);

create table group_members (
  group_id uuid not null references groups (id) on delete cascade,
  place integer not null,                   -- in the order in which they were named
  session_id uuid not null,                 -- which may be deleted
  agent_id uuid,                            -- which may be deleted; null: one of Berth's own
  builtin_agent text,
  handle text not null check (length(handle) between 1 and 64),
  display_name text not null,
  seen_sequence bigint not null default 0,  -- of the newest message that it was told
  primary key (group_id, place),
  unique (group_id, session_id),
  unique (group_id, handle)
);
create index group_members_session on group_members (session_id);

create table group_messages (
  id uuid primary key,
  group_id uuid not null references groups (id) on delete cascade,
  sequence bigint not null,
  author_type text not null check (author_type in ('user', 'member')),
  author_id uuid not null,                  -- the person or the session
  author_handle text not null,
  text text not null,
  recipient_ids uuid[] not null,            -- the sessions that are to answer
  run_id uuid unique,                       -- the run whose reply it is
  undelivered_reason text check (undelivered_reason in ('hop_limit', 'run_limit', 'member_busy')), -- why somebody whom it mentions is not to answer
  created_at timestamptz not null default now(),
  unique (group_id, sequence)
);

create table group_runs (
  id uuid primary key,                      -- also that of its task
  group_id uuid not null references groups (id) on delete cascade,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid not null references users (id),
  session_id uuid not null,                 -- which may be deleted
  message_id uuid not null references group_messages (id) on delete cascade, -- the message that it answers
  origin_id uuid not null references group_messages (id) on delete cascade,  -- the user's message from which that came
  hops integer not null check (hops >= 0),  -- from one member to another since that message
  revision bigint not null,                 -- of the group, when the run last changed
  through_position bigint,                  -- of the session's log, up to which it was worked on; null until it has ended
  usage_from jsonb,                         -- the session's counters when it began
  usage jsonb,                              -- what the session used since then, when the run last changed
  created_at timestamptz not null default now()
);
create index group_runs_group on group_runs (group_id, id desc);
create index group_runs_session on group_runs (session_id, id desc);
create index group_runs_message on group_runs (message_id);
create index group_runs_origin on group_runs (origin_id);
create index group_runs_owner on group_runs (organization_id, owner_user_id);
create index group_runs_owner_user on group_runs (owner_user_id);

create table group_events (
  group_id uuid not null references groups (id) on delete cascade,
  position bigint not null,                 -- the revision of the group
  type text not null,
  message_id uuid,
  run_id uuid,
  run_status text,                          -- then
  created_at timestamptz not null default now(),
  primary key (group_id, position)
);
