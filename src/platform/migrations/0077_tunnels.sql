-- Tickets for tunnels to ports of VMs: each is used once, and only its digest is kept.

create table tunnel_tickets (
  digest bytea primary key check (length(digest) = 32),
  vm_id uuid not null references vms on delete cascade,
  port integer not null check (port between 1 and 65535),
  rights jsonb not null, -- of whoever asked for it, who is checked again
  expires_at timestamptz not null
);
create index tunnel_tickets_vm on tunnel_tickets (vm_id);
create index tunnel_tickets_expires on tunnel_tickets (expires_at);
