-- What the migrations make, for reading. Not run. Written by: npm run tables

create table acme_accounts (
  directory text not null,
  sealed_key bytea not null,
  account_url text,
  created_at timestamp with time zone not null default now(),
  constraint acme_accounts_pkey PRIMARY KEY (directory)
);

create table agent_versions (
  agent_id uuid not null,
  version integer not null,
  definition json not null,
  created_at timestamp with time zone not null default now(),
  by_vm_token boolean not null default false,
  constraint agent_versions_pkey PRIMARY KEY (agent_id, version),
  constraint agent_versions_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE,
  constraint agent_versions_version_check CHECK ((version >= 1))
);

create table agents (
  id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid,
  version integer not null,
  definition json not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  archived_at timestamp with time zone,
  name text default "left"((definition ->> 'name'::text), 255),
  constraint agents_pkey PRIMARY KEY (id),
  constraint agents_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint agents_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint agents_name_check CHECK ((length(name) <= 255)),
  constraint agents_version_check CHECK ((version >= 1))
);
CREATE INDEX agents_owner ON public.agents USING btree (organization_id, owner_user_id, id DESC);
CREATE INDEX agents_owner_user ON public.agents USING btree (owner_user_id);

create table api_keys (
  key_id text not null,
  organization_id uuid not null,
  name text not null default ''::text,
  secret_sha256 bytea not null,
  secret_last4 text not null,
  scopes text[] not null,
  created_by uuid not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  last_used_at timestamp with time zone,
  constraint api_keys_pkey PRIMARY KEY (key_id),
  constraint api_keys_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint api_keys_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint api_keys_key_id_check CHECK ((key_id ~ '^[0-9a-z]{16}$'::text)),
  constraint api_keys_name_check CHECK ((length(name) <= 255)),
  constraint api_keys_secret_last4_check CHECK ((length(secret_last4) = 4)),
  constraint api_keys_secret_sha256_check CHECK ((length(secret_sha256) = 32))
);
CREATE INDEX api_keys_created_by ON public.api_keys USING btree (created_by);
CREATE INDEX api_keys_listed ON public.api_keys USING btree (organization_id, created_at DESC, key_id DESC);

create table audit_events (
  id uuid not null,
  organization_id uuid not null,
  actor_kind text not null,
  actor_user_id uuid,
  actor_key_id text,
  actor_vm_id uuid,
  operation text not null,
  change text not null,
  object_type text not null,
  object_id text not null,
  object_name text,
  address text,
  request_id uuid not null,
  created_at timestamp with time zone not null,
  actor_authorization_id uuid,
  actor_program text,
  constraint audit_events_pkey PRIMARY KEY (id),
  constraint audit_events_actor_key_id_check CHECK ((length(actor_key_id) <= 16)),
  constraint audit_events_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['person'::text, 'api_key'::text, 'vm_token'::text, 'operator'::text]))),
  constraint audit_events_actor_program_check CHECK ((length(actor_program) <= 100)),
  constraint audit_events_address_check CHECK ((length(address) <= 64)),
  constraint audit_events_change_check CHECK ((change = ANY (ARRAY['created'::text, 'updated'::text, 'deleted'::text, 'used'::text]))),
  constraint audit_events_object_id_check CHECK ((length(object_id) <= 255)),
  constraint audit_events_object_name_check CHECK ((length(object_name) <= 255)),
  constraint audit_events_object_type_check CHECK ((length(object_type) <= 50)),
  constraint audit_events_operation_check CHECK ((length(operation) <= 100))
);
CREATE INDEX audit_events_organization ON public.audit_events USING btree (organization_id, id DESC);
CREATE UNIQUE INDEX audit_events_once ON public.audit_events USING btree (organization_id, object_id, request_id, operation, object_type);

create table authorization_requests (
  id uuid not null,
  secret_sha256 bytea not null,
  user_code text,
  client_id text not null,
  client_name text not null,
  client_host text,
  scope text not null,
  redirect_uri text,
  state text,
  code_challenge text,
  address text not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  poll_seconds integer not null default 0,
  polled_at timestamp with time zone,
  denied_at timestamp with time zone,
  authorization_id uuid,
  code_sha256 bytea,
  code_expires_at timestamp with time zone,
  exchanged_at timestamp with time zone,
  constraint authorization_requests_code_sha256_key UNIQUE (code_sha256),
  constraint authorization_requests_secret_sha256_key UNIQUE (secret_sha256),
  constraint authorization_requests_user_code_key UNIQUE (user_code),
  constraint authorization_requests_pkey PRIMARY KEY (id),
  constraint authorization_requests_address_check CHECK ((length(address) <= 64)),
  constraint authorization_requests_check CHECK (((user_code IS NULL) = (redirect_uri IS NOT NULL))),
  constraint authorization_requests_check1 CHECK (((user_code IS NULL) = (code_challenge IS NOT NULL))),
  constraint authorization_requests_client_host_check CHECK ((length(client_host) <= 255)),
  constraint authorization_requests_client_id_check CHECK ((length(client_id) <= 512)),
  constraint authorization_requests_client_name_check CHECK ((length(client_name) <= 100)),
  constraint authorization_requests_code_challenge_check CHECK ((length(code_challenge) = 43)),
  constraint authorization_requests_code_sha256_check CHECK ((length(code_sha256) = 32)),
  constraint authorization_requests_redirect_uri_check CHECK ((length(redirect_uri) <= 512)),
  constraint authorization_requests_scope_check CHECK ((scope = ANY (ARRAY['read'::text, 'write'::text, 'admin'::text]))),
  constraint authorization_requests_secret_sha256_check CHECK ((length(secret_sha256) = 32)),
  constraint authorization_requests_state_check CHECK ((length(state) <= 1024)),
  constraint authorization_requests_user_code_check CHECK ((length(user_code) = 8))
);
CREATE INDEX authorization_requests_created ON public.authorization_requests USING btree (created_at);

create table authorization_tokens (
  secret_sha256 bytea not null,
  authorization_id uuid not null,
  kind text not null,
  created_at timestamp with time zone not null default now(),
  exchanged_at timestamp with time zone,
  expires_at timestamp with time zone not null,
  constraint authorization_tokens_pkey PRIMARY KEY (secret_sha256),
  constraint authorization_tokens_authorization_id_fkey FOREIGN KEY (authorization_id) REFERENCES authorizations(id) ON DELETE CASCADE,
  constraint authorization_tokens_kind_check CHECK ((kind = ANY (ARRAY['access'::text, 'refresh'::text]))),
  constraint authorization_tokens_secret_sha256_check CHECK ((length(secret_sha256) = 32))
);
CREATE INDEX authorization_tokens_authorization ON public.authorization_tokens USING btree (authorization_id, kind, created_at DESC);
CREATE INDEX authorization_tokens_expired ON public.authorization_tokens USING btree (expires_at);

create table authorizations (
  id uuid not null,
  user_id uuid not null,
  organization_id uuid not null,
  client_id text not null,
  client_name text not null,
  scope text not null,
  created_at timestamp with time zone not null default now(),
  used_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint authorizations_pkey PRIMARY KEY (id),
  constraint authorizations_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint authorizations_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint authorizations_client_id_check CHECK ((length(client_id) <= 512)),
  constraint authorizations_client_name_check CHECK ((length(client_name) <= 100)),
  constraint authorizations_scope_check CHECK ((scope = ANY (ARRAY['read'::text, 'write'::text, 'admin'::text])))
);
CREATE INDEX authorizations_client ON public.authorizations USING btree (client_id);
CREATE INDEX authorizations_organization ON public.authorizations USING btree (organization_id, user_id);
CREATE INDEX authorizations_user ON public.authorizations USING btree (user_id);

create table backup_schedules (
  id uuid not null,
  organization_id uuid not null,
  database_id uuid not null,
  user_id uuid,
  cron text not null,
  timezone text not null,
  enabled boolean not null default true,
  keep_count integer,
  keep_days integer,
  next_run_at timestamp with time zone,
  last_run_at timestamp with time zone,
  last_error text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint backup_schedules_pkey PRIMARY KEY (id),
  constraint backup_schedules_database_id_fkey FOREIGN KEY (database_id) REFERENCES databases(id) ON DELETE CASCADE,
  constraint backup_schedules_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint backup_schedules_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint backup_schedules_check CHECK ((enabled = (next_run_at IS NOT NULL))),
  constraint backup_schedules_keep_count_check CHECK (((keep_count >= 1) AND (keep_count <= 1000))),
  constraint backup_schedules_keep_days_check CHECK (((keep_days >= 1) AND (keep_days <= 3650)))
);
CREATE INDEX backup_schedules_database ON public.backup_schedules USING btree (database_id, id DESC);
CREATE INDEX backup_schedules_due ON public.backup_schedules USING btree (next_run_at) WHERE enabled;
CREATE INDEX backup_schedules_organization ON public.backup_schedules USING btree (organization_id);
CREATE INDEX backup_schedules_user ON public.backup_schedules USING btree (user_id);

create table browser_sessions (
  id uuid not null,
  user_id uuid not null,
  secret_sha256 bytea not null,
  user_agent text not null,
  address text not null,
  created_at timestamp with time zone not null default now(),
  used_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint browser_sessions_secret_sha256_key UNIQUE (secret_sha256),
  constraint browser_sessions_pkey PRIMARY KEY (id),
  constraint browser_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint browser_sessions_address_check CHECK ((length(address) <= 64)),
  constraint browser_sessions_secret_sha256_check CHECK ((length(secret_sha256) = 32)),
  constraint browser_sessions_user_agent_check CHECK ((length(user_agent) <= 255))
);
CREATE INDEX browser_sessions_user ON public.browser_sessions USING btree (user_id);

create table build_caches (
  organization_id uuid not null,
  repo_key text not null,
  node_id uuid not null,
  folder_id uuid not null,
  job_id uuid,
  used_at timestamp with time zone not null default now(),
  constraint build_caches_pkey PRIMARY KEY (organization_id, repo_key, node_id),
  constraint build_caches_job_id_fkey FOREIGN KEY (job_id) REFERENCES build_jobs(id),
  constraint build_caches_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id),
  constraint build_caches_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id)
);
CREATE INDEX build_caches_job ON public.build_caches USING btree (job_id);
CREATE INDEX build_caches_node ON public.build_caches USING btree (node_id);
CREATE INDEX build_caches_used ON public.build_caches USING btree (used_at);

create table build_events (
  job_id uuid not null,
  position bigint not null,
  status text not null,
  cancel_requested boolean not null,
  error text,
  created_at timestamp with time zone not null default now(),
  constraint build_events_pkey PRIMARY KEY (job_id, "position"),
  constraint build_events_job_id_fkey FOREIGN KEY (job_id) REFERENCES build_jobs(id) ON DELETE CASCADE
);

create table build_jobs (
  id uuid not null,
  organization_id uuid not null,
  created_by uuid,
  status text not null,
  repo_url text,
  sealed_source bytea,
  repo_key text,
  git_ref text,
  commit_sha text,
  sealed_spec bytea,
  template_id uuid not null,
  vcpu_count integer not null,
  memory_mb integer not null,
  timeout_seconds integer not null,
  output_type text not null,
  output_name text not null,
  error text,
  exit_code integer,
  failing_step integer,
  output jsonb,
  cancel_requested boolean not null default false,
  node_id uuid,
  queued_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  claimed_at timestamp with time zone,
  finished_at timestamp with time zone,
  tail text[] not null default '{}'::text[],
  log_end_ms bigint,
  log_end_seq integer,
  event_position bigint not null default 0,
  submitted_role text,
  key_id text,
  code_host_link_id uuid,
  constraint build_jobs_pkey PRIMARY KEY (id),
  constraint build_jobs_code_host_link_id_fkey FOREIGN KEY (code_host_link_id) REFERENCES code_host_links(id) ON DELETE SET NULL,
  constraint build_jobs_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint build_jobs_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(key_id),
  constraint build_jobs_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id),
  constraint build_jobs_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint build_jobs_template_id_fkey FOREIGN KEY (template_id) REFERENCES templates(id),
  constraint build_jobs_check CHECK (((status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text])) = ((finished_at IS NOT NULL) AND (log_end_ms IS NOT NULL) AND (log_end_seq IS NOT NULL)))),
  constraint build_jobs_check1 CHECK (((status <> 'running'::text) OR ((node_id IS NOT NULL) AND (started_at IS NOT NULL)))),
  constraint build_jobs_memory_mb_check CHECK (((memory_mb >= 128) AND (memory_mb <= 262144))),
  constraint build_jobs_output_type_check CHECK ((output_type = ANY (ARRAY['artifact'::text, 'template'::text, 'function'::text]))),
  constraint build_jobs_spec_check CHECK (((sealed_spec IS NOT NULL) OR (status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text])))),
  constraint build_jobs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text]))),
  constraint build_jobs_submitted_role_check CHECK ((submitted_role = ANY (ARRAY['viewer'::text, 'member'::text, 'admin'::text, 'owner'::text]))),
  constraint build_jobs_timeout_seconds_check CHECK (((timeout_seconds >= 1) AND (timeout_seconds <= 7200))),
  constraint build_jobs_vcpu_count_check CHECK (((vcpu_count >= 1) AND (vcpu_count <= 64)))
);
CREATE INDEX build_jobs_artifacts ON public.build_jobs USING btree (finished_at) WHERE (((output ->> 'type'::text) = 'artifact'::text) AND ((output ->> 'key'::text) IS NOT NULL));
CREATE INDEX build_jobs_code_host_link ON public.build_jobs USING btree (code_host_link_id);
CREATE INDEX build_jobs_created_by ON public.build_jobs USING btree (created_by);
CREATE INDEX build_jobs_kept ON public.build_jobs USING btree (organization_id) WHERE ((output ->> 'key'::text) IS NOT NULL);
CREATE INDEX build_jobs_key ON public.build_jobs USING btree (key_id);
CREATE INDEX build_jobs_node ON public.build_jobs USING btree (node_id);
CREATE INDEX build_jobs_organization ON public.build_jobs USING btree (organization_id, id DESC);
CREATE INDEX build_jobs_queued ON public.build_jobs USING btree (organization_id, queued_at, id) WHERE (status = 'queued'::text);
CREATE INDEX build_jobs_running ON public.build_jobs USING btree (node_id) WHERE (status = 'running'::text);
CREATE INDEX build_jobs_running_of ON public.build_jobs USING btree (organization_id) WHERE (status = 'running'::text);
CREATE INDEX build_jobs_served ON public.build_jobs USING btree (organization_id, started_at DESC) WHERE (started_at IS NOT NULL);
CREATE INDEX build_jobs_template ON public.build_jobs USING btree (template_id);

create table build_log_lines (
  job_id uuid not null,
  ms bigint not null,
  seq integer not null,
  output text not null,
  constraint build_log_lines_pkey PRIMARY KEY (job_id, ms, seq)
) partition by RANGE (ms);

create table build_runs (
  job_id uuid not null,
  worker_number bigint not null,
  sealed_secrets bytea,
  progress jsonb not null,
  constraint build_runs_pkey PRIMARY KEY (job_id),
  constraint build_runs_job_id_fkey FOREIGN KEY (job_id) REFERENCES build_jobs(id) ON DELETE CASCADE
);

