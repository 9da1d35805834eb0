-- Backups of databases, restores from them, and schedules that make backups.

create table backup_schedules (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  database_id uuid not null references databases (id) on delete cascade,
  user_id uuid references users (id),     -- who made it
  cron text not null,                     -- five fields
  timezone text not null,                 -- of the IANA database
  enabled boolean not null default true,
  keep_count integer check (keep_count between 1 and 1000), -- null: any number
  keep_days integer check (keep_days between 1 and 3650),   -- null: for ever
  next_run_at timestamptz,
  last_run_at timestamptz,                -- when it last made a backup
  last_error text,                        -- why it made none at its last moment
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (enabled = (next_run_at is not null))
);
create index backup_schedules_organization on backup_schedules (organization_id);
create index backup_schedules_database on backup_schedules (database_id, id desc);
create index backup_schedules_user on backup_schedules (user_id);
create index backup_schedules_due on backup_schedules (next_run_at) where enabled;

create table database_backups (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  database_id uuid not null references databases (id),
  user_id uuid references users (id),     -- who made it; null: a schedule, or Berth
  schedule_id uuid references backup_schedules (id) on delete set null,
  scheduled_at timestamptz,               -- the moment of the schedule
  status text not null check (status in ('pending', 'running', 'completed', 'failed', 'deleting')),
  triggered_by text not null check (triggered_by in ('manual', 'schedule', 'pre_restore', 'pre_delete')),
  error text,
  cancel_requested boolean not null default false,
  worker_number integer,                  -- the fencing token of the worker that makes it
  heartbeat_at timestamptz,               -- when that worker last wrote its progress
  stored_bytes bigint not null default 0, -- what is stored so far
  database_bytes bigint,                  -- the size of the database when its backup began
  size_bytes bigint not null default 0,   -- 0 until it is completed
  sha256 text check (sha256 ~ '^[0-9a-f]{64}$'),
  pg_version text,
  event_position bigint not null default 0,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  expires_at timestamptz,                 -- null: it is kept until it is deleted
  verified_at timestamptz,                -- when it was last restored for a test
  verification_begun_at timestamptz,
  verification_error text,                -- why the last test failed; null after one that did not
  check ((completed_at is not null) = (sha256 is not null)),
  check (status <> 'completed' or completed_at is not null)
);
create unique index database_backups_busy on database_backups (database_id) where status in ('pending', 'running');
create unique index database_backups_scheduled on database_backups (schedule_id, scheduled_at);
create index database_backups_organization on database_backups (organization_id);
create index database_backups_database on database_backups (database_id, id desc);
create index database_backups_user on database_backups (user_id);
create index database_backups_expiring on database_backups (expires_at) where expires_at is not null;
create index database_backups_deleting on database_backups (id) where status = 'deleting';

-- What a subscription to a backup resumes from; the position grows under the lock of the backup's row.
create table database_backup_events (
  backup_id uuid not null references database_backups (id) on delete cascade,
  position bigint not null,
  status text not null,
  stored_bytes bigint not null,
  error text,
  verified_at timestamptz,
  verification_error text,
  created_at timestamptz not null default now(),
  primary key (backup_id, position)
);

create table database_restores (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  database_id uuid not null references databases (id),          -- whose data are replaced
  backup_id uuid references database_backups (id) on delete set null,
  safety_backup_id uuid references database_backups (id) on delete set null, -- of the data as they were before
  user_id uuid references users (id),
  number integer not null,                -- counts the restores of the database; part of the names of its copies
  status text not null check (status in ('pending', 'running', 'completed', 'failed')),
  step text not null default 'backup' check (step in ('backup', 'load', 'swap', 'finished')),
  error text,
  worker_number integer,                  -- the fencing token of the worker that works on it
  heartbeat_at timestamptz,               -- when that worker last wrote its progress
  loaded_bytes bigint not null default 0, -- what of the backup is loaded so far
  backup_bytes bigint not null,           -- its size
  event_position bigint not null default 0,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  tidied_at timestamptz,                  -- when the server was left with one copy of the data
  tidy_after timestamptz,                 -- from when on the other copy may go
  check ((status in ('completed', 'failed')) = (finished_at is not null))
);
create unique index database_restores_busy on database_restores (database_id) where status in ('pending', 'running');
create unique index database_restores_number on database_restores (database_id, number);
create index database_restores_organization on database_restores (organization_id);
create index database_restores_database on database_restores (database_id, id desc);
create index database_restores_backup on database_restores (backup_id);
create index database_restores_safety_backup on database_restores (safety_backup_id);
create index database_restores_user on database_restores (user_id);
create index database_restores_untidy on database_restores (tidy_after) where tidied_at is null;

create table database_restore_events (
  restore_id uuid not null references database_restores (id) on delete cascade,
  position bigint not null,
  status text not null,
  step text not null,
  loaded_bytes bigint not null,
  error text,
  created_at timestamptz not null default now(),
  primary key (restore_id, position)
);
