-- VMs that nobody uses are paused or stopped, and woken by whoever comes.

alter table vms
  add column idle_seconds integer check (idle_seconds between 10 and 2592000), -- without use; null is never
  add column idle_action text not null default 'pause' check (idle_action in ('pause', 'stop')),
  add column active_at timestamptz not null default now(), -- when it was last used, as far as was recorded
  add column sleeps boolean not null default false; -- it rests because nobody used it, or is on its way there or back
create index vms_idle on vms (node_id) where idle_seconds is not null and status = 'running';

alter table vm_processes add column ends_at timestamptz; -- when its time is over; null is never
