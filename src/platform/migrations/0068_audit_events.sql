-- Who did what to which object, from where. The transactions of a call say who makes it, in the setting berth.actor; the database
-- writes an event for each object that they change, in the same transaction. Workers set nothing, so what they do is not here.

set local lock_timeout = '10s'; -- each table is locked for its triggers

create table audit_events (
  id uuid primary key, -- grows with time, as the ids of nouns do
  organization_id uuid not null, -- no reference: to look it up costs as much as the rest
  actor_kind text not null check (actor_kind in ('person', 'api_key', 'vm_token', 'operator')),
  actor_user_id uuid, -- no reference: the event stays when the person goes, and names them no more
  actor_key_id text check (length(actor_key_id) <= 16),
  actor_vm_id uuid,
  operation text not null check (length(operation) <= 100),
  change text not null check (change in ('created', 'updated', 'deleted', 'used')),
  object_type text not null check (length(object_type) <= 50),
  object_id text not null check (length(object_id) <= 255),
  object_name text check (length(object_name) <= 255),
  address text check (length(address) <= 64),
  request_id uuid not null,
  created_at timestamptz not null
);
create index audit_events_organization on audit_events (organization_id, id desc);
-- One event for each object of an operation, however many transactions and statements change it.
create unique index audit_events_once on audit_events (organization_id, object_id, request_id, operation, object_type);

-- An id as the nouns have: the milliseconds first. Those of one millisecond have a counter behind them.
create sequence audit_events_order as integer maxvalue 4095 cycle;
create function audit_event_id(moment timestamptz) returns uuid language sql volatile as $$
  select (lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0') || to_hex(28672 + nextval('audit_events_order') % 4096)
    || right(gen_random_uuid()::text, 17))::uuid
$$;

-- Writes an event of each of these organizations by the caller of this transaction, of whom there must be one.
create function audit(organizations uuid[], noun text, object text, named text, changed text) returns void language plpgsql as $$
declare
  actor jsonb := current_setting('berth.actor')::jsonb;
  moment timestamptz := clock_timestamp();
begin
  insert into audit_events as written (id, organization_id, actor_kind, actor_user_id, actor_key_id, actor_vm_id, operation, change,
    object_type, object_id, object_name, address, request_id, created_at)
  select audit_event_id(moment), organization, actor->>'kind', (actor->>'userId')::uuid, actor->>'keyId', (actor->>'vmId')::uuid,
    actor->>'operation', changed, noun, left(object, 255), left(named, 255), left(actor->>'address', 64), (actor->>'requestId')::uuid, moment
  from unnest(organizations) organization
  where organization is not null
  on conflict (organization_id, object_id, request_id, operation, object_type)
  do update set change = excluded.change, object_name = coalesce(excluded.object_name, written.object_name)
  where excluded.change = 'deleted' or (excluded.change = 'created' and written.change <> 'created');
end $$;

-- Makes changes of a table's rows events, when a caller makes them. A change of nothing but `quiet` columns is none.
-- node, named: the object's id and its name; organizations: whose event it is; each of the row `stored`.
-- hidden: the rows that are no objects. part: whether the rows are parts of the object, so that any change is an update of it.
create procedure declare_audit(watched text, noun text, node text default 'stored.id', named text default 'null', hidden text default 'false',
  organizations text default 'array[stored.organization_id]', quiet text[] default '{}', part boolean default false)
language plpgsql as $make$
declare
  maker text := 'audit_of_' || watched;
  always_quiet text[] := '{updated_at,event_position,active_at,used_at,last_used_at,read_event_id,read_position,read_service_events}';
  quietly text := (
    select coalesce(string_agg(format('same.%1$I := old.%1$I;', column_name), ' '), '')
    from information_schema.columns
    where table_schema = current_schema() and table_name = watched and column_name = any(always_quiet || quiet));
begin
  execute format($sql$
    create or replace function %I() returns trigger language plpgsql as $body$
    declare
      was boolean := false;
      is_there boolean := false;
      same record;
    begin
      if tg_op = 'UPDATE' then
        same := new;
        %s
        if same *= old then return null; end if;
      end if;
      if tg_op <> 'INSERT' then
        declare stored alias for old;
        begin was := not (%s); end;
      end if;
      if tg_op <> 'DELETE' then
        declare stored alias for new;
        begin is_there := not (%s); end;
      end if;
      if is_there then
        declare stored alias for new;
        begin
          perform audit(%s, %L, (%s)::text, (%s)::text, case when was or %L then 'updated' else 'created' end);
        end;
      elsif was then
        declare stored alias for old;
        begin
          perform audit(%s, %L, (%s)::text, (%s)::text, case when %L then 'updated' else 'deleted' end);
        end;
      end if;
      return null;
    end $body$ $sql$, maker, quietly, hidden, hidden, organizations, noun, node, named, part, organizations, noun, node, named, part);
  execute format($sql$
    create or replace trigger audit_rows after insert or update or delete on %I for each row
    when (current_setting('berth.actor', true) <> '') execute function %I()$sql$, watched, maker);
end $make$;