create table build_secrets (
  organization_id uuid not null,
  name text not null,
  sealed_value bytea not null,
  updated_at timestamp with time zone not null default now(),
  least_role text not null default 'admin'::text,
  constraint build_secrets_pkey PRIMARY KEY (organization_id, name),
  constraint build_secrets_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint build_secrets_least_role_check CHECK ((least_role = ANY (ARRAY['member'::text, 'admin'::text, 'owner'::text]))),
  constraint build_secrets_name_check CHECK ((name ~ '^[A-Za-z_][A-Za-z0-9_]{0,127}$'::text))
);

create table certificate_orders (
  id uuid not null,
  organization_id uuid not null,
  host text not null,
  created_at timestamp with time zone not null default now(),
  constraint certificate_orders_pkey PRIMARY KEY (id),
  constraint certificate_orders_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id)
);
CREATE INDEX certificate_orders_created ON public.certificate_orders USING btree (created_at);
CREATE INDEX certificate_orders_organization ON public.certificate_orders USING btree (organization_id, created_at);

create table certificates (
  id uuid not null,
  organization_id uuid not null,
  domain_id uuid not null,
  host text not null,
  status text not null,
  reason text,
  issuer text,
  chain text,
  sealed_key bytea,
  not_before timestamp with time zone,
  not_after timestamp with time zone,
  attempts integer not null default 0,
  next_attempt_at timestamp with time zone,
  held_until timestamp with time zone,
  queued_until timestamp with time zone,
  claim bigint not null default 0,
  claimed_until timestamp with time zone,
  order_url text,
  sealed_order_key bytea,
  challenges jsonb not null default '[]'::jsonb,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  expiry_told_at timestamp with time zone,
  constraint certificates_organization_id_host_key UNIQUE (organization_id, host),
  constraint certificates_pkey PRIMARY KEY (id),
  constraint certificates_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint certificates_host_check CHECK (((host = lower(host)) AND ((length(host) >= 1) AND (length(host) <= 253)))),
  constraint certificates_reason_check CHECK ((length(reason) <= 500)),
  constraint certificates_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'issued'::text, 'failed'::text])))
);
CREATE INDEX certificates_domain ON public.certificates USING btree (domain_id);
CREATE INDEX certificates_due ON public.certificates USING btree (next_attempt_at) WHERE (next_attempt_at IS NOT NULL);
CREATE INDEX certificates_host ON public.certificates USING btree (host);

create table code_host_links (
  id uuid not null,
  user_id uuid not null,
  url text not null,
  account_id bigint not null,
  username text not null,
  scopes text[] not null,
  token_preview text not null,
  installed boolean not null,
  sealed_tokens bytea not null,
  expires_at timestamp with time zone,
  token_generation integer not null default 1,
  refused_generation integer,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint code_host_links_user_id_key UNIQUE (user_id),
  constraint code_host_links_pkey PRIMARY KEY (id),
  constraint code_host_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint code_host_links_token_preview_check CHECK ((length(token_preview) <= 9)),
  constraint code_host_links_url_check CHECK ((length(url) <= 2048)),
  constraint code_host_links_username_check CHECK (((length(username) >= 1) AND (length(username) <= 255)))
);

create table code_host_states (
  digest bytea not null,
  user_id uuid not null,
  expires_at timestamp with time zone not null,
  constraint code_host_states_pkey PRIMARY KEY (digest),
  constraint code_host_states_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX code_host_states_user ON public.code_host_states USING btree (user_id, expires_at);

create table credit_leases (
  process_id uuid not null,
  organization_id uuid not null,
  amount_nano_usd bigint not null,
  constraint credit_leases_pkey PRIMARY KEY (process_id, organization_id),
  constraint credit_leases_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id)
);
CREATE INDEX credit_leases_organization ON public.credit_leases USING btree (organization_id);

create table database_auth_issuers (
  database_id uuid not null,
  issuer text not null,
  jwks_uri text not null,
  audience text not null,
  created_at timestamp with time zone not null default now(),
  constraint database_auth_issuers_pkey PRIMARY KEY (database_id, issuer),
  constraint database_auth_issuers_database_id_fkey FOREIGN KEY (database_id) REFERENCES databases(id) ON DELETE CASCADE,
  constraint database_auth_issuers_audience_check CHECK (((length(audience) >= 1) AND (length(audience) <= 2048))),
  constraint database_auth_issuers_issuer_check CHECK (((length(issuer) >= 1) AND (length(issuer) <= 2048)))
);

create table database_backup_events (
  backup_id uuid not null,
  position bigint not null,
  status text not null,
  stored_bytes bigint not null,
  error text,
  verified_at timestamp with time zone,
  verification_error text,
  created_at timestamp with time zone not null default now(),
  constraint database_backup_events_pkey PRIMARY KEY (backup_id, "position"),
  constraint database_backup_events_backup_id_fkey FOREIGN KEY (backup_id) REFERENCES database_backups(id) ON DELETE CASCADE
);

create table database_backup_roles (
  backup_id uuid not null,
  sealed bytea not null,
  constraint database_backup_roles_pkey PRIMARY KEY (backup_id),
  constraint database_backup_roles_backup_id_fkey FOREIGN KEY (backup_id) REFERENCES database_backups(id) ON DELETE CASCADE,
  constraint database_backup_roles_sealed_check CHECK ((octet_length(sealed) <= 262144))
);

create table database_backups (
  id uuid not null,
  organization_id uuid not null,
  database_id uuid not null,
  user_id uuid,
  schedule_id uuid,
  scheduled_at timestamp with time zone,
  status text not null,
  triggered_by text not null,
  error text,
  cancel_requested boolean not null default false,
  worker_number integer,
  heartbeat_at timestamp with time zone,
  stored_bytes bigint not null default 0,
  database_bytes bigint,
  size_bytes bigint not null default 0,
  sha256 text,
  pg_version text,
  event_position bigint not null default 0,
  created_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  completed_at timestamp with time zone,
  expires_at timestamp with time zone,
  verified_at timestamp with time zone,
  verification_begun_at timestamp with time zone,
  verification_error text,
  constraint database_backups_pkey PRIMARY KEY (id),
  constraint database_backups_database_id_fkey FOREIGN KEY (database_id) REFERENCES databases(id),
  constraint database_backups_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint database_backups_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES backup_schedules(id) ON DELETE SET NULL,
  constraint database_backups_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint database_backups_check CHECK (((completed_at IS NOT NULL) = (sha256 IS NOT NULL))),
  constraint database_backups_check1 CHECK (((status <> 'completed'::text) OR (completed_at IS NOT NULL))),
  constraint database_backups_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text)),
  constraint database_backups_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'running'::text, 'completed'::text, 'failed'::text, 'deleting'::text]))),
  constraint database_backups_triggered_by_check CHECK ((triggered_by = ANY (ARRAY['manual'::text, 'schedule'::text, 'pre_restore'::text, 'pre_delete'::text])))
);
CREATE INDEX database_backups_database ON public.database_backups USING btree (database_id, id DESC);
CREATE INDEX database_backups_deleting ON public.database_backups USING btree (id) WHERE (status = 'deleting'::text);
CREATE INDEX database_backups_expiring ON public.database_backups USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX database_backups_organization ON public.database_backups USING btree (organization_id);
CREATE INDEX database_backups_user ON public.database_backups USING btree (user_id);
CREATE UNIQUE INDEX database_backups_busy ON public.database_backups USING btree (database_id) WHERE (status = ANY (ARRAY['pending'::text, 'running'::text]));
CREATE UNIQUE INDEX database_backups_scheduled ON public.database_backups USING btree (schedule_id, scheduled_at);

create table database_events (
  database_id uuid not null,
  position bigint not null,
  status text not null,
  status_reason text,
  created_at timestamp with time zone not null default now(),
  constraint database_events_pkey PRIMARY KEY (database_id, "position"),
  constraint database_events_database_id_fkey FOREIGN KEY (database_id) REFERENCES databases(id) ON DELETE CASCADE
);

create table database_metrics (
  database_id uuid not null,
  connections integer not null,
  size_bytes bigint not null,
  transactions bigint not null,
  rolled_back bigint not null,
  rows_read bigint not null,
  rows_written bigint not null,
  blocks_hit bigint not null,
  blocks_read bigint not null,
  deadlocks bigint not null,
  measured_at timestamp with time zone not null default now(),
  constraint database_metrics_pkey PRIMARY KEY (database_id),
  constraint database_metrics_database_id_fkey FOREIGN KEY (database_id) REFERENCES databases(id) ON DELETE CASCADE
);

create table database_restore_events (
  restore_id uuid not null,
  position bigint not null,
  status text not null,
  step text not null,
  loaded_bytes bigint not null,
  error text,
  created_at timestamp with time zone not null default now(),
  constraint database_restore_events_pkey PRIMARY KEY (restore_id, "position"),
  constraint database_restore_events_restore_id_fkey FOREIGN KEY (restore_id) REFERENCES database_restores(id) ON DELETE CASCADE
);

create table database_restores (
  id uuid not null,
  organization_id uuid not null,
  database_id uuid not null,
  backup_id uuid,
  safety_backup_id uuid,
  user_id uuid,
  number integer not null,
  status text not null,
  step text not null default 'backup'::text,
  error text,
  worker_number integer,
  heartbeat_at timestamp with time zone,
  loaded_bytes bigint not null default 0,
  backup_bytes bigint not null,
  event_position bigint not null default 0,
  created_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  tidied_at timestamp with time zone,
  tidy_after timestamp with time zone,
  constraint database_restores_pkey PRIMARY KEY (id),
  constraint database_restores_backup_id_fkey FOREIGN KEY (backup_id) REFERENCES database_backups(id) ON DELETE SET NULL,
  constraint database_restores_database_id_fkey FOREIGN KEY (database_id) REFERENCES databases(id),
  constraint database_restores_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint database_restores_safety_backup_id_fkey FOREIGN KEY (safety_backup_id) REFERENCES database_backups(id) ON DELETE SET NULL,
  constraint database_restores_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint database_restores_check CHECK (((status = ANY (ARRAY['completed'::text, 'failed'::text])) = (finished_at IS NOT NULL))),
  constraint database_restores_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'running'::text, 'completed'::text, 'failed'::text]))),
  constraint database_restores_step_check CHECK ((step = ANY (ARRAY['backup'::text, 'load'::text, 'swap'::text, 'finished'::text])))
);
CREATE INDEX database_restores_backup ON public.database_restores USING btree (backup_id);
CREATE INDEX database_restores_database ON public.database_restores USING btree (database_id, id DESC);
CREATE INDEX database_restores_organization ON public.database_restores USING btree (organization_id);
CREATE INDEX database_restores_safety_backup ON public.database_restores USING btree (safety_backup_id);
CREATE INDEX database_restores_untidy ON public.database_restores USING btree (tidy_after) WHERE (tidied_at IS NULL);
CREATE INDEX database_restores_user ON public.database_restores USING btree (user_id);
CREATE UNIQUE INDEX database_restores_busy ON public.database_restores USING btree (database_id) WHERE (status = ANY (ARRAY['pending'::text, 'running'::text]));
CREATE UNIQUE INDEX database_restores_number ON public.database_restores USING btree (database_id, number);

create table database_roles (
  database_id uuid not null,
  sealed bytea not null,
  constraint database_roles_pkey PRIMARY KEY (database_id),
  constraint database_roles_database_id_fkey FOREIGN KEY (database_id) REFERENCES databases(id),
  constraint database_roles_sealed_check CHECK ((octet_length(sealed) <= 262144))
);

create table databases (
  id uuid not null,
  organization_id uuid not null,
  user_id uuid,
  name text not null,
  status text not null,
  status_reason text,
  event_position bigint not null default 0,
  vm_id uuid,
  folder_id uuid,
  project_id uuid,
  network_name text,
  native_credential_generation integer not null default 1,
  client_mode_enabled boolean not null default false,
  pg_database text not null default 'app'::text,
  pg_user text not null,
  token_verifier text,
  token_hash bytea,
  sealed_logins bytea,
  vcpu_count integer not null,
  memory_mb integer not null,
  disk_mb integer not null,
  settings jsonb not null default '{}'::jsonb,
  sleep_after_seconds integer,
  active_at timestamp with time zone not null default now(),
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  purge_after timestamp with time zone,
  function_id uuid,
  link_verifier text,
  sealed_link bytea,
  constraint databases_pg_user_key UNIQUE (pg_user),
  constraint databases_pkey PRIMARY KEY (id),
  constraint databases_folder_id_fkey FOREIGN KEY (folder_id) REFERENCES folders(id),
  constraint databases_function_id_fkey FOREIGN KEY (function_id) REFERENCES functions(id),
  constraint databases_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint databases_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint databases_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint databases_vm_id_fkey FOREIGN KEY (vm_id) REFERENCES vms(id),
  constraint databases_disk_mb_check CHECK ((disk_mb > 0)),
  constraint databases_memory_mb_check CHECK (((memory_mb >= 128) AND (memory_mb <= 262144))),
  constraint databases_name_check CHECK ((name ~ '^[a-z][a-z0-9-]{0,62}$'::text)),
  constraint databases_network_name_check CHECK ((network_name ~ '^[a-z][a-z0-9-]{0,62}$'::text)),
  constraint databases_sleep_after_seconds_check CHECK ((sleep_after_seconds > 0)),
  constraint databases_status_check CHECK ((status = ANY (ARRAY['creating'::text, 'active'::text, 'updating'::text, 'restoring'::text, 'deleting'::text, 'deleted'::text, 'error'::text]))),
  constraint databases_vcpu_count_check CHECK (((vcpu_count >= 1) AND (vcpu_count <= 64)))
);
CREATE INDEX databases_deleted ON public.databases USING btree (purge_after) WHERE (purge_after IS NOT NULL);
CREATE INDEX databases_function ON public.databases USING btree (function_id);
CREATE INDEX databases_organization ON public.databases USING btree (organization_id, id DESC);
CREATE INDEX databases_project ON public.databases USING btree (project_id);
CREATE INDEX databases_unsteady ON public.databases USING btree (updated_at) WHERE (status = ANY (ARRAY['creating'::text, 'updating'::text, 'deleting'::text]));
CREATE INDEX databases_user ON public.databases USING btree (user_id);
CREATE UNIQUE INDEX databases_folder ON public.databases USING btree (folder_id);
CREATE UNIQUE INDEX databases_name ON public.databases USING btree (organization_id, name) WHERE (status <> ALL (ARRAY['deleting'::text, 'deleted'::text]));
CREATE UNIQUE INDEX databases_vm ON public.databases USING btree (vm_id);

create table deployment_runs (
  id uuid not null,
  deployment_id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid not null,
  position bigint not null,
  agent_id uuid not null,
  agent_version integer not null,
  session_id uuid,
  error jsonb,
  trigger jsonb not null,
  created_at timestamp with time zone not null default now(),
  constraint deployment_runs_deployment_id_position_key UNIQUE (deployment_id, "position"),
  constraint deployment_runs_pkey PRIMARY KEY (id),
  constraint deployment_runs_deployment_id_fkey FOREIGN KEY (deployment_id) REFERENCES deployments(id) ON DELETE CASCADE,
  constraint deployment_runs_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint deployment_runs_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint deployment_runs_agent_version_check CHECK ((agent_version >= 1)),
  constraint deployment_runs_check CHECK ((num_nonnulls(session_id, error) = 1))
);
CREATE INDEX deployment_runs_owner ON public.deployment_runs USING btree (organization_id, owner_user_id, id DESC);
CREATE INDEX deployment_runs_owner_user ON public.deployment_runs USING btree (owner_user_id);

