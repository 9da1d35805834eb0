-- The least role whose builds may use a secret; what there is was set by admins, and stays theirs.
alter table build_secrets add column least_role text not null default 'admin' check (least_role in ('member', 'admin', 'owner'));
-- The role by which a build was submitted; null: before this, then the role of whoever submitted it counts alone.
alter table build_jobs add column submitted_role text check (submitted_role in ('viewer', 'member', 'admin', 'owner'));
