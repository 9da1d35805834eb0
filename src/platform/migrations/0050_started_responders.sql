-- Agents that are started to be asked: by whose money they work, and whom they may follow.

alter table sessions add column spends_from uuid[] not null default '{}'; -- the sessions, which may be deleted, on whose behalf it was started: what it costs counts against their budgets too
create index sessions_spends_from on sessions using gin (spends_from) where spends_from <> '{}';

alter table agent_versions add column by_vm_token boolean not null default false; -- the token inside a VM wrote it, or one that it was made from
