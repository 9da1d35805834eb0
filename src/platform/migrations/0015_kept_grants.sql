-- What the caller had to be allowed for a response that is kept: asked again before it is shown again.
alter table idempotency_keys add column grants jsonb not null default '[]';
