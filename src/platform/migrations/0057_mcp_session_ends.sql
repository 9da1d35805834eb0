-- Sessions of tool servers: one for each credential, and those of no session are ended by several tries.

drop index mcp_sessions_session;
create unique index mcp_sessions_session
  on mcp_sessions (session_id, url, coalesce(credential_id, '00000000-0000-0000-0000-000000000000'));
alter table mcp_sessions
  add column ending_tries integer not null default 0,
  add column ending_at timestamptz not null default now(); -- when it is tried next
drop index mcp_sessions_left;
create index mcp_sessions_left on mcp_sessions (ending_at) where session_id is null;
