-- What the next worker of a node needs to go on with a build where the one before it stopped. Each worker that starts on a
-- node gets the next number; what is written under an earlier one is refused.
alter table nodes add column worker_number bigint not null default 0;

create table build_runs (
  job_id uuid primary key references build_jobs (id) on delete cascade,
  worker_number bigint not null,          -- the worker that has the build
  sealed_secrets bytea,                   -- the values that it was given: its log must not show them, also when they are changed meanwhile
  progress jsonb not null                 -- how far it is, and its log; as BuildProgress
);
