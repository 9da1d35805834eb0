-- One PUT at a time writes an upload, under a lease; what is stored and what is on its way counts against its organization.
alter table uploads
  add column size_bytes bigint not null default 0 check (size_bytes >= 0), -- what is stored there, as far as it is known
  add column writer text, -- who writes now
  add column writing_until timestamptz, -- a writer that died has let go by then
  add column reserved_bytes bigint not null default 0 check (reserved_bytes >= 0), -- the most that the writer may store
  add check ((writer is null) = (writing_until is null));
create index uploads_writing on uploads (writing_until) where writer is not null;
create index build_jobs_kept on build_jobs (organization_id) where output ->> 'key' is not null;
