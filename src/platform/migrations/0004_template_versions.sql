-- A build that makes a template of a name that is taken takes the name over. The old disk goes when no VM is left that started from it.

alter table templates add column deleted_at timestamptz;
drop index templates_name;
create unique index templates_name on templates (coalesce(organization_id, '00000000-0000-0000-0000-000000000000'), name) where deleted_at is null;
create index templates_deleted on templates (node_id) where deleted_at is not null;
