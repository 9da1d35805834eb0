-- Which program acted for a person. What let it in may be gone since, so its name stays beside it, as of then.

set local lock_timeout = '10s';

alter table audit_events
  add column actor_authorization_id uuid, -- no reference: the event stays
  add column actor_program text check (length(actor_program) <= 100);

-- Writes an event of each of these organizations by the caller of this transaction, of whom there must be one.
create or replace function audit(organizations uuid[], noun text, object text, named text, changed text) returns void language plpgsql as $$
declare
  actor jsonb := current_setting('berth.actor')::jsonb;
  let_in uuid := actor->>'authorizationId';
  moment timestamptz := clock_timestamp();
begin
  insert into audit_events as written (id, organization_id, actor_kind, actor_user_id, actor_key_id, actor_vm_id, actor_authorization_id,
    actor_program, operation, change, object_type, object_id, object_name, address, request_id, created_at)
  select audit_event_id(moment), organization, actor->>'kind', (actor->>'userId')::uuid, actor->>'keyId', (actor->>'vmId')::uuid, let_in,
    case when let_in is not null then (select client_name from authorizations where id = let_in) end, actor->>'operation', changed, noun,
    left(object, 255), left(named, 255), left(actor->>'address', 64), (actor->>'requestId')::uuid, moment
  from unnest(organizations) organization
  where organization is not null
  on conflict (organization_id, object_id, request_id, operation, object_type)
  do update set change = excluded.change, object_name = coalesce(excluded.object_name, written.object_name)
  where excluded.change = 'deleted' or (excluded.change = 'created' and written.change <> 'created');
end $$;
