-- A finished upload is kept for a while after it was last needed.
alter table uploads add column used_at timestamptz not null default now(); -- when it was made, or a build last asked for it
create index uploads_used on uploads (used_at) where checked_at is not null;
