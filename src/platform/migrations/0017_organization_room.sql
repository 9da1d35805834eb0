-- What an organization holds of the nodes is counted before it gets more.
alter table nodes add column disk_mb integer check (disk_mb > 0); -- what all disks of the node may be promised together; null: not said, so not counted
alter table folders add column used_mb integer not null default 0 check (used_mb >= 0); -- what its disk takes while no VM has it; a VM's folder counts with the VM
create index folders_used on folders (node_id, organization_id) include (used_mb) where deleted_at is null and used_mb > 0;
