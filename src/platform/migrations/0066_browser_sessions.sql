-- Sessions of people in browsers: an opaque cookie stands for one, of which only the digest is kept.

create table browser_sessions (
  id uuid primary key,
  user_id uuid not null references users,
  secret_sha256 bytea not null unique check (length(secret_sha256) = 32),
  user_agent text not null check (length(user_agent) <= 255),
  address text not null check (length(address) <= 64),
  created_at timestamptz not null default now(),
  used_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index browser_sessions_user on browser_sessions (user_id);
