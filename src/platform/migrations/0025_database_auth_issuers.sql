-- Issuers whose tokens let clients in to one database, besides those of the platform.

create table database_auth_issuers (
  database_id uuid not null references databases (id) on delete cascade,
  issuer text not null check (length(issuer) between 1 and 2048),
  jwks_uri text not null,
  audience text not null check (length(audience) between 1 and 2048),
  created_at timestamptz not null default now(),
  primary key (database_id, issuer)
);
