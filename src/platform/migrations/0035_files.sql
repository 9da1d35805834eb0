-- Files of the agents service. A row that callers see has all its bytes in the object store: they are complete before
-- stored_at is set, and removed only after deleted_at is.

create table files (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid not null references users (id),
  filename text check (length(filename) between 1 and 255),
  mime_type text check (length(mime_type) between 3 and 255),
  size_bytes bigint,
  sha256 text,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  stored_at timestamptz,                    -- when it was complete; null while its bytes arrive
  deleted_at timestamptz,                   -- its bytes may be gone
  reserved_bytes bigint not null default 0, -- that may still arrive
  writing_until timestamptz,                -- a lease on the upload, which its process renews
  check (stored_at is null or (filename is not null and mime_type is not null and size_bytes is not null and sha256 is not null))
);
create index files_owner on files (organization_id, owner_user_id, id desc);
create index files_owner_user on files (owner_user_id);
create index files_incomplete on files (writing_until) where stored_at is null or deleted_at is not null;
create index files_expiring on files (expires_at) where expires_at is not null;
