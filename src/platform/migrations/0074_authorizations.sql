-- Programs that people let act for them: who they are, what they ask for, and what they were given. Secrets are kept as digests.

-- Programs that have registered themselves. Those that nobody lets in go after some days.
create table oauth_clients (
  client_id text primary key check (length(client_id) <= 40),
  name text not null check (length(name) <= 100),
  redirect_uris text[] not null check (cardinality(redirect_uris) between 1 and 10),
  address text not null check (length(address) <= 64),
  created_at timestamptz not null default now(),
  used_at timestamptz
);
create index oauth_clients_address on oauth_clients (address);

create table authorizations (
  id uuid primary key,
  user_id uuid not null references users,
  organization_id uuid not null references organizations,
  client_id text not null check (length(client_id) <= 512),
  client_name text not null check (length(client_name) <= 100),
  scope text not null check (scope in ('read', 'write', 'admin')),
  created_at timestamptz not null default now(),
  used_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index authorizations_user on authorizations (user_id);
create index authorizations_organization on authorizations (organization_id, user_id);
create index authorizations_client on authorizations (client_id);

-- What a program asks for, until a person has answered; and then the code, or the device, that is exchanged for tokens once.
create table authorization_requests (
  id uuid primary key,
  secret_sha256 bytea not null unique check (length(secret_sha256) = 32), -- of the page's address; of a device: of its device code
  user_code text unique check (length(user_code) = 8), -- of a device
  client_id text not null check (length(client_id) <= 512),
  client_name text not null check (length(client_name) <= 100),
  client_host text check (length(client_host) <= 255), -- whose word for it there is; null for a program that says so itself
  scope text not null check (scope in ('read', 'write', 'admin')),
  redirect_uri text check (length(redirect_uri) <= 512),
  state text check (length(state) <= 1024),
  code_challenge text check (length(code_challenge) = 43),
  address text not null check (length(address) <= 64),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  poll_seconds integer not null default 0,
  polled_at timestamptz,
  denied_at timestamptz,
  authorization_id uuid, -- no reference: a code that comes again ends what came of it, and rows would be locked in both orders
  code_sha256 bytea unique check (length(code_sha256) = 32),
  code_expires_at timestamptz,
  exchanged_at timestamptz,
  check ((user_code is null) = (redirect_uri is not null)),
  check ((user_code is null) = (code_challenge is not null))
);
create index authorization_requests_created on authorization_requests (created_at);

create table authorization_tokens (
  secret_sha256 bytea primary key check (length(secret_sha256) = 32),
  authorization_id uuid not null references authorizations on delete cascade,
  kind text not null check (kind in ('access', 'refresh')),
  created_at timestamptz not null default now(),
  exchanged_at timestamptz, -- of one that refreshes: when another took its place
  expires_at timestamptz not null
);
create index authorization_tokens_authorization on authorization_tokens (authorization_id, kind, created_at desc);
create index authorization_tokens_expired on authorization_tokens (expires_at);

call declare_audit('authorizations', 'Authorization', named => 'stored.client_name');
