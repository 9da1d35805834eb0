-- Requests to language models: what an organization may spend, what it has spent, and one row for each request.
-- Money is whole billionths of a US dollar. What was asked and answered is never stored.
-- At any quiet moment, for each organization: granted = balance + leases + the cost of its requests.

create table inference_accounts (
  organization_id uuid primary key references organizations (id),
  plan text check (length(plan) between 1 and 64), -- null: none
  balance_nano_usd bigint not null default 0 check (balance_nano_usd between -9000000000000000 and 9000000000000000), -- what no process holds; below zero is a debt
  monthly_budget_nano_usd bigint check (monthly_budget_nano_usd between 0 and 9000000000000000),
  settled_position bigint not null default 0 -- numbers what is settled, in the order in which it commits
);
insert into inference_accounts (organization_id, plan) select id, 'self_hosted' from organizations;

create table inference_key_budgets (
  organization_id uuid not null references organizations (id),
  key_id text not null references api_keys (key_id),
  monthly_budget_nano_usd bigint not null check (monthly_budget_nano_usd between 0 and 9000000000000000),
  primary key (organization_id, key_id)
);
create index inference_key_budgets_key on inference_key_budgets (key_id);

-- What operators gave, or, below zero, took back. Rows are only ever added.
create table inference_grants (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  amount_nano_usd bigint not null check (amount_nano_usd <> 0),
  granted_by text not null check (length(granted_by) between 1 and 255),
  note text check (length(note) between 1 and 1000),
  created_at timestamptz not null default now()
);
create index inference_grants_organization on inference_grants (organization_id, id);

-- Processes that serve requests to models. One that is silent is dead: others give its leases back.
create table inference_processes (
  id uuid primary key,
  flushes bigint not null default 0, -- how many batches of the ledger it has written: each is written once, however often it is sent
  seen_at timestamptz not null default now()
);
create index inference_processes_seen on inference_processes (seen_at);

-- The part of an organization's balance that a process spends by itself. Below zero when a request cost more than was set aside.
create table credit_leases (
  process_id uuid not null, -- not a reference: whoever was taken for dead may live, and is then noticed again
  organization_id uuid not null references organizations (id),
  amount_nano_usd bigint not null,
  primary key (process_id, organization_id)
);
create index credit_leases_organization on credit_leases (organization_id);

-- The ledger. No references: each would cost a look-up and a lock for every request, and what they would name is never deleted.
create table inference_requests (
  organization_id uuid not null,
  id uuid not null,
  key_id text,
  user_id uuid,
  model text not null,
  upstream text,
  route text not null check (route in ('chat.completions', 'chat', 'graphql', 'agent')),
  status text not null check (status in ('open', 'completed', 'cut_by_client', 'cut_by_upstream', 'failed', 'lost')),
  input_tokens bigint not null check (input_tokens >= 0),
  output_tokens bigint not null check (output_tokens >= 0),
  cache_read_tokens bigint not null check (cache_read_tokens >= 0),
  cache_write_tokens bigint not null check (cache_write_tokens >= 0),
  reasoning_tokens bigint not null check (reasoning_tokens >= 0),
  cost_nano_usd bigint not null check (cost_nano_usd >= 0),
  process_id uuid not null,
  settled_position bigint,
  started_at timestamptz not null,
  ended_at timestamptz,
  primary key (organization_id, id),
  check ((status = 'open') = (ended_at is null)),
  check ((status = 'open') = (settled_position is null))
);
create index inference_requests_settled on inference_requests (organization_id, settled_position) where settled_position is not null;
create index inference_requests_key on inference_requests (organization_id, key_id, id) where key_id is not null;
create index inference_requests_model on inference_requests (organization_id, model, id);
create index inference_requests_open on inference_requests (process_id) where status = 'open';

-- The ledger's sums by day (UTC, of the start), always equal to it. What is added to them is below zero when a request's
-- last count is lower than the one before, so they have no checks: Postgres checks what is added, not what results.
create table inference_days (
  organization_id uuid not null,
  day date not null,
  model text not null,
  payer text not null check (payer ~ '^(key:.+|user:.+|system)$'), -- whose request it was
  requests bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  reasoning_tokens bigint not null,
  cost_nano_usd bigint not null,
  primary key (organization_id, day, model, payer)
);
