-- How long a function's program may take to start, and a request waits for it.

alter table functions add column start_seconds integer not null default 30 check (start_seconds between 1 and 300);
