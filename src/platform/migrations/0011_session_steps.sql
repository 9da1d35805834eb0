-- What carries a session from step to step: who works on it, what its model needs back, and what was begun outside the database.

alter table sessions
  add column step_fence bigint not null default 0,   -- grows with every worker that takes the session up; what a worker before it writes is refused
  add column step_node uuid,                         -- the node of the worker that has it
  add column step_beat_at timestamptz,               -- when that worker said last that it lives; null: nobody has it
  add column step_tries integer not null default 0;  -- how often it was taken up since a step was done
create index sessions_at_work on sessions (id) where status in ('running', 'rescheduling');

-- A model's own reasoning, which it wants back unchanged. Never shown, and given to no other model.
create table session_reasoning (
  span_id uuid primary key,                 -- of the span.model_request_start
  session_id uuid not null references sessions (id) on delete cascade,
  blocks jsonb not null
);
create index session_reasoning_session on session_reasoning (session_id);

-- Calls of tools that were begun: written before the call, so that whoever goes on knows that it may have had its effect.
create table session_calls (
  tool_use_id uuid primary key,
  session_id uuid not null references sessions (id) on delete cascade,
  vm_id uuid,                               -- null: outside any VM
  vm_started_at timestamptz,
  begun_at timestamptz not null default now()
);
create index session_calls_session on session_calls (session_id);
