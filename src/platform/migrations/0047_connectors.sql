-- Connectors: services with tool servers, to which people sign in. Which there are is in a file of the operator's.

-- A person in an organization, as far as connectors go: one row for what they did there, which serializes it.
create table mcp_people (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid not null references users (id),
  event_position bigint not null default 0,
  unique (organization_id, owner_user_id)
);
create index mcp_people_owner_user on mcp_people (owner_user_id);

create table mcp_connections (
  id uuid primary key,
  person_id uuid not null references mcp_people (id) on delete cascade,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid not null references users (id), -- as in the person's row
  service_id text not null check (length(service_id) between 1 and 63),
  server_url text not null,                 -- its tokens go to this server and no other
  issuer text not null,                     -- who gave them
  token_endpoint text not null,
  revocation_endpoint text,
  client_id text not null,
  client_auth text not null check (client_auth in ('none', 'client_secret_basic', 'client_secret_post')),
  resource text,
  scope text,
  missing_scope text,                       -- what the server asked for and the token does not have
  sealed_tokens bytea not null,             -- and the client's secret
  expires_at timestamptz,
  token_generation integer not null default 1,
  refused_generation integer,               -- whose refresh token is not accepted again
  connected_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (person_id, service_id)
);
create index mcp_connections_owner on mcp_connections (organization_id, owner_user_id, id desc);
create index mcp_connections_owner_user on mcp_connections (owner_user_id);

-- What a person does not want of a service, and how many tools it had when it was last asked.
create table mcp_choices (
  person_id uuid not null references mcp_people (id) on delete cascade,
  service_id text not null check (length(service_id) between 1 and 63),
  disabled_tools text[] not null default '{}',
  tools_count integer not null default 0 check (tools_count >= 0),
  primary key (person_id, service_id)
);

-- Sign-ins that have begun. The state itself is not stored.
create table mcp_authorizations (
  digest bytea primary key,                 -- of the state
  person_id uuid not null references mcp_people (id) on delete cascade,
  service_id text not null,
  return_url text not null,
  issuer text not null,
  sealed_order bytea not null,              -- the code verifier, the client, and where to exchange the code
  came_back_from text,                      -- the issuer that the browser brought
  expires_at timestamptz not null
);
create index mcp_authorizations_person on mcp_authorizations (person_id, expires_at desc);

-- What Berth registered itself as, at authorization servers that take clients so.
create table mcp_clients (
  issuer text not null,
  redirect_url text not null,
  client_id text not null,
  client_auth text not null check (client_auth in ('none', 'client_secret_basic', 'client_secret_post')),
  sealed_secret bytea,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (issuer, redirect_url)
);

create table mcp_connection_events (
  person_id uuid not null references mcp_people (id) on delete cascade,
  position bigint not null,
  type text not null,
  service_id text not null,
  connection_id uuid,                       -- may be gone by now
  created_at timestamptz not null default now(),
  primary key (person_id, position)
);
