-- Routes of the edge: which host name and path lead to which port of a VM, or to which function. A route has the id of the
-- proxy entry or domain that it belongs to.

create table routes (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  kind text not null check (kind in ('proxy', 'domain')),
  host text not null check (host = lower(host) and length(host) between 1 and 253), -- may begin with *.
  path text not null default '/' check (path like '/%' and length(path) <= 1024),
  access text not null default 'public' check (access in ('public', 'preview', 'database')),
  vm_id uuid references vms (id),
  vm_port integer check (vm_port between 1 and 65535),
  function_id uuid,
  unique (host, path),
  check (num_nonnulls(vm_id, function_id) <= 1),
  check ((vm_id is null) = (vm_port is null))
);
create index routes_organization on routes (organization_id);
create index routes_vm on routes (vm_id);
create index routes_function on routes (function_id);
