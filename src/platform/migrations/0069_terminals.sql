-- Terminals in VMs, and the tickets by which clients attach to them: each is used once, and only its digest is kept.

create table terminals (
  id uuid primary key,
  organization_id uuid not null references organizations,
  vm_id uuid not null references vms,
  user_id uuid references users, -- who opened it; null for an API key
  command text check (length(command) <= 1024), -- null: a login shell
  columns integer not null check (columns between 1 and 1000),
  rows integer not null check (rows between 1 and 1000),
  status text not null check (status in ('running', 'exited', 'closed')),
  exit_code integer,
  created_at timestamptz not null default now(),
  seen_at timestamptz not null default now(), -- when a client was last known to be attached
  finished_at timestamptz
);
create index terminals_vm on terminals (vm_id, id desc);
create index terminals_organization on terminals (organization_id, status);
create index terminals_user on terminals (user_id);
create index terminals_finished on terminals (finished_at) where finished_at is not null;

create table terminal_tickets (
  digest bytea primary key check (length(digest) = 32),
  terminal_id uuid not null references terminals on delete cascade,
  rights jsonb not null, -- of whoever asked for it, who is checked again
  expires_at timestamptz not null
);
create index terminal_tickets_terminal on terminal_tickets (terminal_id);
create index terminal_tickets_expires on terminal_tickets (expires_at);
