/**
 * What bounds the room that callers take up, where the database itself does not say it: how many rows a table has for one
 * organization, how large a column is, and what may become of each place on the disks and in the object store.
 * Columns that a room counts, and those with a check of their length or words, are not here: `describe.ts` reads them.
 */
import { limits } from '#src/platform/limits.ts'
import { certificateLimits } from '#src/platform/limits/certificates.ts'
import { codeHostLimits } from '#src/platform/limits/code-host.ts'
import { domainLimits } from '#src/platform/limits/domains.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { skillLimits } from '#src/resources/agents/skills/limits.ts'
import { triggerLimits } from '#src/resources/agents/triggers/limits.ts'
import { clientLimits } from '#src/resources/identity/authorizations/limits.ts'

const sealing = 64 // bytes that sealing adds, at most
const perUtf16 = 3 // bytes of UTF-8 for a character of JavaScript

/** How large one value of a column is. */
export type Size =
  | 'word' // one of a few in the code
  | 'id' // an id, a digest, an address of Berth's own, or a number of them that does not depend on callers
  | 'sentence' // written by Berth; what it quotes of callers is in this table already
  | 'installation' // does not belong to an organization: the operator's, or as large as the operator's
  | { characters: number }
  | { bytes: number }

const chars = (characters: number): Size => ({ characters })
const bytes = (count: number): Size => ({ bytes: count })
const sealed = (characters: number): Size => bytes(characters * perUtf16 + sealing)
const envValue = bytes(limits.envValueBytes + sealing)

