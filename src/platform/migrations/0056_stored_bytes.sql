-- How many bytes of a caller's size each organization stores, by room. Triggers count them in the transaction that writes the rows,
-- so a count is true after any rollback or crash. Each backend of Postgres adds in a row of its own, so no two writers wait for each
-- other; upkeep folds the rows together, into that of backend 0.

create table stored_bytes (
  organization_id uuid not null,    -- or the person's id, where a caller has no organization
  room text not null check (room in ('answers', 'definitions', 'transcripts', 'logs', 'deliveries')),
  part integer not null default 0,  -- what is forgotten at once: the day of lines of builds
  backend integer not null,
  bytes bigint not null,
  primary key (organization_id, room, part, backend)
) with (fillfactor = 50);

-- Counts columns of a table from now on, and what is in them already. The expressions name the row `stored`. The declaration is the
-- comment on the trigger's function, where tests and the recount read it. To count other columns, call it again.
-- organization: finds the row's organization, which must be there while the row is deleted: see delete_first.
-- bytes: by default the octets of all the columns, JSON and lists as text.
create procedure count_stored_bytes(counted text, room text, organization text, columns text[], bytes text default null, part text default '0')
language plpgsql as $make$
declare
  counter text := 'stored_bytes_of_' || counted;
  size text := coalesce(bytes, (
    select string_agg(format(case when atttypid in ('text'::regtype, 'bytea'::regtype) then 'coalesce(octet_length(stored.%I), 0)'
      else 'coalesce(octet_length(stored.%I::text), 0)' end, attname), ' + ' order by attnum)
    from pg_attribute where attrelid = counted::regclass and attname = any(columns)));
  add text := format($sql$
    insert into stored_bytes as kept (organization_id, room, part, backend, bytes)
    select whose, %L, part, pg_backend_pid(), sum(size) from (%%s) counted where whose is not null group by whose, part having sum(size) <> 0
    on conflict (organization_id, room, part, backend) do update set bytes = kept.bytes + excluded.bytes$sql$, room);
  rows text := format('select (%s) as whose, (%s) as part, %%s(%s)::bigint as size from %%s stored', organization, part, size);
