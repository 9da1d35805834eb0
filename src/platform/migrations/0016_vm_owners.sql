-- A VM that was made for one person is theirs alone; null: everybody's in the organization.
alter table vms add column owner_user_id uuid references users (id);
create index vms_owner on vms (owner_user_id);
update vms set owner_user_id = e.owner_user_id
  from environment_events h join environments e on e.id = h.environment_id where h.vm_id = vms.id;
update vms set owner_user_id = e.owner_user_id from environments e where e.vm_id = vms.id;
