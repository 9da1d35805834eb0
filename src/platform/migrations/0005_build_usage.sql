-- A build's machine is used like a VM and costs the same; the artifacts of old builds are removed.

alter table usage_sessions alter column vm_id drop not null;
alter table usage_sessions add column build_job_id uuid references build_jobs (id);
alter table usage_sessions add check (num_nonnulls(vm_id, build_job_id) = 1);
create unique index usage_sessions_open_build on usage_sessions (build_job_id) where ended_at is null;
create index usage_sessions_build on usage_sessions (build_job_id);

create index build_jobs_artifacts on build_jobs (finished_at) where output ->> 'type' = 'artifact' and output ->> 'key' is not null;
