-- Skills: folders of instructions and files that agents may have, in versions that never change. A version's files are an
-- archive in the object store.

create table skills (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  owner_user_id uuid not null references users (id),
  name text not null check (length(name) between 1 and 64), -- of every version
  display_name text not null check (length(display_name) between 1 and 255),
  latest_version_id uuid not null,          -- the newest that is left
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index skills_owner on skills (organization_id, owner_user_id, id desc);
create index skills_owner_user on skills (owner_user_id);

-- One row for each archive that may be in the object store, from before its first byte until after its last.
create table skill_archives (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  size_bytes bigint not null default 0,
  reserved_bytes bigint not null default 0, -- that may still arrive
  writing_until timestamptz                 -- null once it was stored whole
);
create index skill_archives_organization on skill_archives (organization_id);

create table skill_versions (
  id uuid primary key references skill_archives (id),
  skill_id uuid not null references skills (id) on delete cascade,
  name text not null,                       -- the skill's
  description text not null check (length(description) between 1 and 1024),
  instructions text not null,               -- SKILL.md after its front matter
  files jsonb not null,                     -- paths inside the folder, and sizes
  unpacked_bytes bigint not null,
  archive_bytes bigint not null,
  created_at timestamptz not null default now()
);
create index skill_versions_skill on skill_versions (skill_id, id desc);
