-- The stream of an organization has the organization itself: whoever shows its name learns of another one.

set local lock_timeout = '10s'; -- the table is locked for its triggers

-- As of migration 0065; organization: finds the organization that the row `stored` is of.
drop procedure declare_organization_events;
create procedure declare_organization_events(watched text, type text, columns text[], node text default 'stored.id', who text default 'null',
  hidden text default 'false', organization text default 'stored.organization_id')
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
          values (%s, %s, %L, %s, case when was then 'updated' else 'created' end);
        end;
      elsif was then
        declare stored alias for old;
        begin
          insert into organization_events (organization_id, owner_user_id, type, node_id, change)
          values (%s, %s, %L, %s, 'deleted');
        end;
      end if;
      return null;
    end $body$ $sql$, maker, hidden, hidden, organization, who, type, node, organization, who, type, node);
  execute format('create or replace trigger organization_events_rows after insert or delete on %I for each row execute function %I()', watched, maker);
  execute format('create or replace trigger organization_events_changes after update of %s on %I for each row when (%s) execute function %I()',
    (select string_agg(format('%I', one), ', ') from unnest(columns) one), watched,
    (select string_agg(format('old.%1$I is distinct from new.%1$I', one), ' or ') from unnest(columns) one), maker);
end $make$;

call declare_organization_events('organizations', 'Organization', '{name,deactivated_at}', hidden => 'stored.deactivated_at is not null',
  organization => 'stored.id');
