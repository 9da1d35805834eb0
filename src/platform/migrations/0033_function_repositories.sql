-- Repositories at the code host that are linked to functions: a push to one is built and deployed.

create table function_repositories (
  id uuid primary key,                     -- also names the webhook's address
  function_id uuid not null references functions (id),
  organization_id uuid not null references organizations (id),
  user_id uuid not null references users (id), -- who linked it: builds use their rights and their account
  url text not null check (length(url) <= 2048), -- of the code host
  repository_id bigint not null,           -- the code host's own id: it stays when the repository is renamed
  full_name text not null check (length(full_name) between 3 and 511),
  clone_url text not null check (length(clone_url) <= 2048),
  branch text not null check (length(branch) between 1 and 255),
  sealed_spec bytea not null,              -- of the builds, without the function's name
  sealed_secret bytea not null,            -- with which the code host signs pushes
  hook_id bigint,                          -- of the webhook there, if Berth made it
  pushes_received integer not null default 0,
  removed_at timestamptz,                  -- set once it is unlinked; its webhook is then removed
  created_at timestamptz not null default now()
);
create unique index function_repositories_function on function_repositories (function_id) where removed_at is null;
create index function_repositories_all on function_repositories (function_id);
create index function_repositories_organization on function_repositories (organization_id);
create index function_repositories_user on function_repositories (user_id);
create index function_repositories_removed on function_repositories (removed_at) where removed_at is not null;

-- Pushes to them, each remembered for some days, so that one that is delivered again is built once.
create table function_pushes (
  repository_id uuid not null references function_repositories (id) on delete cascade,
  position integer not null,               -- in the order of receipt
  delivery text not null check (length(delivery) between 1 and 100), -- the code host's own id of the push
  commit_sha text not null check (commit_sha ~ '^[0-9a-f]{40,64}$'),
  pushed_at bigint,                        -- Unix seconds as the code host says, if it does
  build_id uuid references build_jobs (id),
  reason text check (length(reason) <= 1000), -- why nothing was built, or deployed
  deployed_at timestamptz,
  received_at timestamptz not null default now(),
  primary key (repository_id, position),
  unique (repository_id, delivery)
);
create index function_pushes_build on function_pushes (build_id);
create index function_pushes_received on function_pushes (received_at);