/** Columns, by their tables. */
export const sizes: Readonly<Record<string, Readonly<Record<string, Size>>>> = {
  acme_accounts: { directory: 'installation', sealed_key: 'installation', account_url: 'installation' },
  api_keys: { scopes: 'word' },
  backup_schedules: { cron: chars(255), timezone: chars(255), last_error: 'sentence' },
  build_caches: { repo_key: chars(limits.buildUrlLength) },
  build_events: { status: 'word', error: 'sentence' },
  build_jobs: { commit_sha: 'id', output_name: chars(63) },
  build_runs: {
    sealed_secrets: bytes(limits.buildSecretsMax * (limits.envValueBytes + limits.envKeyLength)),
    progress: 'id',
  },
  build_secrets: { sealed_value: envValue },
  certificate_orders: { host: chars(253) },
  certificates: {
    issuer: bytes(certificateLimits.answerBytes),
    chain: bytes(certificateLimits.answerBytes),
    sealed_key: bytes(4096),
    order_url: chars(limits.serverUrlLength),
    sealed_order_key: bytes(4096),
    challenges: bytes(certificateLimits.answerBytes),
  },
  code_host_links: {
    scopes: chars(codeHostLimits.scopesMax * codeHostLimits.nameLength),
    sealed_tokens: sealed(2 * codeHostLimits.tokenLength),
  },
  code_host_states: { digest: 'id' },
  database_backup_events: { status: 'word', error: 'sentence', verification_error: 'sentence' },
  database_backups: { error: 'sentence', pg_version: 'word', verification_error: 'sentence' },
  database_events: { status: 'word', status_reason: 'sentence' },
  database_restore_events: { status: 'word', step: 'word', error: 'sentence' },
  database_restores: { error: 'sentence' },
  databases: {
    status_reason: 'sentence',
    pg_database: 'word',
    pg_user: 'id',
    token_verifier: 'id',
    token_hash: 'id',
    sealed_logins: 'id',
    settings: 'word', // numbers under names of the code
    link_verifier: 'id',
    sealed_link: 'id',
  },
  deployment_runs: { error: 'sentence', trigger: 'id' },
  deployments: { paused_reason: 'sentence' },
  domain_events: { status_reason: 'sentence', target: chars(253 + domainLimits.pathLength) },
  domains: { status_reason: 'sentence', records: chars(4 * domainLimits.seenMax * domainLimits.seenLength) },
  environment_events: { status: 'word', status_reason: 'sentence' },
  environments: { status_reason: 'sentence' },
  files: { sha256: 'id' },
  function_events: { status: 'word' },
  function_instances: { progress: 'id' },
  function_repositories: { sealed_secret: 'id' },
  functions: { host: chars(253), status_reason: chars(2 * functionLimits.reasonLength) },
  group_events: { type: 'word', run_status: 'word' },
  group_members: { builtin_agent: 'word', display_name: chars(limits.nameLength) },
  group_messages: { author_handle: chars(64) },
  group_runs: { usage_from: 'id', usage: 'id' },
  idempotency_keys: { caller: 'id', request_sha256: 'id', grants: 'id' },
  inference_days: { model: 'installation', payer: 'id' },
  inference_requests: { key_id: 'id', model: 'installation', upstream: 'installation' },
  mcp_authorizations: { digest: 'id', service_id: 'installation' },
  mcp_clients: {
    issuer: 'installation',
    redirect_url: 'installation',
    client_id: chars(limits.serverUrlLength),
    sealed_secret: sealed(limits.tokenLength),
  },
  mcp_connection_events: { type: 'word', service_id: 'installation' },
  mcp_sessions: { sealed_session: sealed(4096 + 64) }, // the server's id and the protocol's version
  memories: { request_digest: 'id', words: bytes(6 * memoryLimits.bodyLength) },
  memory_events: { type: 'word' },
  memory_vectors: { signs: bytes(memoryLimits.vectorSigns / 8), vector: bytes(8 * memoryLimits.vectorNumbers) },
  migrations: { name: 'installation' },
  nodes: { name: 'installation', agent_url: 'installation', unavailable_reason: 'sentence', templates: 'word' },
  oauth_clients: { redirect_uris: chars(clientLimits.redirectUrisMax * clientLimits.redirectUriLength) },
  peer_exchanges: { error: 'sentence' },
  proxies: { host: chars(253), path: chars(1024) },
  rate_buckets: { bucket: 'id' },
  schedule_runs: { error_type: 'word', message: 'sentence' },
  schedules: { last_error: 'sentence' },
  session_events: { type: 'word' },
  session_previews: { data: chars(2 * limits.answerArgumentsLength) },
  session_secrets: { digest: 'id' },
  session_tasks: { error: 'sentence' },
  sessions: { builtin_agent: 'word', stop_reason: 'id', spends_from: 'id' },
  signing_keys: { kid: 'installation', public_jwk: 'installation', sealed_private_jwk: 'installation' },
  skill_versions: { name: chars(skillLimits.nameLength) },
  stored_changes: { room: 'word' },
  templates: { description: 'sentence' },
  terminal_tickets: { rights: 'id' },
  trigger_deliveries: { event: 'word', action: chars(triggerLimits.textLength) },
  trigger_fires: {
    delivery: chars(100),
    event: 'word',
    action: chars(triggerLimits.textLength),
    repo: chars(511),
    ref: chars(triggerLimits.textLength),
    sha: 'id',
    sender: chars(2 * triggerLimits.textLength),
    skip_reason: 'word',
    error: 'sentence',
  },
  triggers: {
    events: chars(triggerLimits.eventsMax * 64),
    filters: chars(4 * triggerLimits.patternsMax * triggerLimits.patternLength),
  },
  tunnel_tickets: { rights: 'id' },
  uploads: { writer: 'id' },
  users: { email: 'installation' },
  vault_events: { type: 'word' },
  vm_events: { status: 'word', status_reason: 'sentence' },
  vms: { status_reason: 'sentence', end_reason: 'word', ip_address: 'id' },
  webhook_deliveries: { problem: 'sentence' },
  webhook_endpoints: {
    url: chars(limits.serverUrlLength),
    description: chars(limits.descriptionLength),
    event_types: 'word',
    sealed_secret: 'id',
    sealed_previous_secret: 'id',
    last_problem: 'sentence',
  },
  webhook_events: { type: 'word', subject_id: 'id' },
}
