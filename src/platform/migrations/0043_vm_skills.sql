-- Where the files of sessions' skills were put: each version that a session has, in the VM that it last worked in.

create table session_skills (
  session_id uuid not null references sessions (id) on delete cascade,
  skill_version_id uuid not null references skill_versions (id) on delete cascade,
  vm_id uuid not null,                      -- the VM that it was last put into, or is being put into
  path text not null,                       -- its folder there
  placed_at timestamptz,                    -- since when it is there; null while it is not
  primary key (session_id, skill_version_id)
);
create index session_skills_version on session_skills (skill_version_id);
create index session_skills_folder on session_skills (vm_id, path);
