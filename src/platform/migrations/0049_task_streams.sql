-- The reply of a group's run as it is written: chunks in their order, for readers that resume by number. The row of the
-- stream orders its writers, and says which request to the model may add text.

create table task_streams (
  task_id uuid primary key references session_tasks (id) on delete cascade,
  first_number bigint not null default 1,    -- of the oldest chunk that is kept
  last_number bigint not null default 0,
  bytes bigint not null default 0,           -- of all chunks that there ever were
  gone_bytes bigint not null default 0,      -- of those that are not kept
  step text not null default 'none' check (step in ('none', 'begun', 'used')),
  request_id uuid,                           -- the request to the model that is being answered
  pieces integer not null default 0,         -- of text that it has added
  ended_at timestamptz
);
create index task_streams_ended on task_streams (ended_at) where ended_at is not null;

create table task_chunks (
  task_id uuid not null references task_streams (task_id) on delete cascade,
  number bigint not null,
  body text not null,                        -- JSON
  end_bytes bigint not null,                 -- of all chunks until here
  primary key (task_id, number)
);