create table deployments (
  id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid not null,
  name text not null,
  description text,
  agent_id uuid not null,
  agent_version integer,
  environment_type text not null,
  environment_id uuid,
  environment_config jsonb,
  vault_ids uuid[] not null default '{}'::uuid[],
  kickoff jsonb not null,
  budget_nano_usd bigint,
  metadata jsonb not null default '{}'::jsonb,
  status text not null,
  paused_reason jsonb,
  run_position bigint not null default 0,
  last_run_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  archived_at timestamp with time zone,
  constraint deployments_pkey PRIMARY KEY (id),
  constraint deployments_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE,
  constraint deployments_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint deployments_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint deployments_agent_version_check CHECK ((agent_version >= 1)),
  constraint deployments_budget_nano_usd_check CHECK ((budget_nano_usd >= 0)),
  constraint deployments_check CHECK (((status = 'paused'::text) = (paused_reason IS NOT NULL))),
  constraint deployments_check1 CHECK (((archived_at IS NULL) OR (status = 'active'::text))),
  constraint deployments_check2 CHECK (((environment_type = 'existing'::text) = (environment_id IS NOT NULL))),
  constraint deployments_check3 CHECK (((environment_config IS NULL) OR (environment_type = 'ephemeral'::text))),
  constraint deployments_description_check CHECK ((length(description) <= 2048)),
  constraint deployments_environment_type_check CHECK ((environment_type = ANY (ARRAY['none'::text, 'existing'::text, 'ephemeral'::text]))),
  constraint deployments_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint deployments_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text])))
);
CREATE INDEX deployments_agent ON public.deployments USING btree (agent_id, id DESC);
CREATE INDEX deployments_owner ON public.deployments USING btree (organization_id, owner_user_id, id DESC);
CREATE INDEX deployments_owner_user ON public.deployments USING btree (owner_user_id);

create table domain_events (
  domain_id uuid not null,
  position bigint not null,
  status text not null,
  status_reason text,
  target text,
  created_at timestamp with time zone not null default now(),
  constraint domain_events_pkey PRIMARY KEY (domain_id, "position"),
  constraint domain_events_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domains(id) ON DELETE CASCADE,
  constraint domain_events_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'verified'::text, 'active'::text, 'failed'::text])))
);

create table domains (
  id uuid not null,
  organization_id uuid not null,
  user_id uuid,
  name text not null,
  path text not null default '/'::text,
  status text not null,
  status_reason text,
  verify_ownership boolean not null default true,
  verification_token text not null,
  service_id uuid,
  vm_id uuid,
  vm_port integer,
  function_id uuid,
  records jsonb not null default '[]'::jsonb,
  event_position bigint not null default 0,
  pending_since timestamp with time zone,
  checked_at timestamp with time zone,
  next_check_at timestamp with time zone,
  check_number bigint not null default 0,
  checked_number bigint not null default 0,
  check_ends_at timestamp with time zone,
  lost_at timestamp with time zone,
  verified_at timestamp with time zone,
  activated_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint domains_organization_id_name_key UNIQUE (organization_id, name),
  constraint domains_pkey PRIMARY KEY (id),
  constraint domains_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint domains_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint domains_vm_id_fkey FOREIGN KEY (vm_id) REFERENCES vms(id),
  constraint domains_check CHECK ((num_nonnulls(vm_id, function_id) <= 1)),
  constraint domains_check1 CHECK (((vm_id IS NULL) = (vm_port IS NULL))),
  constraint domains_check2 CHECK (((service_id IS NULL) = (num_nonnulls(vm_id, function_id) = 0))),
  constraint domains_check3 CHECK (((status = 'pending'::text) = (pending_since IS NOT NULL))),
  constraint domains_name_check CHECK (((name = lower(name)) AND ((length(name) >= 1) AND (length(name) <= 253)))),
  constraint domains_path_check CHECK (((path ~~ '/%'::text) AND (length(path) <= 1024))),
  constraint domains_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'verified'::text, 'active'::text, 'failed'::text]))),
  constraint domains_verification_token_check CHECK ((verification_token ~ '^[0-9a-f]{32}$'::text)),
  constraint domains_vm_port_check CHECK (((vm_port >= 1) AND (vm_port <= 65535)))
);
CREATE INDEX domains_being_checked ON public.domains USING btree (organization_id, check_ends_at) WHERE (check_ends_at IS NOT NULL);
CREATE INDEX domains_due ON public.domains USING btree (next_check_at) WHERE (next_check_at IS NOT NULL);
CREATE INDEX domains_due_of_organization ON public.domains USING btree (organization_id, next_check_at) WHERE (next_check_at IS NOT NULL);
CREATE INDEX domains_function ON public.domains USING btree (function_id);
CREATE INDEX domains_name ON public.domains USING btree (name);
CREATE INDEX domains_organization ON public.domains USING btree (organization_id, id DESC);
CREATE INDEX domains_user ON public.domains USING btree (user_id);
CREATE INDEX domains_vm ON public.domains USING btree (vm_id);
CREATE UNIQUE INDEX domains_proved ON public.domains USING btree (name, path) WHERE (status = ANY (ARRAY['verified'::text, 'active'::text]));

create unlogged table edge_acknowledgements (
  edge_id uuid not null,
  database_id uuid not null,
  position bigint not null,
  constraint edge_acknowledgements_pkey PRIMARY KEY (edge_id, database_id),
  constraint edge_acknowledgements_edge_id_fkey FOREIGN KEY (edge_id) REFERENCES edge_processes(id) ON DELETE CASCADE
);

create unlogged table edge_processes (
  id uuid not null,
  heartbeat_at timestamp with time zone not null default now(),
  constraint edge_processes_pkey PRIMARY KEY (id)
);

create table environment_events (
  environment_id uuid not null,
  position bigint not null,
  status text not null,
  status_reason text,
  vm_id uuid,
  created_at timestamp with time zone not null default now(),
  constraint environment_events_pkey PRIMARY KEY (environment_id, "position"),
  constraint environment_events_environment_id_fkey FOREIGN KEY (environment_id) REFERENCES environments(id) ON DELETE CASCADE
);

create table environments (
  id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid not null,
  name text not null,
  description text,
  config jsonb not null,
  metadata jsonb not null default '{}'::jsonb,
  status text not null,
  status_reason text,
  ephemeral boolean not null default false,
  vm_id uuid,
  prepared_vm_id uuid,
  event_position bigint not null default 0,
  used_at timestamp with time zone not null default now(),
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  archived_at timestamp with time zone,
  constraint environments_pkey PRIMARY KEY (id),
  constraint environments_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint environments_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint environments_prepared_vm_id_fkey FOREIGN KEY (prepared_vm_id) REFERENCES vms(id),
  constraint environments_vm_id_fkey FOREIGN KEY (vm_id) REFERENCES vms(id),
  constraint environments_check CHECK (((status = 'archived'::text) = (archived_at IS NOT NULL))),
  constraint environments_check1 CHECK (((status <> 'archived'::text) OR (vm_id IS NULL))),
  constraint environments_description_check CHECK ((length(description) <= 2048)),
  constraint environments_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint environments_status_check CHECK ((status = ANY (ARRAY['provisioning'::text, 'ready'::text, 'error'::text, 'archived'::text])))
);
CREATE INDEX environments_in_flight ON public.environments USING btree (organization_id) WHERE (status = 'provisioning'::text);
CREATE INDEX environments_own_vm ON public.environments USING btree (id) WHERE (ephemeral AND (vm_id IS NOT NULL));
CREATE INDEX environments_owner ON public.environments USING btree (organization_id, owner_user_id, id DESC);
CREATE INDEX environments_owner_user ON public.environments USING btree (owner_user_id);
CREATE INDEX environments_prepared_vm ON public.environments USING btree (prepared_vm_id);
CREATE INDEX environments_vm ON public.environments USING btree (vm_id);
CREATE UNIQUE INDEX environments_name ON public.environments USING btree (organization_id, owner_user_id, name) WHERE (status <> 'archived'::text);

create table files (
  id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid not null,
  filename text,
  mime_type text,
  size_bytes bigint,
  sha256 text,
  expires_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  stored_at timestamp with time zone,
  deleted_at timestamp with time zone,
  reserved_bytes bigint not null default 0,
  writing_until timestamp with time zone,
  constraint files_pkey PRIMARY KEY (id),
  constraint files_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint files_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint files_check CHECK (((stored_at IS NULL) OR ((filename IS NOT NULL) AND (mime_type IS NOT NULL) AND (size_bytes IS NOT NULL) AND (sha256 IS NOT NULL)))),
  constraint files_filename_check CHECK (((length(filename) >= 1) AND (length(filename) <= 255))),
  constraint files_mime_type_check CHECK (((length(mime_type) >= 3) AND (length(mime_type) <= 255)))
);
CREATE INDEX files_expiring ON public.files USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX files_incomplete ON public.files USING btree (writing_until) WHERE ((stored_at IS NULL) OR (deleted_at IS NOT NULL));
CREATE INDEX files_owner ON public.files USING btree (organization_id, owner_user_id, id DESC);
CREATE INDEX files_owner_user ON public.files USING btree (owner_user_id);

create table folders (
  id uuid not null,
  organization_id uuid not null,
  user_id uuid,
  name text not null,
  node_id uuid not null,
  size_mb integer not null,
  created_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  used_mb integer not null default 0,
  purpose text,
  constraint folders_pkey PRIMARY KEY (id),
  constraint folders_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id),
  constraint folders_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint folders_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint folders_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint folders_purpose_check CHECK ((purpose = 'database'::text)),
  constraint folders_used_mb_check CHECK ((used_mb >= 0))
);
CREATE INDEX folders_node ON public.folders USING btree (node_id);
CREATE INDEX folders_organization ON public.folders USING btree (organization_id, created_at DESC) WHERE (deleted_at IS NULL);
CREATE INDEX folders_used ON public.folders USING btree (node_id, organization_id) INCLUDE (used_mb) WHERE ((deleted_at IS NULL) AND (used_mb > 0));
CREATE INDEX folders_user ON public.folders USING btree (user_id);

create table function_events (
  function_id uuid not null,
  position bigint not null,
  status text not null,
  status_reason text,
  version_number integer,
  created_at timestamp with time zone not null default now(),
  constraint function_events_pkey PRIMARY KEY (function_id, "position"),
  constraint function_events_function_id_fkey FOREIGN KEY (function_id) REFERENCES functions(id) ON DELETE CASCADE
);

create table function_instances (
  vm_id uuid not null,
  function_id uuid not null,
  version_id uuid not null,
  generation integer not null,
  ends_at timestamp with time zone,
  ready_at timestamp with time zone,
  failed_attempts integer not null default 0,
  worker_number bigint not null default 0,
  progress jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  constraint function_instances_pkey PRIMARY KEY (vm_id),
  constraint function_instances_function_id_fkey FOREIGN KEY (function_id) REFERENCES functions(id),
  constraint function_instances_version_id_fkey FOREIGN KEY (version_id) REFERENCES function_versions(id),
  constraint function_instances_vm_id_fkey FOREIGN KEY (vm_id) REFERENCES vms(id)
);
CREATE INDEX function_instances_function ON public.function_instances USING btree (function_id);
CREATE INDEX function_instances_version ON public.function_instances USING btree (version_id);

create table function_log_lines (
  function_id uuid not null,
  position bigint not null,
  version_number integer not null,
  output text not null,
  created_at timestamp with time zone not null default now(),
  constraint function_log_lines_pkey PRIMARY KEY (function_id, "position"),
  constraint function_log_lines_function_id_fkey FOREIGN KEY (function_id) REFERENCES function_logs(function_id) ON DELETE CASCADE
);

create table function_logs (
  function_id uuid not null,
  position bigint not null default 0,
  bytes bigint not null default 0,
  dropped_bytes bigint not null default 0,
  dropped_to bigint not null default 0,
  constraint function_logs_pkey PRIMARY KEY (function_id),
  constraint function_logs_function_id_fkey FOREIGN KEY (function_id) REFERENCES functions(id) ON DELETE CASCADE
);

create table function_pushes (
  repository_id uuid not null,
  position integer not null,
  delivery text not null,
  commit_sha text not null,
  pushed_at bigint,
  build_id uuid,
  reason text,
  deployed_at timestamp with time zone,
  received_at timestamp with time zone not null default now(),
  constraint function_pushes_repository_id_delivery_key UNIQUE (repository_id, delivery),
  constraint function_pushes_pkey PRIMARY KEY (repository_id, "position"),
  constraint function_pushes_build_id_fkey FOREIGN KEY (build_id) REFERENCES build_jobs(id),
  constraint function_pushes_repository_id_fkey FOREIGN KEY (repository_id) REFERENCES function_repositories(id) ON DELETE CASCADE,
  constraint function_pushes_commit_sha_check CHECK ((commit_sha ~ '^[0-9a-f]{40,64}$'::text)),
  constraint function_pushes_delivery_check CHECK (((length(delivery) >= 1) AND (length(delivery) <= 100))),
  constraint function_pushes_reason_check CHECK ((length(reason) <= 1000))
);
CREATE INDEX function_pushes_build ON public.function_pushes USING btree (build_id);
CREATE INDEX function_pushes_received ON public.function_pushes USING btree (received_at);

create table function_repositories (
  id uuid not null,
  function_id uuid not null,
  organization_id uuid not null,
  user_id uuid not null,
  url text not null,
  repository_id bigint not null,
  full_name text not null,
  clone_url text not null,
  branch text not null,
  sealed_spec bytea not null,
  sealed_secret bytea not null,
  hook_id bigint,
  pushes_received integer not null default 0,
  removed_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  constraint function_repositories_pkey PRIMARY KEY (id),
  constraint function_repositories_function_id_fkey FOREIGN KEY (function_id) REFERENCES functions(id),
  constraint function_repositories_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint function_repositories_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint function_repositories_branch_check CHECK (((length(branch) >= 1) AND (length(branch) <= 255))),
  constraint function_repositories_clone_url_check CHECK ((length(clone_url) <= 2048)),
  constraint function_repositories_full_name_check CHECK (((length(full_name) >= 3) AND (length(full_name) <= 511))),
  constraint function_repositories_url_check CHECK ((length(url) <= 2048))
);
CREATE INDEX function_repositories_all ON public.function_repositories USING btree (function_id);
CREATE INDEX function_repositories_organization ON public.function_repositories USING btree (organization_id);
CREATE INDEX function_repositories_removed ON public.function_repositories USING btree (removed_at) WHERE (removed_at IS NOT NULL);
CREATE INDEX function_repositories_user ON public.function_repositories USING btree (user_id);
CREATE UNIQUE INDEX function_repositories_function ON public.function_repositories USING btree (function_id) WHERE (removed_at IS NULL);

