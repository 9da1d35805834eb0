-- What is put into the VM of a session: files, and clones of repositories. Tokens are for the way out of the VM alone.

create table session_resources (
  id uuid primary key,
  session_id uuid not null references sessions (id) on delete cascade,
  type text not null check (type in ('file', 'github_repository')),
  mount_path text not null check (length(mount_path) between 2 and 1024),
  file_id uuid,                             -- of a file, which may be deleted meanwhile
  url text,                                 -- of a repository, without credentials
  checkout jsonb,                           -- a branch or a commit; null: the default branch
  sealed_token bytea,                       -- for git at that repository
  vm_id uuid,                               -- the VM that it was last put into, or is being put into
  placed_at timestamptz,                    -- since when it is there; null while it is not
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (session_id, mount_path),
  check ((type = 'file') = (file_id is not null)),
  check ((type = 'github_repository') = (url is not null)),
  check (type = 'github_repository' or (checkout is null and sealed_token is null))
);
create index session_resources_vm on session_resources (vm_id) where sealed_token is not null;

-- Environments of a single run that have a VM: few at any time, and looked for often.
create index environments_own_vm on environments (id) where ephemeral and vm_id is not null;
