-- The secrets that a session had in its reach: they stay out of its log also after they were rotated or archived.

alter table sessions add column keeps_secrets boolean not null default false; -- whether there are any

create table session_secrets (
  session_id uuid not null references sessions (id) on delete cascade,
  digest text not null,                     -- a keyed digest, by which it is known whether it is here
  sealed_value bytea not null,
  primary key (session_id, digest)
);
