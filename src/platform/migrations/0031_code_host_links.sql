-- Links to a code host: a person's account there, with its sealed tokens, and what may use it.

create table code_host_links (
  id uuid primary key,
  user_id uuid not null unique references users (id),
  url text not null check (length(url) <= 2048), -- of the code host that gave the tokens: no other one is sent them
  account_id bigint not null,                    -- the code host's own id for the account
  username text not null check (length(username) between 1 and 255),
  scopes text[] not null,
  token_preview text not null check (length(token_preview) <= 9),
  installed boolean not null,                    -- as last seen
  sealed_tokens bytea not null,
  expires_at timestamptz,                        -- of the access token; null: never
  token_generation integer not null default 1,   -- grows with every change of the tokens
  refused_generation integer,                    -- whose refresh token the code host refused for good
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- Authorizations that were begun: each may be completed once, by the person who began it.
create table code_host_states (
  digest bytea primary key,                      -- of the state that travels through the browser
  user_id uuid not null references users (id),
  expires_at timestamptz not null
);
create index code_host_states_user on code_host_states (user_id, expires_at);

-- Whose account git uses in a VM, and for the checkout of a build: that of the person who ordered it, with a token of their own.
alter table vms add column code_host_link_id uuid references code_host_links (id) on delete set null;
create index vms_code_host_link on vms (code_host_link_id);
alter table build_jobs add column code_host_link_id uuid references code_host_links (id) on delete set null;
create index build_jobs_code_host_link on build_jobs (code_host_link_id);