create table function_versions (
  id uuid not null,
  function_id uuid not null,
  organization_id uuid not null,
  user_id uuid,
  number integer not null,
  object_key text not null,
  binary_url text not null,
  build_id uuid,
  start_command text,
  port integer not null,
  created_at timestamp with time zone not null default now(),
  revision text,
  constraint function_versions_function_id_number_key UNIQUE (function_id, number),
  constraint function_versions_pkey PRIMARY KEY (id),
  constraint function_versions_build_id_fkey FOREIGN KEY (build_id) REFERENCES build_jobs(id),
  constraint function_versions_function_id_fkey FOREIGN KEY (function_id) REFERENCES functions(id),
  constraint function_versions_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint function_versions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint function_versions_number_check CHECK ((number > 0)),
  constraint function_versions_object_key_check CHECK (((length(object_key) >= 1) AND (length(object_key) <= 512))),
  constraint function_versions_port_check CHECK (((port >= 1) AND (port <= 65535))),
  constraint function_versions_revision_check CHECK (((length(revision) >= 1) AND (length(revision) <= 255))),
  constraint function_versions_start_command_check CHECK (((length(start_command) >= 1) AND (length(start_command) <= 4096)))
);
CREATE INDEX function_versions_build ON public.function_versions USING btree (build_id);
CREATE INDEX function_versions_object ON public.function_versions USING btree (object_key);
CREATE INDEX function_versions_organization ON public.function_versions USING btree (organization_id);
CREATE INDEX function_versions_user ON public.function_versions USING btree (user_id);

create table functions (
  id uuid not null,
  organization_id uuid not null,
  user_id uuid,
  name text not null,
  host text not null,
  status text not null,
  status_reason text,
  event_position bigint not null default 0,
  version_id uuid,
  versions_made integer not null default 0,
  vm_id uuid,
  sealed_variables bytea,
  generation integer not null default 1,
  vcpu_count integer not null,
  memory_mb integer not null,
  idle_seconds integer not null,
  failures integer not null default 0,
  retry_at timestamp with time zone,
  active_at timestamp with time zone not null default now(),
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  start_seconds integer not null default 30,
  constraint functions_pkey PRIMARY KEY (id),
  constraint functions_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint functions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint functions_idle_seconds_check CHECK ((idle_seconds > 0)),
  constraint functions_memory_mb_check CHECK (((memory_mb >= 128) AND (memory_mb <= 262144))),
  constraint functions_name_check CHECK ((name ~ '^[a-z][a-z0-9-]{0,62}$'::text)),
  constraint functions_start_seconds_check CHECK (((start_seconds >= 1) AND (start_seconds <= 300))),
  constraint functions_status_check CHECK ((status = ANY (ARRAY['stopped'::text, 'starting'::text, 'running'::text, 'stopping'::text, 'error'::text, 'deleting'::text, 'deleted'::text]))),
  constraint functions_vcpu_count_check CHECK (((vcpu_count >= 1) AND (vcpu_count <= 64)))
);
CREATE INDEX functions_host ON public.functions USING btree (host);
CREATE INDEX functions_organization ON public.functions USING btree (organization_id, id DESC);
CREATE INDEX functions_running ON public.functions USING btree (active_at) WHERE (status = ANY (ARRAY['running'::text, 'error'::text]));
CREATE INDEX functions_unsteady ON public.functions USING btree (updated_at) WHERE (status = ANY (ARRAY['starting'::text, 'stopping'::text, 'deleting'::text]));
CREATE INDEX functions_user ON public.functions USING btree (user_id);
CREATE UNIQUE INDEX functions_name ON public.functions USING btree (organization_id, name) WHERE (status <> ALL (ARRAY['deleting'::text, 'deleted'::text]));

create table group_events (
  group_id uuid not null,
  position bigint not null,
  type text not null,
  message_id uuid,
  run_id uuid,
  run_status text,
  created_at timestamp with time zone not null default now(),
  constraint group_events_pkey PRIMARY KEY (group_id, "position"),
  constraint group_events_group_id_fkey FOREIGN KEY (group_id) REFERENCES groups(id) ON DELETE CASCADE
);

create table group_members (
  group_id uuid not null,
  place integer not null,
  session_id uuid not null,
  agent_id uuid,
  builtin_agent text,
  handle text not null,
  display_name text not null,
  seen_sequence bigint not null default 0,
  constraint group_members_group_id_handle_key UNIQUE (group_id, handle),
  constraint group_members_group_id_session_id_key UNIQUE (group_id, session_id),
  constraint group_members_pkey PRIMARY KEY (group_id, place),
  constraint group_members_group_id_fkey FOREIGN KEY (group_id) REFERENCES groups(id) ON DELETE CASCADE,
  constraint group_members_handle_check CHECK (((length(handle) >= 1) AND (length(handle) <= 64)))
);
CREATE INDEX group_members_session ON public.group_members USING btree (session_id);

create table group_messages (
  id uuid not null,
  group_id uuid not null,
  sequence bigint not null,
  author_type text not null,
  author_id uuid not null,
  author_handle text not null,
  text text not null,
  recipient_ids uuid[] not null,
  run_id uuid,
  undelivered_reason text,
  created_at timestamp with time zone not null default now(),
  constraint group_messages_group_id_sequence_key UNIQUE (group_id, sequence),
  constraint group_messages_run_id_key UNIQUE (run_id),
  constraint group_messages_pkey PRIMARY KEY (id),
  constraint group_messages_group_id_fkey FOREIGN KEY (group_id) REFERENCES groups(id) ON DELETE CASCADE,
  constraint group_messages_author_type_check CHECK ((author_type = ANY (ARRAY['user'::text, 'member'::text]))),
  constraint group_messages_undelivered_reason_check CHECK ((undelivered_reason = ANY (ARRAY['hop_limit'::text, 'run_limit'::text, 'member_busy'::text, 'unknown_mention'::text])))
);

create table group_runs (
  id uuid not null,
  group_id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid not null,
  session_id uuid not null,
  message_id uuid not null,
  origin_id uuid not null,
  hops integer not null,
  revision bigint not null,
  through_position bigint,
  usage_from jsonb,
  usage jsonb,
  created_at timestamp with time zone not null default now(),
  constraint group_runs_pkey PRIMARY KEY (id),
  constraint group_runs_group_id_fkey FOREIGN KEY (group_id) REFERENCES groups(id) ON DELETE CASCADE,
  constraint group_runs_message_id_fkey FOREIGN KEY (message_id) REFERENCES group_messages(id) ON DELETE CASCADE,
  constraint group_runs_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint group_runs_origin_id_fkey FOREIGN KEY (origin_id) REFERENCES group_messages(id) ON DELETE CASCADE,
  constraint group_runs_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint group_runs_hops_check CHECK ((hops >= 0))
);
CREATE INDEX group_runs_group ON public.group_runs USING btree (group_id, id DESC);
CREATE INDEX group_runs_message ON public.group_runs USING btree (message_id);
CREATE INDEX group_runs_origin ON public.group_runs USING btree (origin_id);
CREATE INDEX group_runs_owner ON public.group_runs USING btree (organization_id, owner_user_id);
CREATE INDEX group_runs_owner_user ON public.group_runs USING btree (owner_user_id);
CREATE INDEX group_runs_session ON public.group_runs USING btree (session_id, id DESC);

create table groups (
  id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid not null,
  name text not null,
  description text,
  revision bigint not null default 0,
  message_sequence bigint not null default 0,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint groups_pkey PRIMARY KEY (id),
  constraint groups_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint groups_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint groups_description_check CHECK ((length(description) <= 2048)),
  constraint groups_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255)))
);
CREATE INDEX groups_owner ON public.groups USING btree (organization_id, owner_user_id, id DESC);
CREATE INDEX groups_owner_user ON public.groups USING btree (owner_user_id);

create table idempotency_keys (
  caller text not null,
  key text not null,
  request_sha256 bytea not null,
  response_status integer,
  sealed_response bytea,
  in_progress_until timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  grants jsonb not null default '[]'::jsonb,
  constraint idempotency_keys_pkey PRIMARY KEY (caller, key),
  constraint idempotency_keys_key_check CHECK (((length(key) >= 1) AND (length(key) <= 255)))
);
CREATE INDEX idempotency_keys_age ON public.idempotency_keys USING btree (created_at);

create table identities (
  issuer text not null,
  subject text not null,
  user_id uuid not null,
  created_at timestamp with time zone not null default now(),
  signed_in_at timestamp with time zone not null default now(),
  constraint identities_pkey PRIMARY KEY (issuer, subject),
  constraint identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint identities_issuer_check CHECK ((length(issuer) <= 2048)),
  constraint identities_subject_check CHECK (((length(subject) >= 1) AND (length(subject) <= 255)))
);
CREATE INDEX identities_user ON public.identities USING btree (user_id);

create table inference_accounts (
  organization_id uuid not null,
  plan text,
  balance_nano_usd bigint not null default 0,
  monthly_budget_nano_usd bigint,
  settled_position bigint not null default 0,
  constraint inference_accounts_pkey PRIMARY KEY (organization_id),
  constraint inference_accounts_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint inference_accounts_balance_nano_usd_check CHECK (((balance_nano_usd >= '-9000000000000000'::bigint) AND (balance_nano_usd <= '9000000000000000'::bigint))),
  constraint inference_accounts_monthly_budget_nano_usd_check CHECK (((monthly_budget_nano_usd >= 0) AND (monthly_budget_nano_usd <= '9000000000000000'::bigint))),
  constraint inference_accounts_plan_check CHECK (((length(plan) >= 1) AND (length(plan) <= 64)))
);

create table inference_days (
  organization_id uuid not null,
  day date not null,
  model text not null,
  payer text not null,
  requests bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  reasoning_tokens bigint not null,
  cost_nano_usd bigint not null,
  constraint inference_days_pkey PRIMARY KEY (organization_id, day, model, payer),
  constraint inference_days_payer_check CHECK ((payer ~ '^(key:.+|user:.+|system)$'::text))
);

create table inference_grants (
  id uuid not null,
  organization_id uuid not null,
  amount_nano_usd bigint not null,
  granted_by text not null,
  note text,
  created_at timestamp with time zone not null default now(),
  constraint inference_grants_pkey PRIMARY KEY (id),
  constraint inference_grants_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint inference_grants_amount_nano_usd_check CHECK ((amount_nano_usd <> 0)),
  constraint inference_grants_granted_by_check CHECK (((length(granted_by) >= 1) AND (length(granted_by) <= 255))),
  constraint inference_grants_note_check CHECK (((length(note) >= 1) AND (length(note) <= 1000)))
);
CREATE INDEX inference_grants_organization ON public.inference_grants USING btree (organization_id, id);

create table inference_key_budgets (
  organization_id uuid not null,
  key_id text not null,
  monthly_budget_nano_usd bigint not null,
  constraint inference_key_budgets_pkey PRIMARY KEY (organization_id, key_id),
  constraint inference_key_budgets_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(key_id),
  constraint inference_key_budgets_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint inference_key_budgets_monthly_budget_nano_usd_check CHECK (((monthly_budget_nano_usd >= 0) AND (monthly_budget_nano_usd <= '9000000000000000'::bigint)))
);
CREATE INDEX inference_key_budgets_key ON public.inference_key_budgets USING btree (key_id);

create table inference_processes (
  id uuid not null,
  flushes bigint not null default 0,
  seen_at timestamp with time zone not null default now(),
  constraint inference_processes_pkey PRIMARY KEY (id)
);
CREATE INDEX inference_processes_seen ON public.inference_processes USING btree (seen_at);

create table inference_requests (
  organization_id uuid not null,
  id uuid not null,
  key_id text,
  user_id uuid,
  model text not null,
  upstream text,
  route text not null,
  status text not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  reasoning_tokens bigint not null,
  cost_nano_usd bigint not null,
  process_id uuid not null,
  settled_position bigint,
  started_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  session_id uuid,
  constraint inference_requests_pkey PRIMARY KEY (organization_id, id),
  constraint inference_requests_cache_read_tokens_check CHECK ((cache_read_tokens >= 0)),
  constraint inference_requests_cache_write_tokens_check CHECK ((cache_write_tokens >= 0)),
  constraint inference_requests_check CHECK (((status = 'open'::text) = (ended_at IS NULL))),
  constraint inference_requests_check1 CHECK (((status = 'open'::text) = (settled_position IS NULL))),
  constraint inference_requests_cost_nano_usd_check CHECK ((cost_nano_usd >= 0)),
  constraint inference_requests_input_tokens_check CHECK ((input_tokens >= 0)),
  constraint inference_requests_output_tokens_check CHECK ((output_tokens >= 0)),
  constraint inference_requests_reasoning_tokens_check CHECK ((reasoning_tokens >= 0)),
  constraint inference_requests_route_check CHECK ((route = ANY (ARRAY['chat.completions'::text, 'chat'::text, 'messages'::text, 'responses'::text, 'embeddings'::text, 'graphql'::text, 'agent'::text, 'memories'::text]))),
  constraint inference_requests_status_check CHECK ((status = ANY (ARRAY['open'::text, 'completed'::text, 'cut_by_client'::text, 'cut_by_upstream'::text, 'failed'::text, 'lost'::text])))
);
CREATE INDEX inference_requests_key ON public.inference_requests USING btree (organization_id, key_id, id) WHERE (key_id IS NOT NULL);
CREATE INDEX inference_requests_model ON public.inference_requests USING btree (organization_id, model, id);
CREATE INDEX inference_requests_open ON public.inference_requests USING btree (process_id) WHERE (status = 'open'::text);
CREATE INDEX inference_requests_settled ON public.inference_requests USING btree (organization_id, settled_position) WHERE (settled_position IS NOT NULL);

create table invitations (
  id uuid not null,
  organization_id uuid not null,
  role text not null,
  note text,
  secret_sha256 bytea not null,
  created_by uuid not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  accepted_at timestamp with time zone,
  accepted_by uuid,
  email text,
  mail_status text,
  mail_reason text,
  mail_attempts integer not null default 0,
  sealed_secret bytea,
  constraint invitations_secret_sha256_key UNIQUE (secret_sha256),
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitations_accepted_by_fkey FOREIGN KEY (accepted_by) REFERENCES users(id),
  constraint invitations_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint invitations_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint invitations_email_check CHECK ((length(email) <= 254)),
  constraint invitations_mail_reason_check CHECK ((length(mail_reason) <= 500)),
  constraint invitations_mail_status_check CHECK ((mail_status = ANY (ARRAY['pending'::text, 'sent'::text, 'failed'::text]))),
  constraint invitations_note_check CHECK ((length(note) <= 255)),
  constraint invitations_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'viewer'::text]))),
  constraint invitations_sealed_secret_check CHECK ((length(sealed_secret) <= 255)),
  constraint invitations_secret_sha256_check CHECK ((length(secret_sha256) = 32)),
  constraint invitations_secret_until_sent CHECK (((sealed_secret IS NULL) OR (NOT (mail_status IS DISTINCT FROM 'pending'::text))))
);
CREATE INDEX invitations_accepted_by ON public.invitations USING btree (accepted_by);
CREATE INDEX invitations_created_by ON public.invitations USING btree (created_by);
CREATE INDEX invitations_organization ON public.invitations USING btree (organization_id, id DESC);