begin
  execute format($sql$
    create or replace function %I() returns trigger language plpgsql as $body$
    begin
      if tg_op = 'INSERT' then %s;
      elsif tg_op = 'DELETE' then %s;
      else %s;
      end if;
      return null;
    end $body$ $sql$, counter,
    format(add, format(rows, '', 'added')), format(add, format(rows, '-', 'removed')),
    format(add, format(rows, '', '(select new.*)') || ' union all ' || format(rows, '-', '(select old.*)')));
  execute format('comment on function %I() is %L', counter,
    json_build_object('table', counted, 'room', room, 'organization', organization, 'columns', columns, 'bytes', size, 'part', part));
  execute format('create or replace trigger stored_bytes_added after insert on %I referencing new table as added for each statement execute function %I()', counted, counter);
  execute format('create or replace trigger stored_bytes_removed after delete on %I referencing old table as removed for each statement execute function %I()', counted, counter);
  execute format('create or replace trigger stored_bytes_changed after update of %s on %I for each row execute function %I()',
    (select string_agg(format('%I', one), ', ') from unnest(columns) one), counted, counter);
  execute format('insert into stored_bytes as kept (organization_id, room, part, backend, bytes)
    select whose, %L, part, 0, sum(size) from (%s) counted where whose is not null group by whose, part having sum(size) <> 0
    on conflict (organization_id, room, part, backend) do update set bytes = kept.bytes + excluded.bytes', room, format(rows, '', format('%I', counted)));
end $make$;

-- Rows that are deleted with another, whose organization is found by it, must be deleted while it is still there.
create function delete_first() returns trigger language plpgsql as $body$
begin
  execute format('delete from %I where %I = $1', tg_argv[0], tg_argv[1]) using old.id;
  return old;
end $body$;
create trigger delete_versions_first before delete on agents for each row execute function delete_first('agent_versions', 'agent_id');
create trigger delete_versions_first before delete on skills for each row execute function delete_first('skill_versions', 'skill_id');
create trigger delete_credentials_first before delete on vaults for each row execute function delete_first('vault_credentials', 'vault_id');
create trigger delete_messages_first before delete on groups for each row execute function delete_first('group_messages', 'group_id');
create trigger delete_events_first before delete on sessions for each row execute function delete_first('session_events', 'session_id');
create trigger delete_reasoning_first before delete on sessions for each row execute function delete_first('session_reasoning', 'session_id');
create trigger delete_resources_first before delete on sessions for each row execute function delete_first('session_resources', 'session_id');
create trigger delete_secrets_first before delete on sessions for each row execute function delete_first('session_secrets', 'session_id');
create trigger delete_streams_first before delete on session_tasks for each row execute function delete_first('task_streams', 'task_id');
create trigger delete_attempts_first before delete on webhook_deliveries for each row execute function delete_first('webhook_attempts', 'delivery_id');

-- A build that has ended is not made again from its order.
alter table build_jobs alter column sealed_spec drop not null;
alter table build_jobs add constraint build_jobs_spec_check check (sealed_spec is not null or status in ('succeeded', 'failed', 'cancelled'));
update build_jobs set sealed_spec = null where status in ('succeeded', 'failed', 'cancelled');

call count_stored_bytes('idempotency_keys', 'answers',
  'case when left(stored.caller, 4) = ''usr:'' then coalesce(nullif(split_part(stored.caller, '':'', 3), ''''), split_part(stored.caller, '':'', 2))::uuid
    else (select organization_id from api_keys where key_id = substr(stored.caller, 5)) end', array['sealed_response']);

call count_stored_bytes('agents', 'definitions', 'stored.organization_id', array['definition']);
call count_stored_bytes('agent_versions', 'definitions', 'select organization_id from agents where id = stored.agent_id', array['definition']);
call count_stored_bytes('environments', 'definitions', 'stored.organization_id', array['config', 'description', 'metadata']);
call count_stored_bytes('deployments', 'definitions', 'stored.organization_id', array['description', 'environment_config', 'kickoff', 'metadata', 'vault_ids']);
call count_stored_bytes('schedules', 'definitions', 'stored.organization_id', array['kickoff']);
call count_stored_bytes('skill_versions', 'definitions', 'select organization_id from skills where id = stored.skill_id', array['description', 'files', 'instructions']);
call count_stored_bytes('vaults', 'definitions', 'stored.organization_id', array['metadata']);
call count_stored_bytes('vault_credentials', 'definitions', 'select organization_id from vaults where id = stored.vault_id', array['auth', 'key', 'metadata', 'sealed_secrets']);
call count_stored_bytes('memories', 'definitions', 'stored.organization_id', array['body']);
call count_stored_bytes('database_auth_issuers', 'definitions', 'select organization_id from databases where id = stored.database_id', array['audience', 'issuer', 'jwks_uri']);
call count_stored_bytes('functions', 'definitions', 'stored.organization_id', array['sealed_variables']);
call count_stored_bytes('function_versions', 'definitions', 'stored.organization_id', array['binary_url', 'start_command']);
call count_stored_bytes('function_repositories', 'definitions', 'stored.organization_id', array['clone_url', 'sealed_spec', 'url']);
call count_stored_bytes('mcp_authorizations', 'definitions', 'select organization_id from mcp_people where id = stored.person_id', array['came_back_from', 'issuer', 'return_url', 'sealed_order']);
call count_stored_bytes('mcp_choices', 'definitions', 'select organization_id from mcp_people where id = stored.person_id', array['disabled_tools']);
call count_stored_bytes('mcp_connections', 'definitions', 'stored.organization_id',
  array['client_id', 'issuer', 'missing_scope', 'resource', 'revocation_endpoint', 'scope', 'sealed_tokens', 'server_url', 'token_endpoint']);
-- Of a deleted VM the row stays, and nobody can make it smaller.
call count_stored_bytes('vms', 'definitions', 'stored.organization_id', array['metadata', 'network_policy', 'sealed_git_repos', 'status', 'warnings'],
  'case when stored.status = ''deleted'' then 0 else coalesce(octet_length(stored.metadata::text), 0) + coalesce(octet_length(stored.network_policy::text), 0)
    + coalesce(octet_length(stored.sealed_git_repos), 0) + coalesce(octet_length(stored.warnings::text), 0) end');
call count_stored_bytes('vm_env', 'definitions', 'select organization_id from vms where id = stored.vm_id', array['sealed_value']);

call count_stored_bytes('sessions', 'transcripts', 'stored.organization_id', array['agent_definition', 'metadata', 'outcomes', 'vault_ids']);
call count_stored_bytes('session_events', 'transcripts', 'select organization_id from sessions where id = stored.session_id', array['data'], 'stored.size_bytes');
call count_stored_bytes('session_reasoning', 'transcripts', 'select organization_id from sessions where id = stored.session_id', array['blocks']);
call count_stored_bytes('session_resources', 'transcripts', 'select organization_id from sessions where id = stored.session_id', array['checkout', 'mount_path', 'sealed_token', 'url']);
call count_stored_bytes('session_secrets', 'transcripts', 'select organization_id from sessions where id = stored.session_id', array['sealed_value']);
call count_stored_bytes('session_tasks', 'transcripts', 'stored.organization_id', array['answer']);
call count_stored_bytes('task_chunks', 'transcripts', 'select organization_id from session_tasks where id = stored.task_id', array['body']);
call count_stored_bytes('peer_exchanges', 'transcripts', 'stored.organization_id', array['answer', 'request_text']);
call count_stored_bytes('group_messages', 'transcripts', 'select organization_id from groups where id = stored.group_id', array['recipient_ids', 'text']);

call count_stored_bytes('build_jobs', 'logs', 'stored.organization_id', array['error', 'git_ref', 'output', 'repo_key', 'repo_url', 'sealed_source', 'sealed_spec', 'tail']);
call count_stored_bytes('build_log_lines', 'logs', 'select organization_id from build_jobs where id = stored.job_id', array['output'], null, '(stored.ms / 86400000)::integer');
call count_stored_bytes('function_log_lines', 'logs', 'select organization_id from functions where id = stored.function_id', array['output']);
call count_stored_bytes('function_events', 'logs', 'select organization_id from functions where id = stored.function_id', array['status_reason']);
call count_stored_bytes('vm_processes', 'logs', 'select organization_id from vms where id = stored.vm_id', array['command']);
call count_stored_bytes('webhook_events', 'logs', 'stored.organization_id', array['details']);
call count_stored_bytes('webhook_attempts', 'logs', 'select organization_id from webhook_deliveries where id = stored.delivery_id', array['answer', 'problem']);

call count_stored_bytes('trigger_deliveries', 'deliveries', 'stored.organization_id', array['payload', 'routed']);
