-- Peer exchanges: what an agent asks of another session of the same person, by its tool `ask_peer`. An exchange outlives
-- both sessions, so that its owner still sees what became of it.

create table peer_exchanges (
  id uuid primary key,                      -- that of the tool use, and of the task of the responder
  organization_id uuid not null references organizations (id),
  owner_user_id uuid not null references users (id),
  requester_session_id uuid not null,       -- which may be deleted, as may be the other
  responder_session_id uuid not null,
  turn_id uuid not null,                    -- the message of a user that began it all: also of exchanges inside of others
  depth integer not null check (depth >= 1), -- 1 for one that no exchange led to
  request_text text not null,
  file_id uuid references files (id) on delete set null, -- the attachment
  attachment_vm_id uuid,                    -- the VM that has it
  attachment_placed_at timestamptz,
  status text not null check (status in ('submitted', 'working', 'input_required', 'completed', 'failed', 'cancelled', 'rejected')),
  answer text,                              -- once completed
  error jsonb,                              -- {type, message}, once failed or rejected
  event_position bigint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  expires_at timestamptz not null,          -- when it is cancelled if it has not ended
  finished_at timestamptz,
  told_at timestamptz,                      -- when the requester was last given a step to take the end in
  delivered_at timestamptz,                 -- when it was seen that the requester has its result, or needs none
  check ((finished_at is not null) = (status in ('completed', 'failed', 'cancelled', 'rejected'))),
  check ((answer is not null) = (status = 'completed'))
);
create index peer_exchanges_owner on peer_exchanges (organization_id, owner_user_id, id desc);
create index peer_exchanges_owner_user on peer_exchanges (owner_user_id);
create index peer_exchanges_requester on peer_exchanges (requester_session_id, id desc);
create index peer_exchanges_responder on peer_exchanges (responder_session_id, id desc);
create index peer_exchanges_turn on peer_exchanges (turn_id);
create index peer_exchanges_file on peer_exchanges (file_id);
create index peer_exchanges_open on peer_exchanges (organization_id, requester_session_id) where finished_at is null;
create index peer_exchanges_undelivered on peer_exchanges (finished_at) where delivered_at is null;
create index peer_exchanges_delivered on peer_exchanges (delivered_at) where delivered_at is not null;

create table peer_exchange_events (
  exchange_id uuid not null references peer_exchanges (id) on delete cascade,
  position bigint not null,
  status text not null check (status in ('submitted', 'working', 'input_required', 'completed', 'failed', 'cancelled', 'rejected')),
  created_at timestamptz not null default now(),
  primary key (exchange_id, position)
);