create table mcp_authorizations (
  digest bytea not null,
  person_id uuid not null,
  service_id text not null,
  return_url text not null,
  issuer text not null,
  sealed_order bytea not null,
  came_back_from text,
  expires_at timestamp with time zone not null,
  constraint mcp_authorizations_pkey PRIMARY KEY (digest),
  constraint mcp_authorizations_person_id_fkey FOREIGN KEY (person_id) REFERENCES mcp_people(id) ON DELETE CASCADE
);
CREATE INDEX mcp_authorizations_person ON public.mcp_authorizations USING btree (person_id, expires_at DESC);

create table mcp_choices (
  person_id uuid not null,
  service_id text not null,
  disabled_tools text[] not null default '{}'::text[],
  tools_count integer not null default 0,
  constraint mcp_choices_pkey PRIMARY KEY (person_id, service_id),
  constraint mcp_choices_person_id_fkey FOREIGN KEY (person_id) REFERENCES mcp_people(id) ON DELETE CASCADE,
  constraint mcp_choices_service_id_check CHECK (((length(service_id) >= 1) AND (length(service_id) <= 63))),
  constraint mcp_choices_tools_count_check CHECK ((tools_count >= 0))
);

create table mcp_clients (
  issuer text not null,
  redirect_url text not null,
  client_id text not null,
  client_auth text not null,
  sealed_secret bytea,
  expires_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  constraint mcp_clients_pkey PRIMARY KEY (issuer, redirect_url),
  constraint mcp_clients_client_auth_check CHECK ((client_auth = ANY (ARRAY['none'::text, 'client_secret_basic'::text, 'client_secret_post'::text])))
);

create table mcp_connection_events (
  person_id uuid not null,
  position bigint not null,
  type text not null,
  service_id text not null,
  connection_id uuid,
  created_at timestamp with time zone not null default now(),
  constraint mcp_connection_events_pkey PRIMARY KEY (person_id, "position"),
  constraint mcp_connection_events_person_id_fkey FOREIGN KEY (person_id) REFERENCES mcp_people(id) ON DELETE CASCADE
);

create table mcp_connections (
  id uuid not null,
  person_id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid not null,
  service_id text not null,
  server_url text not null,
  issuer text not null,
  token_endpoint text not null,
  revocation_endpoint text,
  client_id text not null,
  client_auth text not null,
  resource text,
  scope text,
  missing_scope text,
  sealed_tokens bytea not null,
  expires_at timestamp with time zone,
  token_generation integer not null default 1,
  refused_generation integer,
  connected_at timestamp with time zone not null default now(),
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint mcp_connections_person_id_service_id_key UNIQUE (person_id, service_id),
  constraint mcp_connections_pkey PRIMARY KEY (id),
  constraint mcp_connections_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint mcp_connections_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint mcp_connections_person_id_fkey FOREIGN KEY (person_id) REFERENCES mcp_people(id) ON DELETE CASCADE,
  constraint mcp_connections_client_auth_check CHECK ((client_auth = ANY (ARRAY['none'::text, 'client_secret_basic'::text, 'client_secret_post'::text]))),
  constraint mcp_connections_service_id_check CHECK (((length(service_id) >= 1) AND (length(service_id) <= 63)))
);
CREATE INDEX mcp_connections_owner ON public.mcp_connections USING btree (organization_id, owner_user_id, id DESC);
CREATE INDEX mcp_connections_owner_user ON public.mcp_connections USING btree (owner_user_id);

create table mcp_people (
  id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid not null,
  event_position bigint not null default 0,
  constraint mcp_people_organization_id_owner_user_id_key UNIQUE (organization_id, owner_user_id),
  constraint mcp_people_pkey PRIMARY KEY (id),
  constraint mcp_people_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint mcp_people_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id)
);
CREATE INDEX mcp_people_owner_user ON public.mcp_people USING btree (owner_user_id);

create table mcp_sessions (
  id uuid not null,
  session_id uuid,
  url text not null,
  credential_id uuid,
  sealed_session bytea not null,
  created_at timestamp with time zone not null default now(),
  ending_tries integer not null default 0,
  ending_at timestamp with time zone not null default now(),
  constraint mcp_sessions_pkey PRIMARY KEY (id),
  constraint mcp_sessions_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE SET NULL,
  constraint mcp_sessions_url_check CHECK ((octet_length(url) <= 2048))
);
CREATE INDEX mcp_sessions_left ON public.mcp_sessions USING btree (ending_at) WHERE (session_id IS NULL);
CREATE UNIQUE INDEX mcp_sessions_session ON public.mcp_sessions USING btree (session_id, url, COALESCE(credential_id, '00000000-0000-0000-0000-000000000000'::uuid));

create table memberships (
  id uuid not null,
  organization_id uuid not null,
  user_id uuid not null,
  role text not null,
  created_at timestamp with time zone not null default now(),
  deactivated_at timestamp with time zone,
  constraint memberships_pkey PRIMARY KEY (id),
  constraint memberships_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint memberships_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'viewer'::text])))
);
CREATE INDEX memberships_user ON public.memberships USING btree (user_id);
CREATE UNIQUE INDEX memberships_active ON public.memberships USING btree (organization_id, user_id) WHERE (deactivated_at IS NULL);

create table memories (
  id uuid not null,
  space_id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid,
  body text not null,
  category text,
  revision integer not null default 1,
  idempotency_key text not null,
  request_digest bytea not null,
  actor_type text not null,
  actor_id uuid not null,
  author_user_id uuid not null,
  source_session_id uuid,
  words tsvector not null default to_tsvector('simple'::regconfig, body),
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint memories_space_id_idempotency_key_key UNIQUE (space_id, idempotency_key),
  constraint memories_pkey PRIMARY KEY (id),
  constraint memories_author_user_id_fkey FOREIGN KEY (author_user_id) REFERENCES users(id),
  constraint memories_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint memories_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint memories_source_session_id_fkey FOREIGN KEY (source_session_id) REFERENCES sessions(id) ON DELETE SET NULL,
  constraint memories_space_id_fkey FOREIGN KEY (space_id) REFERENCES memory_spaces(id) ON DELETE CASCADE,
  constraint memories_actor_type_check CHECK ((actor_type = ANY (ARRAY['user'::text, 'agent'::text]))),
  constraint memories_body_check CHECK (((length(body) >= 1) AND (length(body) <= 10000))),
  constraint memories_category_check CHECK ((category = ANY (ARRAY['preference'::text, 'fact'::text, 'instruction'::text, 'project'::text, 'other'::text]))),
  constraint memories_idempotency_key_check CHECK (((length(idempotency_key) >= 1) AND (length(idempotency_key) <= 255))),
  constraint memories_revision_check CHECK ((revision > 0))
);
CREATE INDEX memories_author_user ON public.memories USING btree (author_user_id);
CREATE INDEX memories_owner ON public.memories USING btree (organization_id, owner_user_id, id DESC);
CREATE INDEX memories_owner_user ON public.memories USING btree (owner_user_id);
CREATE INDEX memories_source_session ON public.memories USING btree (source_session_id);
CREATE INDEX memories_space ON public.memories USING btree (space_id, id DESC);
CREATE INDEX memories_words ON public.memories USING gin (words) WITH (fastupdate=off);

create table memory_events (
  space_id uuid not null,
  position bigint not null,
  type text not null,
  memory_id uuid not null,
  revision integer not null,
  created_at timestamp with time zone not null default now(),
  constraint memory_events_pkey PRIMARY KEY (space_id, "position"),
  constraint memory_events_space_id_fkey FOREIGN KEY (space_id) REFERENCES memory_spaces(id) ON DELETE CASCADE
);

create table memory_spaces (
  id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid,
  use_memories boolean not null default true,
  memory_count integer not null default 0,
  event_position bigint not null default 0,
  vectors_made_by integer,
  vectors_position bigint not null default 0,
  vectors_failures integer not null default 0,
  vectors_not_before timestamp with time zone,
  constraint memory_spaces_organization_id_owner_user_id_key UNIQUE NULLS NOT DISTINCT (organization_id, owner_user_id),
  constraint memory_spaces_pkey PRIMARY KEY (id),
  constraint memory_spaces_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint memory_spaces_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint memory_spaces_memory_count_check CHECK ((memory_count >= 0))
);
CREATE INDEX memory_spaces_owner_user ON public.memory_spaces USING btree (owner_user_id);

create table memory_vectors (
  memory_id uuid not null,
  space_id uuid not null,
  made_by integer not null,
  revision integer not null,
  signs bit varying,
  vector bytea,
  constraint memory_vectors_pkey PRIMARY KEY (memory_id),
  constraint memory_vectors_memory_id_fkey FOREIGN KEY (memory_id) REFERENCES memories(id) ON DELETE CASCADE,
  constraint memory_vectors_space_id_fkey FOREIGN KEY (space_id) REFERENCES memory_spaces(id) ON DELETE CASCADE,
  constraint memory_vectors_check CHECK (((signs IS NULL) = (vector IS NULL)))
);
CREATE INDEX memory_vectors_near ON public.memory_vectors USING btree (space_id, made_by) INCLUDE (memory_id, revision, signs);

create table migrations (
  name text not null,
  ran_at timestamp with time zone not null default now(),
  constraint migrations_pkey PRIMARY KEY (name)
);

create table nodes (
  id uuid not null,
  name text not null,
  agent_url text not null,
  acceleration text,
  memory_mb integer not null default 0,
  unavailable_reason text,
  heartbeat_at timestamp with time zone not null default now(),
  created_at timestamp with time zone not null default now(),
  disk_mb integer,
  worker_number bigint not null default 0,
  templates text[] not null default '{}'::text[],
  constraint nodes_pkey PRIMARY KEY (id),
  constraint nodes_acceleration_check CHECK ((acceleration = ANY (ARRAY['kvm'::text, 'emulation'::text]))),
  constraint nodes_disk_mb_check CHECK ((disk_mb > 0))
);

create table oauth_clients (
  client_id text not null,
  name text not null,
  redirect_uris text[] not null,
  address text not null,
  created_at timestamp with time zone not null default now(),
  used_at timestamp with time zone,
  constraint oauth_clients_pkey PRIMARY KEY (client_id),
  constraint oauth_clients_address_check CHECK ((length(address) <= 64)),
  constraint oauth_clients_client_id_check CHECK ((length(client_id) <= 40)),
  constraint oauth_clients_name_check CHECK ((length(name) <= 100)),
  constraint oauth_clients_redirect_uris_check CHECK (((cardinality(redirect_uris) >= 1) AND (cardinality(redirect_uris) <= 10)))
);
CREATE INDEX oauth_clients_address ON public.oauth_clients USING btree (address);

create table organization_events (
  transaction bigint not null default ((pg_current_xact_id())::text)::bigint,
  id bigint not null generated always as identity,
  organization_id uuid not null,
  owner_user_id uuid,
  type text not null,
  node_id text not null,
  change text not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint organization_events_pkey PRIMARY KEY (transaction, id),
  constraint organization_events_change_check CHECK ((change = ANY (ARRAY['created'::text, 'updated'::text, 'deleted'::text]))),
  constraint organization_events_node_id_check CHECK ((length(node_id) <= 50)),
  constraint organization_events_type_check CHECK ((length(type) <= 50))
);
CREATE INDEX organization_events_organization ON public.organization_events USING btree (organization_id, transaction, id);

create table organizations (
  id uuid not null,
  name text not null,
  created_at timestamp with time zone not null default now(),
  deactivated_at timestamp with time zone,
  created_by uuid,
  constraint organizations_name_key UNIQUE (name),
  constraint organizations_pkey PRIMARY KEY (id),
  constraint organizations_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint organizations_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255)))
);
CREATE INDEX organizations_created_by ON public.organizations USING btree (created_by);

create table peer_exchange_events (
  exchange_id uuid not null,
  position bigint not null,
  status text not null,
  created_at timestamp with time zone not null default now(),
  constraint peer_exchange_events_pkey PRIMARY KEY (exchange_id, "position"),
  constraint peer_exchange_events_exchange_id_fkey FOREIGN KEY (exchange_id) REFERENCES peer_exchanges(id) ON DELETE CASCADE,
  constraint peer_exchange_events_status_check CHECK ((status = ANY (ARRAY['submitted'::text, 'working'::text, 'input_required'::text, 'completed'::text, 'failed'::text, 'cancelled'::text, 'rejected'::text])))
);

create table peer_exchanges (
  id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid not null,
  requester_session_id uuid not null,
  responder_session_id uuid not null,
  turn_id uuid not null,
  depth integer not null,
  request_text text not null,
  file_id uuid,
  attachment_vm_id uuid,
  attachment_placed_at timestamp with time zone,
  status text not null,
  answer text,
  error jsonb,
  event_position bigint not null default 0,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  told_at timestamp with time zone,
  delivered_at timestamp with time zone,
  constraint peer_exchanges_pkey PRIMARY KEY (id),
  constraint peer_exchanges_file_id_fkey FOREIGN KEY (file_id) REFERENCES files(id) ON DELETE SET NULL,
  constraint peer_exchanges_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint peer_exchanges_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint peer_exchanges_check CHECK (((finished_at IS NOT NULL) = (status = ANY (ARRAY['completed'::text, 'failed'::text, 'cancelled'::text, 'rejected'::text])))),
  constraint peer_exchanges_check1 CHECK (((answer IS NOT NULL) = (status = 'completed'::text))),
  constraint peer_exchanges_depth_check CHECK ((depth >= 1)),
  constraint peer_exchanges_status_check CHECK ((status = ANY (ARRAY['submitted'::text, 'working'::text, 'input_required'::text, 'completed'::text, 'failed'::text, 'cancelled'::text, 'rejected'::text])))
);
CREATE INDEX peer_exchanges_delivered ON public.peer_exchanges USING btree (delivered_at) WHERE (delivered_at IS NOT NULL);
CREATE INDEX peer_exchanges_file ON public.peer_exchanges USING btree (file_id);
CREATE INDEX peer_exchanges_open ON public.peer_exchanges USING btree (organization_id, requester_session_id) WHERE (finished_at IS NULL);
CREATE INDEX peer_exchanges_owner ON public.peer_exchanges USING btree (organization_id, owner_user_id, id DESC);
CREATE INDEX peer_exchanges_owner_user ON public.peer_exchanges USING btree (owner_user_id);
CREATE INDEX peer_exchanges_requester ON public.peer_exchanges USING btree (requester_session_id, id DESC);
CREATE INDEX peer_exchanges_responder ON public.peer_exchanges USING btree (responder_session_id, id DESC);
CREATE INDEX peer_exchanges_turn ON public.peer_exchanges USING btree (turn_id);
CREATE INDEX peer_exchanges_undelivered ON public.peer_exchanges USING btree (finished_at) WHERE (delivered_at IS NULL);

create table projects (
  id uuid not null,
  organization_id uuid not null,
  user_id uuid,
  name text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint projects_pkey PRIMARY KEY (id),
  constraint projects_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint projects_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint projects_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255)))
);
CREATE INDEX projects_organization ON public.projects USING btree (organization_id, id DESC);
CREATE INDEX projects_user ON public.projects USING btree (user_id);