call declare_audit('agents', 'Agent', named => 'stored.definition->>''name''');
call declare_audit('api_keys', 'ApiKey', node => 'stored.key_id', named => 'stored.name');
call declare_audit('backup_schedules', 'BackupSchedule');
call declare_audit('browser_sessions', 'BrowserSession', named => 'stored.user_agent',
  organizations => 'array(select organization_id from memberships where user_id = stored.user_id and deactivated_at is null)');
call declare_audit('build_jobs', 'Build');
call declare_audit('build_secrets', 'BuildSecret', node => 'stored.name', named => 'stored.name');
call declare_audit('code_host_links', 'CodeHostAccount', named => 'stored.username',
  organizations => 'array(select organization_id from memberships where user_id = stored.user_id and deactivated_at is null)',
  quiet => '{sealed_tokens,token_preview,expires_at,token_generation,refused_generation}');
call declare_audit('database_auth_issuers', 'Database', node => 'stored.database_id', part => true,
  named => '(select name from databases where id = stored.database_id)',
  organizations => 'array(select organization_id from databases where id = stored.database_id)');
call declare_audit('database_backups', 'Backup');
call declare_audit('database_restores', 'DatabaseRestore');
call declare_audit('databases', 'Database', named => 'stored.name', hidden => 'stored.deleted_at is not null');
call declare_audit('deployment_runs', 'DeploymentRun');
call declare_audit('deployments', 'Deployment', named => 'stored.name');
call declare_audit('domains', 'Domain', named => 'stored.name');
call declare_audit('environments', 'Environment', named => 'stored.name', hidden => 'stored.ephemeral');
call declare_audit('files', 'File', named => 'stored.filename', hidden => 'stored.stored_at is null or stored.deleted_at is not null');
call declare_audit('folders', 'Folder', named => 'stored.name', hidden => 'stored.deleted_at is not null or stored.purpose is not null',
  quiet => '{used_mb}');
call declare_audit('function_repositories', 'Function', node => 'stored.function_id', part => true,
  named => '(select name from functions where id = stored.function_id)');
call declare_audit('functions', 'Function', named => 'stored.name', hidden => 'stored.deleted_at is not null');
call declare_audit('groups', 'Group', named => 'stored.name');
call declare_audit('inference_accounts', 'Organization', node => 'stored.organization_id', part => true,
  named => '(select name from organizations where id = stored.organization_id)', quiet => '{balance_nano_usd,settled_position}');
call declare_audit('inference_key_budgets', 'ApiKey', node => 'stored.key_id', part => true,
  named => '(select name from api_keys where key_id = stored.key_id)');
call declare_audit('invitations', 'Invitation', named => 'stored.note');
call declare_audit('mcp_connections', 'ConnectedService', named => 'stored.service_id',
  quiet => '{sealed_tokens,expires_at,token_generation,refused_generation}');
call declare_audit('memberships', 'Member', hidden => 'stored.deactivated_at is not null');
call declare_audit('memories', 'Memory');
call declare_audit('organizations', 'Organization', named => 'stored.name', organizations => 'array[stored.id]',
  hidden => 'stored.deactivated_at is not null');
call declare_audit('peer_exchanges', 'PeerExchange');
call declare_audit('projects', 'Project', named => 'stored.name');
call declare_audit('proxies', 'Proxy', named => 'stored.service_name');
call declare_audit('schedules', 'Schedule');
call declare_audit('session_resources', 'Session', node => 'stored.session_id', part => true,
  named => '(select title from sessions where id = stored.session_id)',
  organizations => 'array(select organization_id from sessions where id = stored.session_id)');
call declare_audit('sessions', 'Session', named => 'stored.title');
call declare_audit('skill_versions', 'SkillVersion', named => 'stored.name',
  organizations => 'array(select organization_id from skills where id = stored.skill_id)');
call declare_audit('skills', 'Skill', named => 'stored.name');
call declare_audit('templates', 'Template', named => 'stored.name', hidden => 'stored.organization_id is null or stored.deleted_at is not null');
call declare_audit('triggers', 'Trigger', named => 'stored.repo');
call declare_audit('vault_credentials', 'VaultCredential', named => 'stored.display_name',
  organizations => 'array(select organization_id from vaults where id = stored.vault_id)');
call declare_audit('vaults', 'Vault', named => 'stored.display_name');
call declare_audit('vm_env', 'Vm', node => 'stored.vm_id', part => true, named => '(select name from vms where id = stored.vm_id)',
  organizations => 'array(select organization_id from vms where id = stored.vm_id and purpose is null)');
call declare_audit('vms', 'Vm', named => 'stored.name', hidden => 'stored.purpose is not null or stored.status = ''deleted''');
call declare_audit('webhook_endpoints', 'WebhookEndpoint', named => 'stored.description'); -- an address may have a secret in it

-- The events of an organization go with it.
create function forget_audit_of_organization() returns trigger language plpgsql as $$
begin
  delete from audit_events where organization_id = old.id;
  return null;
end $$;
create trigger audit_rows_go after delete on organizations for each row execute function forget_audit_of_organization();
