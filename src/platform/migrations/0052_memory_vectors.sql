-- Vectors of memories, by which they are found by their meaning where the operator has chosen a model for embeddings.

create table memory_vectors (
  memory_id uuid primary key references memories (id) on delete cascade,
  space_id uuid not null references memory_spaces (id) on delete cascade,
  made_by integer not null,  -- a digest of the model's id and the number of dimensions
  revision integer not null, -- of the memory whose text it is of; one of another revision is not used
  signs bit varying,         -- 1 for each number that is not negative: what is near is found by these first
  vector bytea,              -- 32-bit floats, least significant byte first, of length 1; null for a text that the model cannot read
  check ((signs is null) = (vector is null))
);
alter table memory_vectors alter vector set storage external; -- numbers do not get smaller by compression
-- Everything that a search goes through, so that it reads the spaces of one person only, and no vectors.
create index memory_vectors_near on memory_vectors (space_id, made_by) include (memory_id, revision, signs);

-- Up to which event of the space its vectors are made, and by what. Where that is not its last event, a worker makes the
-- others: at once, or when somebody else's claim on the space or the wait after a failure is over.
alter table memory_spaces
  add column vectors_made_by integer,
  add column vectors_position bigint not null default 0,
  add column vectors_failures integer not null default 0,
  add column vectors_not_before timestamptz;

-- The ledger's requests may be for memories.
alter table inference_requests drop constraint inference_requests_route_check;
alter table inference_requests add constraint inference_requests_route_check
  check (route in ('chat.completions', 'chat', 'messages', 'responses', 'embeddings', 'graphql', 'agent', 'memories'));