create table proxies (
  id uuid not null,
  organization_id uuid not null,
  user_id uuid,
  vm_id uuid not null,
  service_name text not null,
  vm_port integer not null,
  deployment_type text not null,
  host text not null,
  path text not null,
  domain_id uuid,
  wakes boolean not null,
  created_at timestamp with time zone not null default now(),
  constraint proxies_service_name UNIQUE (vm_id, service_name),
  constraint proxies_pkey PRIMARY KEY (id),
  constraint proxies_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint proxies_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint proxies_vm_id_fkey FOREIGN KEY (vm_id) REFERENCES vms(id),
  constraint proxies_deployment_type_check CHECK ((deployment_type = ANY (ARRAY['vm'::text, 'preview'::text, 'database'::text]))),
  constraint proxies_service_name_check CHECK ((service_name ~ '^[a-z][a-z0-9-]{0,62}$'::text)),
  constraint proxies_vm_port_check CHECK (((vm_port >= 1) AND (vm_port <= 65535)))
);
CREATE INDEX proxies_domain ON public.proxies USING btree (domain_id) WHERE (domain_id IS NOT NULL);
CREATE INDEX proxies_organization ON public.proxies USING btree (organization_id, id DESC);
CREATE INDEX proxies_user ON public.proxies USING btree (user_id);
CREATE INDEX proxies_vm ON public.proxies USING btree (vm_id, id DESC);

create unlogged table rate_buckets (
  bucket text not null,
  tokens double precision not null,
  granted double precision not null,
  refilled_at timestamp with time zone not null,
  constraint rate_buckets_pkey PRIMARY KEY (bucket)
);
CREATE INDEX rate_buckets_age ON public.rate_buckets USING btree (refilled_at);

create table routes (
  id uuid not null,
  organization_id uuid not null,
  kind text not null,
  host text not null,
  path text not null default '/'::text,
  access text not null default 'public'::text,
  vm_id uuid,
  vm_port integer,
  function_id uuid,
  wakes boolean not null default false,
  constraint routes_host_path_key UNIQUE (host, path),
  constraint routes_pkey PRIMARY KEY (id),
  constraint routes_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint routes_vm_id_fkey FOREIGN KEY (vm_id) REFERENCES vms(id),
  constraint routes_access_check CHECK ((access = ANY (ARRAY['public'::text, 'preview'::text, 'database'::text]))),
  constraint routes_check CHECK ((num_nonnulls(vm_id, function_id) <= 1)),
  constraint routes_check1 CHECK (((vm_id IS NULL) = (vm_port IS NULL))),
  constraint routes_host_check CHECK (((host = lower(host)) AND ((length(host) >= 1) AND (length(host) <= 253)))),
  constraint routes_kind_check CHECK ((kind = ANY (ARRAY['proxy'::text, 'domain'::text, 'function'::text]))),
  constraint routes_path_check CHECK (((path ~~ '/%'::text) AND (length(path) <= 1024))),
  constraint routes_vm_port_check CHECK (((vm_port >= 1) AND (vm_port <= 65535)))
);
CREATE INDEX routes_function ON public.routes USING btree (function_id);
CREATE INDEX routes_organization ON public.routes USING btree (organization_id);
CREATE INDEX routes_vm ON public.routes USING btree (vm_id);

create table schedule_runs (
  id uuid not null,
  schedule_id uuid not null,
  scheduled_at timestamp with time zone not null,
  position bigint not null,
  status text not null,
  session_id uuid,
  skip_reason text,
  error_type text,
  message text,
  created_at timestamp with time zone not null default now(),
  constraint schedule_runs_schedule_id_position_key UNIQUE (schedule_id, "position"),
  constraint schedule_runs_schedule_id_scheduled_at_key UNIQUE (schedule_id, scheduled_at),
  constraint schedule_runs_pkey PRIMARY KEY (id),
  constraint schedule_runs_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES schedules(id) ON DELETE CASCADE,
  constraint schedule_runs_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE SET NULL,
  constraint schedule_runs_check CHECK (((status = 'skipped'::text) = (skip_reason IS NOT NULL))),
  constraint schedule_runs_check1 CHECK (((status = 'failed'::text) = (error_type IS NOT NULL))),
  constraint schedule_runs_check2 CHECK (((session_id IS NULL) OR (status = 'started'::text))),
  constraint schedule_runs_skip_reason_check CHECK ((skip_reason = ANY (ARRAY['overlap'::text, 'missed'::text, 'rate_limited'::text, 'deployment_paused'::text]))),
  constraint schedule_runs_status_check CHECK ((status = ANY (ARRAY['started'::text, 'skipped'::text, 'failed'::text])))
);
CREATE INDEX schedule_runs_created ON public.schedule_runs USING btree (created_at);
CREATE INDEX schedule_runs_schedule ON public.schedule_runs USING btree (schedule_id, id DESC);
CREATE INDEX schedule_runs_session ON public.schedule_runs USING btree (session_id);

create table schedules (
  id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid not null,
  agent_id uuid,
  agent_version integer,
  deployment_id uuid,
  kickoff jsonb,
  cron text not null,
  timezone text not null,
  enabled boolean not null,
  overlap text not null,
  jitter_ms integer not null,
  next_run_at timestamp with time zone,
  planned_at timestamp with time zone not null,
  last_run_at timestamp with time zone,
  last_session_id uuid,
  last_error text,
  failures integer not null default 0,
  run_position bigint not null default 0,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  name text,
  constraint schedules_pkey PRIMARY KEY (id),
  constraint schedules_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE,
  constraint schedules_deployment_id_fkey FOREIGN KEY (deployment_id) REFERENCES deployments(id) ON DELETE CASCADE,
  constraint schedules_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint schedules_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint schedules_agent_version_check CHECK ((agent_version > 0)),
  constraint schedules_check CHECK (((agent_id IS NULL) <> (deployment_id IS NULL))),
  constraint schedules_check1 CHECK (((agent_id IS NULL) = (kickoff IS NULL))),
  constraint schedules_check2 CHECK (((agent_version IS NULL) OR (agent_id IS NOT NULL))),
  constraint schedules_check3 CHECK ((enabled = (next_run_at IS NOT NULL))),
  constraint schedules_cron_check CHECK (((length(cron) >= 9) AND (length(cron) <= 255))),
  constraint schedules_jitter_ms_check CHECK (((jitter_ms >= 0) AND (jitter_ms <= 10000))),
  constraint schedules_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint schedules_overlap_check CHECK ((overlap = ANY (ARRAY['skip'::text, 'allow'::text]))),
  constraint schedules_timezone_check CHECK (((length(timezone) >= 1) AND (length(timezone) <= 255)))
);
CREATE INDEX schedules_agent ON public.schedules USING btree (agent_id, id DESC);
CREATE INDEX schedules_deployment ON public.schedules USING btree (deployment_id, id DESC);
CREATE INDEX schedules_due ON public.schedules USING btree (next_run_at, organization_id) WHERE enabled;
CREATE INDEX schedules_due_of ON public.schedules USING btree (organization_id, next_run_at) WHERE enabled;
CREATE INDEX schedules_owner ON public.schedules USING btree (organization_id, owner_user_id, id DESC);
CREATE INDEX schedules_owner_user ON public.schedules USING btree (owner_user_id);
CREATE UNIQUE INDEX schedules_name ON public.schedules USING btree (organization_id, owner_user_id, name);

create table session_calls (
  tool_use_id uuid not null,
  session_id uuid not null,
  vm_id uuid,
  vm_started_at timestamp with time zone,
  begun_at timestamp with time zone not null default now(),
  constraint session_calls_pkey PRIMARY KEY (tool_use_id),
  constraint session_calls_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE
);
CREATE INDEX session_calls_session ON public.session_calls USING btree (session_id);

create table session_events (
  session_id uuid not null,
  position bigint not null,
  id uuid not null,
  type text not null,
  data json not null,
  size_bytes integer not null,
  answers uuid,
  processed_at timestamp with time zone,
  taken_position bigint,
  created_at timestamp with time zone not null default now(),
  constraint session_events_id_key UNIQUE (id),
  constraint session_events_pkey PRIMARY KEY (session_id, "position"),
  constraint session_events_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE
);
CREATE INDEX session_events_queued ON public.session_events USING btree (session_id, "position") WHERE (processed_at IS NULL);
CREATE UNIQUE INDEX session_events_answers ON public.session_events USING btree (session_id, answers, type) WHERE (answers IS NOT NULL);
CREATE UNIQUE INDEX session_events_taken ON public.session_events USING btree (session_id, taken_position) WHERE (taken_position IS NOT NULL);

create unlogged table session_previews (
  session_id uuid not null,
  seq bigint not null generated always as identity,
  event_id uuid not null,
  data jsonb not null,
  constraint session_previews_pkey PRIMARY KEY (session_id, seq),
  constraint session_previews_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE
);

create table session_reasoning (
  span_id uuid not null,
  session_id uuid not null,
  blocks jsonb not null,
  constraint session_reasoning_pkey PRIMARY KEY (span_id),
  constraint session_reasoning_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE
);
CREATE INDEX session_reasoning_session ON public.session_reasoning USING btree (session_id);

create table session_resources (
  id uuid not null,
  session_id uuid not null,
  type text not null,
  mount_path text not null,
  file_id uuid,
  url text,
  checkout jsonb,
  sealed_token bytea,
  vm_id uuid,
  placed_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint session_resources_session_id_mount_path_key UNIQUE (session_id, mount_path),
  constraint session_resources_pkey PRIMARY KEY (id),
  constraint session_resources_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE,
  constraint session_resources_check CHECK (((type = 'file'::text) = (file_id IS NOT NULL))),
  constraint session_resources_check1 CHECK (((type = 'github_repository'::text) = (url IS NOT NULL))),
  constraint session_resources_check2 CHECK (((type = 'github_repository'::text) OR ((checkout IS NULL) AND (sealed_token IS NULL)))),
  constraint session_resources_mount_path_check CHECK (((length(mount_path) >= 2) AND (length(mount_path) <= 1024))),
  constraint session_resources_type_check CHECK ((type = ANY (ARRAY['file'::text, 'github_repository'::text])))
);
CREATE INDEX session_resources_vm ON public.session_resources USING btree (vm_id) WHERE (sealed_token IS NOT NULL);

create table session_secrets (
  session_id uuid not null,
  digest text not null,
  sealed_value bytea not null,
  constraint session_secrets_pkey PRIMARY KEY (session_id, digest),
  constraint session_secrets_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE
);

create table session_tasks (
  id uuid not null,
  kind text not null,
  organization_id uuid not null,
  owner_user_id uuid not null,
  session_id uuid not null,
  status text not null,
  from_position bigint,
  answer text,
  error jsonb,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  constraint session_tasks_pkey PRIMARY KEY (id),
  constraint session_tasks_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint session_tasks_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint session_tasks_check CHECK (((finished_at IS NOT NULL) = (status = ANY (ARRAY['completed'::text, 'failed'::text, 'cancelled'::text])))),
  constraint session_tasks_check1 CHECK (((status <> ALL (ARRAY['running'::text, 'requires_action'::text, 'completed'::text])) OR ((started_at IS NOT NULL) AND (from_position IS NOT NULL)))),
  constraint session_tasks_kind_check CHECK ((kind = ANY (ARRAY['group_run'::text, 'peer_exchange'::text]))),
  constraint session_tasks_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'requires_action'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])))
);
CREATE INDEX session_tasks_expiring ON public.session_tasks USING btree (expires_at) WHERE (finished_at IS NULL);
CREATE INDEX session_tasks_open ON public.session_tasks USING btree (session_id, id) WHERE (finished_at IS NULL);
CREATE INDEX session_tasks_owner ON public.session_tasks USING btree (organization_id, owner_user_id);
CREATE INDEX session_tasks_owner_user ON public.session_tasks USING btree (owner_user_id);
CREATE INDEX session_tasks_queued ON public.session_tasks USING btree (organization_id, "right"((id)::text, 12), session_id) WHERE (status = 'queued'::text);
CREATE UNIQUE INDEX session_tasks_at_work ON public.session_tasks USING btree (session_id) WHERE (status = ANY (ARRAY['running'::text, 'requires_action'::text]));

create table sessions (
  id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid not null,
  agent_id uuid,
  builtin_agent text,
  agent_version integer not null,
  agent_definition json not null,
  environment_id uuid,
  deployment_id uuid,
  kind text not null,
  source text not null,
  title text,
  metadata jsonb not null default '{}'::jsonb,
  vault_ids uuid[] not null default '{}'::uuid[],
  budget_nano_usd bigint,
  status text not null,
  stop_reason jsonb,
  running_since timestamp with time zone,
  active_ms bigint not null default 0,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cache_read_input_tokens bigint not null default 0,
  cache_creation_5m_input_tokens bigint not null default 0,
  cache_creation_1h_input_tokens bigint not null default 0,
  web_search_requests bigint not null default 0,
  web_fetch_requests bigint not null default 0,
  cost_nano_usd bigint not null default 0,
  event_position bigint not null default 0,
  last_event_id uuid,
  last_event_at timestamp with time zone,
  service_events bigint not null default 0,
  read_event_id uuid,
  read_position bigint not null default 0,
  read_service_events bigint not null default 0,
  shared_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  archived_at timestamp with time zone,
  step_fence bigint not null default 0,
  step_node uuid,
  step_beat_at timestamp with time zone,
  step_tries integer not null default 0,
  outcomes jsonb not null default '[]'::jsonb,
  keeps_secrets boolean not null default false,
  used_by_vm boolean not null default false,
  spends_from uuid[] not null default '{}'::uuid[],
  constraint sessions_pkey PRIMARY KEY (id),
  constraint sessions_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE,
  constraint sessions_environment_id_fkey FOREIGN KEY (environment_id) REFERENCES environments(id) ON DELETE SET NULL,
  constraint sessions_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint sessions_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint sessions_agent_version_check CHECK ((agent_version >= 1)),
  constraint sessions_budget_nano_usd_check CHECK ((budget_nano_usd >= 0)),
  constraint sessions_check CHECK (((agent_id IS NULL) <> (builtin_agent IS NULL))),
  constraint sessions_check1 CHECK (((status = 'running'::text) = (running_since IS NOT NULL))),
  constraint sessions_check2 CHECK (((archived_at IS NULL) OR (status = 'terminated'::text))),
  constraint sessions_kind_check CHECK ((kind = ANY (ARRAY['chat'::text, 'computer'::text]))),
  constraint sessions_source_check CHECK ((source = ANY (ARRAY['user'::text, 'schedule'::text, 'trigger'::text, 'deployment'::text, 'run'::text, 'peer'::text]))),
  constraint sessions_status_check CHECK ((status = ANY (ARRAY['idle'::text, 'running'::text, 'rescheduling'::text, 'terminated'::text]))),
  constraint sessions_title_check CHECK ((length(title) <= 255))
);
CREATE INDEX sessions_agent ON public.sessions USING btree (agent_id, id DESC);
CREATE INDEX sessions_at_work ON public.sessions USING btree (id) WHERE (status = ANY (ARRAY['running'::text, 'rescheduling'::text]));
CREATE INDEX sessions_deployment ON public.sessions USING btree (deployment_id, id DESC) WHERE (deployment_id IS NOT NULL);
CREATE INDEX sessions_environment ON public.sessions USING btree (environment_id);
CREATE INDEX sessions_owner ON public.sessions USING btree (organization_id, owner_user_id, id DESC);
CREATE INDEX sessions_owner_user ON public.sessions USING btree (owner_user_id);
CREATE INDEX sessions_spends_from ON public.sessions USING gin (spends_from) WHERE (spends_from <> '{}'::uuid[]);
CREATE INDEX sessions_waiting ON public.sessions USING btree (organization_id, owner_user_id, id DESC) WHERE ((status = 'idle'::text) AND ((stop_reason ->> 'type'::text) = 'requires_action'::text));

