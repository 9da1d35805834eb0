-- The session that an agent's request to a model was made for. No foreign key: the ledger outlives sessions, and is written
-- for many requests at once.
alter table inference_requests add column session_id uuid;
