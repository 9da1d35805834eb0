-- Names of schedules and triggers, by which files that describe them find them again, and a mark of what a version of a function runs.

set local lock_timeout = '10s';

alter table schedules add column name text check (length(name) between 1 and 255);
create unique index schedules_name on schedules (organization_id, owner_user_id, name);

alter table triggers add column name text check (length(name) between 1 and 255);
create unique index triggers_name on triggers (organization_id, owner_user_id, name);

alter table function_versions add column revision text check (length(revision) between 1 and 255);