create table signing_keys (
  kid text not null,
  public_jwk jsonb not null,
  sealed_private_jwk bytea not null,
  created_at timestamp with time zone not null default now(),
  retired_at timestamp with time zone,
  constraint signing_keys_pkey PRIMARY KEY (kid)
);

create table skill_archives (
  id uuid not null,
  organization_id uuid not null,
  size_bytes bigint not null default 0,
  reserved_bytes bigint not null default 0,
  writing_until timestamp with time zone,
  constraint skill_archives_pkey PRIMARY KEY (id),
  constraint skill_archives_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id)
);
CREATE INDEX skill_archives_organization ON public.skill_archives USING btree (organization_id);

create table skill_versions (
  id uuid not null,
  skill_id uuid not null,
  name text not null,
  description text not null,
  instructions text not null,
  files jsonb not null,
  unpacked_bytes bigint not null,
  archive_bytes bigint not null,
  created_at timestamp with time zone not null default now(),
  constraint skill_versions_pkey PRIMARY KEY (id),
  constraint skill_versions_id_fkey FOREIGN KEY (id) REFERENCES skill_archives(id),
  constraint skill_versions_skill_id_fkey FOREIGN KEY (skill_id) REFERENCES skills(id) ON DELETE CASCADE,
  constraint skill_versions_description_check CHECK (((length(description) >= 1) AND (length(description) <= 1024)))
);
CREATE INDEX skill_versions_skill ON public.skill_versions USING btree (skill_id, id DESC);

create table skills (
  id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid not null,
  name text not null,
  display_name text not null,
  latest_version_id uuid not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint skills_pkey PRIMARY KEY (id),
  constraint skills_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint skills_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint skills_display_name_check CHECK (((length(display_name) >= 1) AND (length(display_name) <= 255))),
  constraint skills_name_check CHECK (((length(name) >= 1) AND (length(name) <= 64)))
);
CREATE INDEX skills_owner ON public.skills USING btree (organization_id, owner_user_id, id DESC);
CREATE INDEX skills_owner_user ON public.skills USING btree (owner_user_id);

create table stored_bytes (
  organization_id uuid not null,
  room text not null,
  part integer not null default 0,
  bytes bigint not null,
  constraint stored_bytes_pkey PRIMARY KEY (organization_id, room, part),
  constraint stored_bytes_room_check CHECK ((room = ANY (ARRAY['answers'::text, 'definitions'::text, 'transcripts'::text, 'logs'::text, 'deliveries'::text])))
);

create table stored_changes (
  organization_id uuid not null,
  room text not null,
  part integer not null,
  bytes bigint not null
);
CREATE INDEX stored_changes_organization ON public.stored_changes USING btree (organization_id);

create table task_chunks (
  task_id uuid not null,
  number bigint not null,
  body text not null,
  end_bytes bigint not null,
  constraint task_chunks_pkey PRIMARY KEY (task_id, number),
  constraint task_chunks_task_id_fkey FOREIGN KEY (task_id) REFERENCES task_streams(task_id) ON DELETE CASCADE
);

create table task_streams (
  task_id uuid not null,
  first_number bigint not null default 1,
  last_number bigint not null default 0,
  bytes bigint not null default 0,
  gone_bytes bigint not null default 0,
  step text not null default 'none'::text,
  request_id uuid,
  pieces integer not null default 0,
  ended_at timestamp with time zone,
  constraint task_streams_pkey PRIMARY KEY (task_id),
  constraint task_streams_task_id_fkey FOREIGN KEY (task_id) REFERENCES session_tasks(id) ON DELETE CASCADE,
  constraint task_streams_step_check CHECK ((step = ANY (ARRAY['none'::text, 'begun'::text, 'used'::text])))
);
CREATE INDEX task_streams_ended ON public.task_streams USING btree (ended_at) WHERE (ended_at IS NOT NULL);

create table templates (
  id uuid not null,
  organization_id uuid,
  name text not null,
  description text not null default ''::text,
  created_at timestamp with time zone not null default now(),
  node_id uuid,
  build_job_id uuid,
  size_bytes bigint,
  deleted_at timestamp with time zone,
  constraint templates_pkey PRIMARY KEY (id),
  constraint templates_build_job_id_fkey FOREIGN KEY (build_job_id) REFERENCES build_jobs(id),
  constraint templates_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id),
  constraint templates_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint templates_name_check CHECK ((name ~ '^[a-z][a-z0-9-]{0,62}$'::text))
);
CREATE INDEX templates_build_job ON public.templates USING btree (build_job_id);
CREATE INDEX templates_deleted ON public.templates USING btree (node_id) WHERE (deleted_at IS NOT NULL);
CREATE INDEX templates_node ON public.templates USING btree (node_id);
CREATE INDEX templates_organization ON public.templates USING btree (organization_id);
CREATE UNIQUE INDEX templates_name ON public.templates USING btree (COALESCE(organization_id, '00000000-0000-0000-0000-000000000000'::uuid), name) WHERE (deleted_at IS NULL);

create table terminal_tickets (
  digest bytea not null,
  terminal_id uuid not null,
  rights jsonb not null,
  expires_at timestamp with time zone not null,
  constraint terminal_tickets_pkey PRIMARY KEY (digest),
  constraint terminal_tickets_terminal_id_fkey FOREIGN KEY (terminal_id) REFERENCES terminals(id) ON DELETE CASCADE,
  constraint terminal_tickets_digest_check CHECK ((length(digest) = 32))
);
CREATE INDEX terminal_tickets_expires ON public.terminal_tickets USING btree (expires_at);
CREATE INDEX terminal_tickets_terminal ON public.terminal_tickets USING btree (terminal_id);

create table terminals (
  id uuid not null,
  organization_id uuid not null,
  vm_id uuid not null,
  user_id uuid,
  command text,
  columns integer not null,
  rows integer not null,
  status text not null,
  exit_code integer,
  created_at timestamp with time zone not null default now(),
  seen_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  constraint terminals_pkey PRIMARY KEY (id),
  constraint terminals_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint terminals_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint terminals_vm_id_fkey FOREIGN KEY (vm_id) REFERENCES vms(id),
  constraint terminals_columns_check CHECK (((columns >= 1) AND (columns <= 1000))),
  constraint terminals_command_check CHECK ((length(command) <= 1024)),
  constraint terminals_rows_check CHECK (((rows >= 1) AND (rows <= 1000))),
  constraint terminals_status_check CHECK ((status = ANY (ARRAY['running'::text, 'exited'::text, 'closed'::text])))
);
CREATE INDEX terminals_finished ON public.terminals USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX terminals_organization ON public.terminals USING btree (organization_id, status);
CREATE INDEX terminals_user ON public.terminals USING btree (user_id);
CREATE INDEX terminals_vm ON public.terminals USING btree (vm_id, id DESC);

create table trigger_deliveries (
  id uuid not null,
  organization_id uuid not null,
  delivery text not null,
  event text not null,
  action text,
  routed jsonb not null,
  payload bytea,
  received_at timestamp with time zone not null default now(),
  constraint trigger_deliveries_organization_id_delivery_key UNIQUE (organization_id, delivery),
  constraint trigger_deliveries_pkey PRIMARY KEY (id),
  constraint trigger_deliveries_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint trigger_deliveries_delivery_check CHECK (((length(delivery) >= 1) AND (length(delivery) <= 100)))
);
CREATE INDEX trigger_deliveries_payload ON public.trigger_deliveries USING btree (received_at) WHERE (payload IS NOT NULL);
CREATE INDEX trigger_deliveries_received ON public.trigger_deliveries USING btree (received_at);

create table trigger_fires (
  id uuid not null,
  trigger_id uuid not null,
  organization_id uuid not null,
  delivery_row_id uuid not null,
  delivery text not null,
  event text not null,
  action text,
  repo text not null,
  shown boolean not null default false,
  ref text,
  sha text,
  number integer,
  sender jsonb,
  position bigint,
  status text not null default 'pending'::text,
  skip_reason text,
  session_id uuid,
  error jsonb,
  redelivery_count integer not null default 0,
  received_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  constraint trigger_fires_trigger_id_delivery_row_id_key UNIQUE (trigger_id, delivery_row_id),
  constraint trigger_fires_trigger_id_position_key UNIQUE (trigger_id, "position"),
  constraint trigger_fires_pkey PRIMARY KEY (id),
  constraint trigger_fires_delivery_row_id_fkey FOREIGN KEY (delivery_row_id) REFERENCES trigger_deliveries(id),
  constraint trigger_fires_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint trigger_fires_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE SET NULL,
  constraint trigger_fires_trigger_id_fkey FOREIGN KEY (trigger_id) REFERENCES triggers(id) ON DELETE CASCADE,
  constraint trigger_fires_check CHECK (((status = 'pending'::text) = (finished_at IS NULL))),
  constraint trigger_fires_check1 CHECK (((status = 'pending'::text) = ("position" IS NULL))),
  constraint trigger_fires_check2 CHECK (((status = 'skipped'::text) = (skip_reason IS NOT NULL))),
  constraint trigger_fires_check3 CHECK (((status = 'failed'::text) = (error IS NOT NULL))),
  constraint trigger_fires_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'started'::text, 'skipped'::text, 'failed'::text])))
);
CREATE INDEX trigger_fires_delivery ON public.trigger_fires USING btree (delivery_row_id);
CREATE INDEX trigger_fires_list ON public.trigger_fires USING btree (trigger_id, id DESC);
CREATE INDEX trigger_fires_newest ON public.trigger_fires USING btree (organization_id, id DESC);
CREATE INDEX trigger_fires_pending ON public.trigger_fires USING btree (received_at) WHERE (status = 'pending'::text);
CREATE INDEX trigger_fires_received ON public.trigger_fires USING btree (received_at);
CREATE INDEX trigger_fires_session ON public.trigger_fires USING btree (session_id);
CREATE INDEX trigger_fires_waiting ON public.trigger_fires USING btree (organization_id) WHERE (status = 'pending'::text);

create table triggers (
  id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid not null,
  agent_id uuid not null,
  agent_version integer,
  deployment_id uuid,
  repo text not null,
  repo_key text not null,
  repository_id bigint,
  events text[] not null,
  filters jsonb not null,
  enabled boolean not null default true,
  access_checked_at timestamp with time zone,
  event_position bigint not null default 0,
  last_fired_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  name text,
  constraint triggers_pkey PRIMARY KEY (id),
  constraint triggers_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE,
  constraint triggers_deployment_id_fkey FOREIGN KEY (deployment_id) REFERENCES deployments(id) ON DELETE CASCADE,
  constraint triggers_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint triggers_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint triggers_agent_version_check CHECK ((agent_version >= 1)),
  constraint triggers_events_check CHECK (((cardinality(events) >= 1) AND (cardinality(events) <= 50))),
  constraint triggers_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint triggers_repo_check CHECK (((length(repo) >= 3) AND (length(repo) <= 511))),
  constraint triggers_repo_key_check CHECK (((length(repo_key) >= 3) AND (length(repo_key) <= 511)))
);
CREATE INDEX triggers_agent ON public.triggers USING btree (agent_id, id DESC);
CREATE INDEX triggers_deployment ON public.triggers USING btree (deployment_id, id DESC);
CREATE INDEX triggers_owner ON public.triggers USING btree (organization_id, owner_user_id, id DESC);
CREATE INDEX triggers_owner_user ON public.triggers USING btree (owner_user_id);
CREATE INDEX triggers_repo_key ON public.triggers USING btree (repo_key) WHERE (repository_id IS NULL);
CREATE INDEX triggers_repository ON public.triggers USING btree (repository_id) WHERE (repository_id IS NOT NULL);
CREATE UNIQUE INDEX triggers_name ON public.triggers USING btree (organization_id, owner_user_id, name);

create table tunnel_tickets (
  digest bytea not null,
  vm_id uuid not null,
  port integer not null,
  rights jsonb not null,
  expires_at timestamp with time zone not null,
  constraint tunnel_tickets_pkey PRIMARY KEY (digest),
  constraint tunnel_tickets_vm_id_fkey FOREIGN KEY (vm_id) REFERENCES vms(id) ON DELETE CASCADE,
  constraint tunnel_tickets_digest_check CHECK ((length(digest) = 32)),
  constraint tunnel_tickets_port_check CHECK (((port >= 1) AND (port <= 65535)))
);
CREATE INDEX tunnel_tickets_expires ON public.tunnel_tickets USING btree (expires_at);
CREATE INDEX tunnel_tickets_vm ON public.tunnel_tickets USING btree (vm_id);

create table uploads (
  id uuid not null,
  organization_id uuid not null,
  created_by uuid,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  checked_at timestamp with time zone,
  used_at timestamp with time zone not null default now(),
  size_bytes bigint not null default 0,
  writer text,
  writing_until timestamp with time zone,
  reserved_bytes bigint not null default 0,
  constraint uploads_pkey PRIMARY KEY (id),
  constraint uploads_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint uploads_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint uploads_check CHECK (((writer IS NULL) = (writing_until IS NULL))),
  constraint uploads_reserved_bytes_check CHECK ((reserved_bytes >= 0)),
  constraint uploads_size_bytes_check CHECK ((size_bytes >= 0))
);
CREATE INDEX uploads_created_by ON public.uploads USING btree (created_by);
CREATE INDEX uploads_organization ON public.uploads USING btree (organization_id);
CREATE INDEX uploads_unchecked ON public.uploads USING btree (created_at) WHERE (checked_at IS NULL);
CREATE INDEX uploads_used ON public.uploads USING btree (used_at) WHERE (checked_at IS NOT NULL);
CREATE INDEX uploads_writing ON public.uploads USING btree (writing_until) WHERE (writer IS NOT NULL);

