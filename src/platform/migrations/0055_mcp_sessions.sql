-- Sessions of tool servers that sessions go on with. Those of no session are ended at their servers, and then deleted.

create table mcp_sessions (
  id uuid primary key,
  session_id uuid references sessions (id) on delete set null,
  url text not null check (octet_length(url) <= 2048),
  credential_id uuid,          -- or the connection; null: it was begun without a token
  sealed_session bytea not null, -- the id that the server gave, and the version of the protocol
  created_at timestamptz not null default now()
);
create unique index mcp_sessions_session on mcp_sessions (session_id, url);
create index mcp_sessions_left on mcp_sessions (id) where session_id is null;
