-- Certificates of domains: one for each organization and host name. The worker obtains them from an ACME authority; without
-- one, the edge signs with the node's own authority, and the row only says so.

create table certificates (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  domain_id uuid not null, -- the domain that asked for it last
  host text not null check (host = lower(host) and length(host) between 1 and 253), -- may begin with *.
  status text not null check (status in ('pending', 'issued', 'failed')),
  reason text check (length(reason) <= 500), -- why there is none, or why it was not renewed
  issuer text, -- the directory of the ACME authority, or own
  chain text, -- PEM, the certificate itself first
  sealed_key bytea,
  not_before timestamptz,
  not_after timestamptz,
  attempts integer not null default 0, -- that failed, since the last success
  next_attempt_at timestamptz, -- null: nothing is to be done
  held_until timestamptz, -- the authority asked not to come back earlier
  queued_until timestamptz, -- until then a job is on its way
  claim bigint not null default 0, -- fencing token: the number of the worker's claim
  claimed_until timestamptz,
  order_url text, -- of the order that is under way at the authority
  sealed_order_key bytea, -- the private key that this order is for
  challenges jsonb not null default '[]', -- what the edge answers while the authority looks: type, token, answer
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (organization_id, host)
);
create index certificates_host on certificates (host);
create index certificates_domain on certificates (domain_id);
create index certificates_due on certificates (next_attempt_at) where next_attempt_at is not null;

-- Orders at the authority, of the last week, so that nobody orders more than is fair.
create table certificate_orders (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  host text not null,
  created_at timestamptz not null default now()
);
create index certificate_orders_organization on certificate_orders (organization_id, created_at);
create index certificate_orders_created on certificate_orders (created_at);

-- The account of this installation at each authority.
create table acme_accounts (
  directory text primary key,
  sealed_key bytea not null,
  account_url text,
  created_at timestamptz not null default now()
);
