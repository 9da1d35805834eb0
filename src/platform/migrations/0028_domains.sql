-- Custom domains: names that organizations claim, prove by DNS records, and link to a port of a VM or to a function.

create table domains (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  user_id uuid references users (id),              -- who claimed it
  name text not null check (name = lower(name) and length(name) between 1 and 253), -- A-labels; may begin with *.
  path text not null default '/' check (path like '/%' and length(path) <= 1024),
  status text not null check (status in ('pending', 'verified', 'active', 'failed')),
  status_reason text,                              -- why it failed, or what is missing
  verify_ownership boolean not null default true,
  verification_token text not null check (verification_token ~ '^[0-9a-f]{32}$'),
  service_id uuid,                                 -- a new one for each link
  vm_id uuid references vms (id),
  vm_port integer check (vm_port between 1 and 65535),
  function_id uuid,
  records jsonb not null default '[]',             -- what the last check saw, record by record
  event_position bigint not null default 0,
  pending_since timestamptz,                       -- from when on the checks and the 72 hours count; null unless pending
  checked_at timestamptz,                          -- when a check last ended
  next_check_at timestamptz,                       -- null: not checked by itself any more
  check_number bigint not null default 0,          -- counts the checks that have begun: each has its own as a fencing token
  checked_number bigint not null default 0,        -- that of the check that wrote last; an earlier one writes nothing any more
  check_ends_at timestamptz,                       -- the lease of that check; null when none is running
  lost_at timestamptz,                             -- since when the name has not led here, for one that was verified
  verified_at timestamptz,
  activated_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (organization_id, name),
  check (num_nonnulls(vm_id, function_id) <= 1),
  check ((vm_id is null) = (vm_port is null)),
  check ((service_id is null) = (num_nonnulls(vm_id, function_id) = 0)),
  check ((status = 'pending') = (pending_since is not null))
);
-- Any number of organizations may claim a name; one has it.
create unique index domains_proved on domains (name, path) where status in ('verified', 'active');
create index domains_name on domains (name);
create index domains_organization on domains (organization_id, id desc);
create index domains_user on domains (user_id);
create index domains_vm on domains (vm_id);
create index domains_function on domains (function_id);
create index domains_due on domains (next_check_at) where next_check_at is not null;
create index domains_due_of_organization on domains (organization_id, next_check_at) where next_check_at is not null;
create index domains_being_checked on domains (organization_id, check_ends_at) where check_ends_at is not null;

-- What a subscription to a domain resumes from; the position grows under the lock of the domain's row.
create table domain_events (
  domain_id uuid not null references domains (id) on delete cascade,
  position bigint not null,
  status text not null check (status in ('pending', 'verified', 'active', 'failed')),
  status_reason text,
  target text,                                     -- vm:<id>:<port> or function:<id>; null while it is not linked
  created_at timestamptz not null default now(),
  primary key (domain_id, position)
);
