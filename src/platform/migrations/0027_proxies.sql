-- Proxy entries: a port of a VM under a host name of the edge. The route of an entry has its id.

create table proxies (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  user_id uuid references users (id),     -- who made it; null: an API key
  vm_id uuid not null references vms (id),
  service_name text not null check (service_name ~ '^[a-z][a-z0-9-]{0,62}$'),
  vm_port integer not null check (vm_port between 1 and 65535),
  deployment_type text not null check (deployment_type in ('vm', 'preview', 'database')),
  host text not null,
  path text not null,
  domain_id uuid,                         -- the custom domain that its host belongs to; null: a name of the platform
  wakes boolean not null,                 -- whether a request resumes its VM
  created_at timestamptz not null default now(),
  constraint proxies_service_name unique (vm_id, service_name)
);
create index proxies_organization on proxies (organization_id, id desc);
create index proxies_vm on proxies (vm_id, id desc);
create index proxies_user on proxies (user_id);
create index proxies_domain on proxies (domain_id) where domain_id is not null;

alter table routes add column wakes boolean not null default false; -- whether a request resumes the VM it leads to

-- The end of a VM's id is part of the names that are made for it.
create index vms_id_end on vms (right(id::text, 10));
