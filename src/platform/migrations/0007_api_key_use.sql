-- When a key was last used, to the minute: whoever looks at the list sees which keys nobody needs.
alter table api_keys add column last_used_at timestamptz;
-- Lists of an organization's keys, newest first.
create index api_keys_listed on api_keys (organization_id, created_at desc, key_id desc);
drop index api_keys_organization;
