-- One stream for each organization of everything that its lists show. The database writes it, in the transaction of each change:
-- whoever changes a row need not think of it. `transaction` orders events so that none can come before one that was read: once no
-- transaction of a lower number is running, nothing is added below it. No counter is locked for that.

set local lock_timeout = '10s'; -- each table is locked for its triggers

create table organization_events (
  transaction bigint not null default pg_current_xact_id()::text::bigint,
  id bigint generated always as identity,
  organization_id uuid not null,
  owner_user_id uuid, -- null: every member may see it
  type text not null check (length(type) <= 50), -- of the node: its name in the graph
  node_id text not null check (length(node_id) <= 50),
  change text not null check (change in ('created', 'updated', 'deleted')),
  created_at timestamptz not null default clock_timestamp(),
  primary key (transaction, id)
);
create index organization_events_organization on organization_events (organization_id, transaction, id);

-- Makes a table's rows nodes of this stream: when one is made or goes, and when one of the columns changes.
-- node: finds the node's id, and who: the person who alone may see it; both of the row `stored`.
-- hidden: the rows that are no nodes, such as those of which only the name of a deleted one is left.
create procedure declare_organization_events(watched text, type text, columns text[], node text default 'stored.id', who text default 'null',
  hidden text default 'false')
language plpgsql as $make$
declare
  maker text := 'organization_events_of_' || watched;
begin
  execute format($sql$
    create or replace function %I() returns trigger language plpgsql as $body$
    declare
      was boolean := false;
      is_there boolean := false;
    begin
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
          insert into organization_events (organization_id, owner_user_id, type, node_id, change)
          values (stored.organization_id, %s, %L, %s, case when was then 'updated' else 'created' end);
        end;
      elsif was then
        declare stored alias for old;
        begin
          insert into organization_events (organization_id, owner_user_id, type, node_id, change)
          values (stored.organization_id, %s, %L, %s, 'deleted');
        end;
      end if;
      return null;
    end $body$ $sql$, maker, hidden, hidden, who, type, node, who, type, node);
  execute format('create or replace trigger organization_events_rows after insert or delete on %I for each row execute function %I()', watched, maker);
  execute format('create or replace trigger organization_events_changes after update of %s on %I for each row when (%s) execute function %I()',
    (select string_agg(format('%I', one), ', ') from unnest(columns) one), watched,
    (select string_agg(format('old.%1$I is distinct from new.%1$I', one), ' or ') from unnest(columns) one), maker);
end $make$;

call declare_organization_events('agents', 'Agent', '{version,archived_at}', who => 'stored.owner_user_id');
call declare_organization_events('api_keys', 'ApiKey', '{name,revoked_at,expires_at}', node => 'stored.key_id');
call declare_organization_events('backup_schedules', 'BackupSchedule', '{cron,timezone,enabled,keep_count,keep_days,last_run_at,last_error}');
call declare_organization_events('build_jobs', 'Build', '{status}');
call declare_organization_events('database_backups', 'Backup', '{status,error,verified_at,verification_error}');
call declare_organization_events('database_restores', 'DatabaseRestore', '{status,step,error}');
call declare_organization_events('databases', 'Database', 
  '{name,status,status_reason,project_id,function_id,vcpu_count,memory_mb,disk_mb,client_mode_enabled,sleep_after_seconds,deleted_at}',
  hidden => 'stored.deleted_at is not null');
call declare_organization_events('deployment_runs', 'DeploymentRun', '{session_id,error}', who => 'stored.owner_user_id');
call declare_organization_events('deployments', 'Deployment', '{name,description,agent_id,agent_version,status,paused_reason,last_run_at,archived_at}',
  who => 'stored.owner_user_id');
call declare_organization_events('domains', 'Domain', '{name,path,status,status_reason,service_id,vm_id,vm_port,function_id,records}');
call declare_organization_events('environments', 'Environment', '{name,description,status,status_reason,vm_id,archived_at}', who => 'stored.owner_user_id',
  hidden => 'stored.ephemeral');
call declare_organization_events('files', 'File', '{filename,stored_at,deleted_at,expires_at}', who => 'stored.owner_user_id',
  hidden => 'stored.stored_at is null or stored.deleted_at is not null');
call declare_organization_events('folders', 'Folder', '{name,node_id,size_mb,deleted_at}',
  hidden => 'stored.deleted_at is not null or stored.purpose is not null');
call declare_organization_events('functions', 'Function', '{name,status,status_reason,version_id,vcpu_count,memory_mb,idle_seconds,deleted_at}',
  hidden => 'stored.deleted_at is not null');
call declare_organization_events('groups', 'Group', '{name,description,revision}', who => 'stored.owner_user_id');
call declare_organization_events('mcp_connections', 'ConnectedService', '{scope,missing_scope,connected_at}', who => 'stored.owner_user_id');
call declare_organization_events('memberships', 'Member', '{role,deactivated_at}', hidden => 'stored.deactivated_at is not null');
call declare_organization_events('memories', 'Memory', '{revision}', who => 'stored.owner_user_id');
call declare_organization_events('peer_exchanges', 'PeerExchange', '{status}', who => 'stored.owner_user_id');
call declare_organization_events('projects', 'Project', '{name}');
call declare_organization_events('proxies', 'Proxy', '{service_name,vm_port,deployment_type,host,path,domain_id,wakes}');
call declare_organization_events('schedules', 'Schedule', '{agent_id,agent_version,deployment_id,cron,timezone,enabled,last_run_at,last_session_id,last_error}',
  who => 'stored.owner_user_id');
call declare_organization_events('sessions', 'Session', '{title,metadata,status,stop_reason,shared_at,archived_at}', who => 'stored.owner_user_id');
call declare_organization_events('skills', 'Skill', '{name,display_name,latest_version_id}', who => 'stored.owner_user_id');
call declare_organization_events('templates', 'Template', '{name,description,size_bytes,deleted_at}',
  hidden => 'stored.organization_id is null or stored.deleted_at is not null');
call declare_organization_events('trigger_fires', 'TriggerFire', '{status,session_id}',
  who => '(select owner_user_id from triggers where id = stored.trigger_id)',
  hidden => 'not exists (select from triggers where id = stored.trigger_id)'); -- with its trigger they all go
call declare_organization_events('triggers', 'Trigger', '{agent_id,agent_version,deployment_id,enabled,last_fired_at}', who => 'stored.owner_user_id');
call declare_organization_events('vaults', 'Vault', '{display_name,metadata,archived_at}', who => 'stored.owner_user_id');
call declare_organization_events('vms', 'Vm', '{name,status,status_reason,project_id,vcpu_count,memory_mb,disk_mb,expires_at,idle_seconds,idle_action}',
  who => 'stored.owner_user_id', hidden => 'stored.purpose is not null or stored.status = ''deleted''');
call declare_organization_events('webhook_endpoints', 'WebhookEndpoint', '{url,description,enabled,disabled_reason}');
