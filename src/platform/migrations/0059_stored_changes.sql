-- What is stored is counted at a quarter of the cost. A change is a row of its own in stored_changes; a moment later upkeep adds
-- it to stored_bytes, so what an organization stores is the sum of both. A row that is appended costs less than a count that is
-- updated, and no two writers touch the same row.

create table stored_changes (
  organization_id uuid not null,
  room text not null,
  part integer not null,
  bytes bigint not null
); -- without a key: nothing names a row, and each would cost as much again
create index stored_changes_organization on stored_changes (organization_id);

create temporary table counted on commit drop as
  select organization_id, room, part, sum(bytes) as bytes from stored_bytes group by 1, 2, 3 having sum(bytes) <> 0;
truncate stored_bytes;
alter table stored_bytes drop constraint stored_bytes_pkey, drop column backend, add primary key (organization_id, room, part);
insert into stored_bytes (organization_id, room, part, bytes) select organization_id, room, part, bytes from counted;

-- Counts columns of a table from now on: those of a row in the statement that writes it, those of many rows (`many`, for tables
-- whose rows are written by the hundred) and those that are deleted after the statement. Rows do not move from one organization
-- or part to another. The expressions name the row `stored`; the declaration is the comment on the trigger's function, where
-- tests and the recount read it.
-- organization: finds the row's organization, which must be there while the row is deleted: see delete_first.
create procedure declare_stored_bytes(counted text, room text, organization text, columns text[], bytes text, part text, many boolean)
language plpgsql as $make$
declare
  counter text := 'stored_bytes_of_' || counted;
  add_rows text := format($sql$
    insert into stored_changes (organization_id, room, part, bytes)
    select whose, %L, part, sum(size) from (select (%s) as whose, (%s) as part, %%s(%s)::bigint as size from %%s stored) counted
    where whose is not null group by whose, part having sum(size) <> 0$sql$, room, organization, part, bytes);
begin
  execute format($sql$
    create or replace function %I() returns trigger language plpgsql as $body$
    declare
      changed_by bigint := 0;
      changed_for uuid;
      changed_on integer;
    begin
      if tg_op = 'DELETE' then %s; return null;
      elsif tg_level = 'STATEMENT' then %s; return null;
      end if;
      if tg_op = 'UPDATE' then
        declare stored alias for old;
        begin changed_by := -(%s); end;
      end if;
      declare stored alias for new;
      begin
        changed_by := changed_by + (%s);
        if changed_by = 0 then return null; end if;
        changed_for := (%s);
        changed_on := (%s);
      end;
      if changed_for is not null then
        insert into stored_changes (organization_id, room, part, bytes) values (changed_for, %L, changed_on, changed_by);
      end if;
      return null;
    end $body$ $sql$, counter, format(add_rows, '-', 'removed'), format(add_rows, '', 'added'), bytes, bytes, organization, part, room);
  execute format('comment on function %I() is %L', counter,
    json_build_object('table', counted, 'room', room, 'organization', organization, 'columns', columns, 'bytes', bytes, 'part', part));
  if many then
    execute format('create or replace trigger stored_bytes_added after insert on %I referencing new table as added for each statement execute function %I()', counted, counter);
  else
    execute format('create or replace trigger stored_bytes_added after insert on %I for each row %s execute function %I()', counted,
      (select case when not bool_or(attnotnull) then format('when (num_nonnulls(%s) > 0)', string_agg(format('new.%I', attname), ', ')) end
        from pg_attribute where attrelid = counted::regclass and attname = any(columns)), counter);
  end if;
  execute format('create or replace trigger stored_bytes_removed after delete on %I referencing old table as removed for each statement execute function %I()', counted, counter);
  execute format('create or replace trigger stored_bytes_changed after update of %s on %I for each row execute function %I()',
    (select string_agg(format('%I', one), ', ') from unnest(columns) one), counted, counter);
end $make$;

