-- Memories: what a person, or an organization, keeps for agents to recall.

-- Whose memories they are: one row for each person in an organization, and one for what the organization shares.
create table memory_spaces (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid references users (id), -- null: the organization's own
  use_memories boolean not null default true,
  memory_count integer not null default 0 check (memory_count >= 0),
  event_position bigint not null default 0,
  unique nulls not distinct (organization_id, owner_user_id)
);
create index memory_spaces_owner_user on memory_spaces (owner_user_id);

create table memories (
  id uuid primary key,
  space_id uuid not null references memory_spaces (id) on delete cascade,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid references users (id), -- as in its space
  body text not null check (length(body) between 1 and 10000),
  category text check (category in ('preference', 'fact', 'instruction', 'project', 'other')),
  revision integer not null default 1 check (revision > 0),
  idempotency_key text not null check (length(idempotency_key) between 1 and 255),
  request_digest bytea not null,            -- what was sent with the key
  actor_type text not null check (actor_type in ('user', 'agent')),
  actor_id uuid not null,                   -- may be gone by now
  author_user_id uuid not null references users (id), -- the person, or the one whose agent it was
  source_session_id uuid references sessions (id) on delete set null,
  words tsvector not null generated always as (to_tsvector('simple', body)) stored,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (space_id, idempotency_key)
);
create index memories_space on memories (space_id, id desc);
create index memories_owner on memories (organization_id, owner_user_id, id desc);
create index memories_owner_user on memories (owner_user_id);
create index memories_author_user on memories (author_user_id);
create index memories_source_session on memories (source_session_id);
-- Without a list of pending entries, which every search would have to go through.
create index memories_words on memories using gin (words) with (fastupdate = off);

create table memory_events (
  space_id uuid not null references memory_spaces (id) on delete cascade,
  position bigint not null,
  type text not null,
  memory_id uuid not null,                  -- may be gone by now
  revision integer not null,
  created_at timestamptz not null default now(),
  primary key (space_id, position)
);

-- Begun, changed or written to with the token inside a VM: its agent has no memories, which that token may not read.
alter table sessions add column used_by_vm boolean not null default false;