create table usage_sessions (
  id bigint not null generated always as identity,
  organization_id uuid not null,
  vm_id uuid,
  vcpu_count integer not null,
  memory_mb integer not null,
  cost_per_hour numeric(14,6) not null,
  started_at timestamp with time zone not null default now(),
  ended_at timestamp with time zone,
  end_reason text,
  build_job_id uuid,
  constraint usage_sessions_pkey PRIMARY KEY (id),
  constraint usage_sessions_build_job_id_fkey FOREIGN KEY (build_job_id) REFERENCES build_jobs(id),
  constraint usage_sessions_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint usage_sessions_vm_id_fkey FOREIGN KEY (vm_id) REFERENCES vms(id),
  constraint usage_sessions_check CHECK (((ended_at IS NULL) = (end_reason IS NULL))),
  constraint usage_sessions_check1 CHECK ((num_nonnulls(vm_id, build_job_id) = 1)),
  constraint usage_sessions_end_reason_check CHECK ((end_reason = ANY (ARRAY['request'::text, 'timeout'::text, 'guest_exit'::text, 'error'::text, 'orphaned'::text, 'admin'::text, 'billing'::text])))
);
CREATE INDEX usage_sessions_build ON public.usage_sessions USING btree (build_job_id);
CREATE INDEX usage_sessions_organization ON public.usage_sessions USING btree (organization_id, id DESC);
CREATE INDEX usage_sessions_vm ON public.usage_sessions USING btree (vm_id);
CREATE UNIQUE INDEX usage_sessions_open ON public.usage_sessions USING btree (vm_id) WHERE (ended_at IS NULL);
CREATE UNIQUE INDEX usage_sessions_open_build ON public.usage_sessions USING btree (build_job_id) WHERE (ended_at IS NULL);

create table users (
  id uuid not null,
  name text not null,
  email text,
  created_at timestamp with time zone not null default now(),
  constraint users_name_key UNIQUE (name),
  constraint users_pkey PRIMARY KEY (id),
  constraint users_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255)))
);

create table vault_credentials (
  id uuid not null,
  vault_id uuid not null,
  display_name text,
  auth jsonb not null,
  key_kind text not null,
  key text not null,
  sealed_secrets bytea,
  token_generation integer not null default 1,
  refused_generation integer,
  metadata jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  archived_at timestamp with time zone,
  constraint vault_credentials_pkey PRIMARY KEY (id),
  constraint vault_credentials_vault_id_fkey FOREIGN KEY (vault_id) REFERENCES vaults(id) ON DELETE CASCADE,
  constraint vault_credentials_check CHECK (((archived_at IS NULL) = (sealed_secrets IS NOT NULL))),
  constraint vault_credentials_display_name_check CHECK (((length(display_name) >= 1) AND (length(display_name) <= 255))),
  constraint vault_credentials_key_kind_check CHECK ((key_kind = ANY (ARRAY['mcp_server_url'::text, 'secret_name'::text])))
);
CREATE INDEX vault_credentials_vault ON public.vault_credentials USING btree (vault_id, id DESC);
CREATE UNIQUE INDEX vault_credentials_key ON public.vault_credentials USING btree (vault_id, key_kind, key) WHERE (archived_at IS NULL);

create table vault_events (
  vault_id uuid not null,
  position bigint not null,
  type text not null,
  credential_id uuid,
  created_at timestamp with time zone not null default now(),
  constraint vault_events_pkey PRIMARY KEY (vault_id, "position"),
  constraint vault_events_vault_id_fkey FOREIGN KEY (vault_id) REFERENCES vaults(id) ON DELETE CASCADE
);

create table vaults (
  id uuid not null,
  organization_id uuid not null,
  owner_user_id uuid not null,
  display_name text not null,
  metadata jsonb not null default '{}'::jsonb,
  event_position bigint not null default 0,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  archived_at timestamp with time zone,
  constraint vaults_pkey PRIMARY KEY (id),
  constraint vaults_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint vaults_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint vaults_display_name_check CHECK (((length(display_name) >= 1) AND (length(display_name) <= 255)))
);
CREATE INDEX vaults_owner ON public.vaults USING btree (organization_id, owner_user_id, id DESC);
CREATE INDEX vaults_owner_user ON public.vaults USING btree (owner_user_id);

create table vm_credentials (
  vm_id uuid not null,
  credential_id uuid not null,
  constraint vm_credentials_pkey PRIMARY KEY (vm_id, credential_id),
  constraint vm_credentials_credential_id_fkey FOREIGN KEY (credential_id) REFERENCES vault_credentials(id) ON DELETE CASCADE,
  constraint vm_credentials_vm_id_fkey FOREIGN KEY (vm_id) REFERENCES vms(id) ON DELETE CASCADE
);
CREATE INDEX vm_credentials_credential ON public.vm_credentials USING btree (credential_id);

create table vm_env (
  vm_id uuid not null,
  key text not null,
  source text not null,
  visibility text not null,
  sealed_value bytea not null,
  updated_at timestamp with time zone not null default now(),
  constraint vm_env_pkey PRIMARY KEY (vm_id, source, key),
  constraint vm_env_vm_id_fkey FOREIGN KEY (vm_id) REFERENCES vms(id) ON DELETE CASCADE,
  constraint vm_env_key_check CHECK ((key ~ '^[A-Za-z_][A-Za-z0-9_]{0,127}$'::text)),
  constraint vm_env_source_check CHECK ((source = ANY (ARRAY['user'::text, 'provision'::text, 'system'::text, 'session'::text, 'vault'::text, 'link'::text]))),
  constraint vm_env_visibility_check CHECK ((visibility = ANY (ARRAY['plaintext'::text, 'sensitive'::text, 'secret'::text])))
);

create table vm_events (
  vm_id uuid not null,
  position bigint not null,
  status text not null,
  status_reason text,
  created_at timestamp with time zone not null default now(),
  constraint vm_events_pkey PRIMARY KEY (vm_id, "position"),
  constraint vm_events_vm_id_fkey FOREIGN KEY (vm_id) REFERENCES vms(id) ON DELETE CASCADE
);

create table vm_processes (
  id uuid not null,
  vm_id uuid not null,
  command text not null,
  status text not null,
  exit_code integer,
  started_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  ends_at timestamp with time zone,
  constraint vm_processes_pkey PRIMARY KEY (id),
  constraint vm_processes_vm_id_fkey FOREIGN KEY (vm_id) REFERENCES vms(id) ON DELETE CASCADE,
  constraint vm_processes_status_check CHECK ((status = ANY (ARRAY['running'::text, 'exited'::text, 'killed'::text])))
);
CREATE INDEX vm_processes_finished ON public.vm_processes USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX vm_processes_vm ON public.vm_processes USING btree (vm_id, started_at DESC);

create table vm_skills (
  vm_id uuid not null,
  skill_version_id uuid not null,
  placed_at timestamp with time zone not null default now(),
  constraint vm_skills_pkey PRIMARY KEY (vm_id, skill_version_id),
  constraint vm_skills_skill_version_id_fkey FOREIGN KEY (skill_version_id) REFERENCES skill_versions(id) ON DELETE CASCADE,
  constraint vm_skills_vm_id_fkey FOREIGN KEY (vm_id) REFERENCES vms(id) ON DELETE CASCADE
);
CREATE INDEX vm_skills_version ON public.vm_skills USING btree (skill_version_id);

create table vms (
  id uuid not null,
  organization_id uuid not null,
  user_id uuid,
  name text not null,
  status text not null,
  desired_status text not null,
  status_reason text,
  end_reason text,
  template_id uuid not null,
  node_id uuid not null,
  ip_address text,
  vcpu_count integer not null,
  memory_mb integer not null,
  disk_mb integer not null,
  external_ref text,
  folder_id uuid,
  wants_folder boolean not null default true,
  metadata jsonb not null default '{}'::jsonb,
  network_policy jsonb not null default '{"type": "unrestricted"}'::jsonb,
  sealed_git_repos bytea,
  warnings jsonb not null default '[]'::jsonb,
  boot_failures integer not null default 0,
  env_generation integer not null default 0,
  event_position bigint not null default 0,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  stopped_at timestamp with time zone,
  expires_at timestamp with time zone,
  deleted_at timestamp with time zone,
  owner_user_id uuid,
  purpose text,
  project_id uuid,
  code_host_link_id uuid,
  idle_seconds integer,
  idle_action text not null default 'pause'::text,
  active_at timestamp with time zone not null default now(),
  sleeps boolean not null default false,
  startup_step text,
  startup_at timestamp with time zone,
  constraint vms_pkey PRIMARY KEY (id),
  constraint vms_code_host_link_id_fkey FOREIGN KEY (code_host_link_id) REFERENCES code_host_links(id) ON DELETE SET NULL,
  constraint vms_folder_id_fkey FOREIGN KEY (folder_id) REFERENCES folders(id),
  constraint vms_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id),
  constraint vms_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint vms_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES users(id),
  constraint vms_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint vms_template_id_fkey FOREIGN KEY (template_id) REFERENCES templates(id),
  constraint vms_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint vms_desired_status_check CHECK ((desired_status = ANY (ARRAY['running'::text, 'stopped'::text, 'paused'::text, 'deleted'::text]))),
  constraint vms_disk_mb_check CHECK ((disk_mb > 0)),
  constraint vms_external_ref_check CHECK (((length(external_ref) >= 1) AND (length(external_ref) <= 255))),
  constraint vms_idle_action_check CHECK ((idle_action = ANY (ARRAY['pause'::text, 'stop'::text]))),
  constraint vms_idle_seconds_check CHECK (((idle_seconds >= 10) AND (idle_seconds <= 2592000))),
  constraint vms_memory_mb_check CHECK (((memory_mb >= 128) AND (memory_mb <= 262144))),
  constraint vms_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255))),
  constraint vms_purpose_check CHECK ((purpose = ANY (ARRAY['database'::text, 'function'::text]))),
  constraint vms_startup_step_check CHECK ((startup_step = ANY (ARRAY['building_template'::text, 'starting_machine'::text, 'waiting_for_server'::text, 'preparing_guest'::text, 'cloning_repositories'::text, 'joining_project'::text]))),
  constraint vms_status_check CHECK ((status = ANY (ARRAY['creating'::text, 'running'::text, 'stopping'::text, 'stopped'::text, 'starting'::text, 'pausing'::text, 'paused'::text, 'resuming'::text, 'deleting'::text, 'deleted'::text, 'error'::text]))),
  constraint vms_vcpu_count_check CHECK (((vcpu_count >= 1) AND (vcpu_count <= 64)))
);
CREATE INDEX vms_code_host_link ON public.vms USING btree (code_host_link_id);
CREATE INDEX vms_expiring ON public.vms USING btree (expires_at) WHERE ((status <> 'deleted'::text) AND (expires_at IS NOT NULL));
CREATE INDEX vms_id_end ON public.vms USING btree ("right"((id)::text, 10));
CREATE INDEX vms_idle ON public.vms USING btree (node_id) WHERE ((idle_seconds IS NOT NULL) AND (status = 'running'::text));
CREATE INDEX vms_node ON public.vms USING btree (node_id) WHERE (status <> 'deleted'::text);
CREATE INDEX vms_organization ON public.vms USING btree (organization_id, created_at DESC) WHERE (status <> 'deleted'::text);
CREATE INDEX vms_owner ON public.vms USING btree (owner_user_id);
CREATE INDEX vms_project ON public.vms USING btree (project_id);
CREATE INDEX vms_template ON public.vms USING btree (template_id);
CREATE INDEX vms_unsteady ON public.vms USING btree (updated_at) WHERE (status = ANY (ARRAY['creating'::text, 'stopping'::text, 'starting'::text, 'pausing'::text, 'resuming'::text, 'deleting'::text]));
CREATE INDEX vms_user ON public.vms USING btree (user_id);
CREATE UNIQUE INDEX vms_external_ref ON public.vms USING btree (organization_id, external_ref) WHERE (status <> 'deleted'::text);
CREATE UNIQUE INDEX vms_folder ON public.vms USING btree (folder_id) WHERE (status <> 'deleted'::text);

create table webhook_attempts (
  delivery_id uuid not null,
  number integer not null,
  endpoint_id uuid not null,
  position bigint not null,
  status text not null,
  started_at timestamp with time zone not null,
  duration_ms integer not null,
  response_status integer,
  problem text,
  answer text,
  constraint webhook_attempts_pkey PRIMARY KEY (delivery_id, number),
  constraint webhook_attempts_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES webhook_deliveries(id) ON DELETE CASCADE,
  constraint webhook_attempts_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'failed'::text])))
);
CREATE UNIQUE INDEX webhook_attempts_position ON public.webhook_attempts USING btree (endpoint_id, "position");

create table webhook_deliveries (
  id uuid not null,
  organization_id uuid not null,
  endpoint_id uuid not null,
  event_id uuid not null,
  status text not null,
  tries integer not null default 0,
  attempts integer not null default 0,
  next_attempt_at timestamp with time zone,
  claim integer not null default 0,
  claimed_until timestamp with time zone,
  response_status integer,
  problem text,
  finished_at timestamp with time zone,
  replayed_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  constraint webhook_deliveries_once UNIQUE (event_id, endpoint_id),
  constraint webhook_deliveries_pkey PRIMARY KEY (id),
  constraint webhook_deliveries_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoints(id) ON DELETE CASCADE,
  constraint webhook_deliveries_event_id_fkey FOREIGN KEY (event_id) REFERENCES webhook_events(id) ON DELETE CASCADE,
  constraint webhook_deliveries_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint webhook_deliveries_due CHECK (((status = 'pending'::text) = (next_attempt_at IS NOT NULL))),
  constraint webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'failed'::text])))
);
CREATE INDEX webhook_deliveries_claimed ON public.webhook_deliveries USING btree (organization_id, endpoint_id) WHERE (claimed_until IS NOT NULL);
CREATE INDEX webhook_deliveries_endpoint ON public.webhook_deliveries USING btree (endpoint_id, id DESC);
CREATE INDEX webhook_deliveries_organization ON public.webhook_deliveries USING btree (organization_id, id DESC);
CREATE INDEX webhook_deliveries_pending ON public.webhook_deliveries USING btree (endpoint_id, next_attempt_at) WHERE (status = 'pending'::text);

create table webhook_endpoints (
  id uuid not null,
  organization_id uuid not null,
  user_id uuid,
  url text not null,
  description text,
  event_types text[],
  sealed_secret bytea not null,
  sealed_previous_secret bytea,
  previous_secret_until timestamp with time zone,
  enabled boolean not null default true,
  disabled_reason text,
  disabled_at timestamp with time zone,
  failures integer not null default 0,
  last_problem text,
  held_until timestamp with time zone,
  event_position bigint not null default 0,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint webhook_endpoints_pkey PRIMARY KEY (id),
  constraint webhook_endpoints_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint webhook_endpoints_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  constraint webhook_endpoints_disabled CHECK ((enabled = (disabled_reason IS NULL))),
  constraint webhook_endpoints_disabled_reason_check CHECK ((disabled_reason = ANY (ARRAY['manual'::text, 'gone'::text, 'failures'::text])))
);
CREATE INDEX webhook_endpoints_organization ON public.webhook_endpoints USING btree (organization_id, id DESC);
CREATE INDEX webhook_endpoints_user ON public.webhook_endpoints USING btree (user_id);

create table webhook_events (
  id uuid not null,
  organization_id uuid not null,
  type text not null,
  subject_id text not null,
  details jsonb,
  created_at timestamp with time zone not null default now(),
  constraint webhook_events_pkey PRIMARY KEY (id),
  constraint webhook_events_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id)
);
CREATE INDEX webhook_events_created ON public.webhook_events USING btree (created_at);
CREATE INDEX webhook_events_organization ON public.webhook_events USING btree (organization_id, id DESC);
