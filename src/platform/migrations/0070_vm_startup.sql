-- At which step a VM is that is being created or started, and since when; only of steps that last.

set local lock_timeout = '10s'; -- the table is locked for its triggers

alter table vms
  add column startup_step text check (startup_step in
    ('building_template', 'starting_machine', 'waiting_for_server', 'preparing_guest', 'cloning_repositories', 'joining_project')),
  add column startup_at timestamptz;

call declare_organization_events('vms', 'Vm',
  '{name,status,status_reason,startup_step,project_id,vcpu_count,memory_mb,disk_mb,expires_at,idle_seconds,idle_action}',
  who => 'stored.owner_user_id', hidden => 'stored.purpose is not null or stored.status = ''deleted''');
