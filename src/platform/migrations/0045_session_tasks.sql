-- What groups and peers ask of sessions. A session works on one at a time; the others wait for it in their order. They
-- outlive their session, so that whoever asked still sees what became of it.

create table session_tasks (
  id uuid primary key,                      -- also that of the group run or peer exchange that it serves
  kind text not null check (kind in ('group_run', 'peer_exchange')),
  organization_id uuid not null references organizations (id),
  owner_user_id uuid not null references users (id),
  session_id uuid not null,                 -- which may be deleted
  status text not null check (status in ('queued', 'running', 'requires_action', 'completed', 'failed', 'cancelled')),
  from_position bigint,                     -- of the session's log, after which it is worked on
  answer text,                              -- what the agent said, once completed
  error jsonb,                              -- {type, message}, once failed
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  expires_at timestamptz not null,          -- when it is cancelled if it has not ended
  started_at timestamptz,
  finished_at timestamptz,
  check ((finished_at is not null) = (status in ('completed', 'failed', 'cancelled'))),
  check (status not in ('running', 'requires_action', 'completed') or (started_at is not null and from_position is not null))
);
create index session_tasks_open on session_tasks (session_id, id) where finished_at is null;
create unique index session_tasks_at_work on session_tasks (session_id) where status in ('running', 'requires_action');
create index session_tasks_expiring on session_tasks (expires_at) where finished_at is null;
create index session_tasks_owner on session_tasks (organization_id, owner_user_id);
create index session_tasks_owner_user on session_tasks (owner_user_id);
