-- Organizations, their people, and what proves who is calling.

create table organizations (
  id uuid primary key,
  name text not null unique check (length(name) between 1 and 255),
  created_at timestamptz not null default now(),
  deactivated_at timestamptz
);

create table users (
  id uuid primary key,
  name text not null unique check (length(name) between 1 and 255),
  email text,
  created_at timestamptz not null default now()
);

-- A membership is never deleted, only deactivated: tokens name it, and must go on being refused.
create table memberships (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  user_id uuid not null references users (id),
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  created_at timestamptz not null default now(),
  deactivated_at timestamptz
);
create unique index memberships_active on memberships (organization_id, user_id) where deactivated_at is null;
create index memberships_user on memberships (user_id);

-- The built-in issuer's keys; the newest signs, those not retired verify.
create table signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  sealed_private_jwk bytea not null,
  created_at timestamptz not null default now(),
  retired_at timestamptz
);

-- Organization keys: only a hash of the secret is stored.
create table api_keys (
  key_id text primary key check (key_id ~ '^[0-9a-z]{16}$'),
  organization_id uuid not null references organizations (id),
  name text not null default '' check (length(name) <= 255),
  secret_sha256 bytea not null check (length(secret_sha256) = 32),
  secret_last4 text not null check (length(secret_last4) = 4),
  scopes text[] not null,
  created_by uuid not null references users (id),
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz
);
create index api_keys_organization on api_keys (organization_id);
create index api_keys_created_by on api_keys (created_by);

-- One row for each POST that carried an Idempotency-Key, kept 24 hours; the response is sealed, it may hold a secret.
create table idempotency_keys (
  caller text not null,
  key text not null check (length(key) between 1 and 255),
  request_sha256 bytea not null,
  response_status integer,
  sealed_response bytea,
  in_progress_until timestamptz,
  created_at timestamptz not null default now(),
  primary key (caller, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);

-- Token buckets. Unlogged: after a crash everyone starts with a full bucket, which is a fair price for no write-ahead log.
create unlogged table rate_buckets (
  bucket text primary key,
  tokens double precision not null,
  granted double precision not null, -- to the process that asked last
  refilled_at timestamptz not null
);
create index rate_buckets_age on rate_buckets (refilled_at);
