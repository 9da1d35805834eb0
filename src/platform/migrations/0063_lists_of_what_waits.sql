-- Lists across nouns: sessions that wait for somebody.

create index if not exists sessions_waiting on sessions (organization_id, owner_user_id, id desc)
  where status = 'idle' and stop_reason ->> 'type' = 'requires_action';
