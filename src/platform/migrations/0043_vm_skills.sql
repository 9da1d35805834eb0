-- Which versions of skills are in which VM: each is put there once, for all sessions that work in it.

create table vm_skills (
  vm_id uuid not null references vms (id) on delete cascade,
  skill_version_id uuid not null references skill_versions (id) on delete cascade,
  placed_at timestamptz not null default now(),
  primary key (vm_id, skill_version_id)
);
create index vm_skills_version on vm_skills (skill_version_id);
