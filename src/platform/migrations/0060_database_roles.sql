-- Roles that the owners of databases have made on their servers, sealed, because their verifiers are among them: as they
-- were when the server was last looked at, and as they were when a backup was made.

create table database_roles (
  database_id uuid primary key references databases (id),
  sealed bytea not null check (octet_length(sealed) <= 262144)
);

create table database_backup_roles (
  backup_id uuid primary key references database_backups (id) on delete cascade,
  sealed bytea not null check (octet_length(sealed) <= 262144)
);