-- Counts columns of a table from now on, and what is in them already: by default the octets of all of them, JSON and lists as text.
drop procedure count_stored_bytes;
create procedure count_stored_bytes(counted text, room text, organization text, columns text[], bytes text default null, part text default '0', many boolean default false)
language plpgsql as $make$
declare
  size text := coalesce(bytes, (
    select string_agg(format(case when atttypid in ('text'::regtype, 'bytea'::regtype) then 'coalesce(octet_length(stored.%I), 0)'
      else 'coalesce(octet_length(stored.%I::text), 0)' end, attname), ' + ' order by attnum)
    from pg_attribute where attrelid = counted::regclass and attname = any(columns)));
begin
  call declare_stored_bytes(counted, room, organization, columns, size, part, many);
  execute format('insert into stored_changes (organization_id, room, part, bytes)
    select whose, %L, part, sum(size) from (select (%s) as whose, (%s) as part, (%s)::bigint as size from %I stored) counted
    where whose is not null group by whose, part having sum(size) <> 0', room, organization, part, size, counted);
end $make$;

-- The organization of a caller, or the person's id, where a caller has none: cheaper in a function than as an expression.
create function organization_of_caller(caller text) returns uuid language plpgsql stable as $body$
begin
  if left(caller, 4) = 'usr:' then return coalesce(nullif(split_part(caller, ':', 3), ''), split_part(caller, ':', 2))::uuid; end if;
  return (select organization_id from api_keys where key_id = substr(caller, 5));
end $body$;

do $$
declare
  known record;
begin
  for known in
    select declared.*, (select array_agg(name) from json_array_elements_text(declared.columns) name) as names
    from pg_proc p, json_to_record(obj_description(p.oid, 'pg_proc')::json)
      declared ("table" text, room text, organization text, columns json, bytes text, part text)
    where p.pronamespace = current_schema()::regnamespace and p.proname like 'stored\_bytes\_of\_%' and declared."table" <> 'build_jobs'
  loop
    call declare_stored_bytes(known."table", known.room,
      case known."table" when 'idempotency_keys' then 'organization_of_caller(stored.caller)' else known.organization end, known.names, known.bytes, known.part,
      known."table" in ('build_log_lines', 'function_log_lines'));
  end loop;
end $$;

-- Of a build that has ended the row stays, and nobody can make it smaller: only its last lines count, and those of the newest
-- thousand of an organization are kept.
update stored_bytes kept set bytes = kept.bytes - ended.bytes from (
  select organization_id, sum(coalesce(octet_length(error), 0) + coalesce(octet_length(git_ref), 0) + coalesce(octet_length(output::text), 0)
    + coalesce(octet_length(repo_key), 0) + coalesce(octet_length(repo_url), 0) + coalesce(octet_length(sealed_source), 0)) as bytes
  from build_jobs where status in ('succeeded', 'failed', 'cancelled') group by organization_id) ended
where kept.organization_id = ended.organization_id and kept.room = 'logs' and kept.part = 0;
call declare_stored_bytes('build_jobs', 'logs', 'stored.organization_id',
  array['error', 'git_ref', 'output', 'repo_key', 'repo_url', 'sealed_source', 'sealed_spec', 'status', 'tail'],
  'octet_length(stored.tail::text) + case when stored.status in (''succeeded'', ''failed'', ''cancelled'') then 0
    else coalesce(octet_length(stored.error), 0) + coalesce(octet_length(stored.git_ref), 0) + coalesce(octet_length(stored.output::text), 0)
      + coalesce(octet_length(stored.repo_key), 0) + coalesce(octet_length(stored.repo_url), 0) + coalesce(octet_length(stored.sealed_source), 0)
      + coalesce(octet_length(stored.sealed_spec), 0) end', '0', false);
update build_jobs set tail = '{}' from (
  select id, row_number() over (partition by organization_id order by id desc) as age from build_jobs where finished_at is not null) known
where known.id = build_jobs.id and known.age > 1000 and tail <> '{}';
