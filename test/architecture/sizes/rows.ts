/** How many rows of a table one organization has, where they are more than the room allows that counts them. */
import { limits } from '#src/platform/limits.ts'
import { certificateLimits } from '#src/platform/limits/certificates.ts'
import { codeHostLimits } from '#src/platform/limits/code-host.ts'
import { connectorLimits } from '#src/platform/limits/connectors.ts'
import { domainLimits } from '#src/platform/limits/domains.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { peerLimits } from '#src/platform/limits/peers.ts'
import { proxyLimits } from '#src/platform/limits/proxies.ts'
import { pushLimits } from '#src/platform/limits/pushes.ts'
import { deploymentLimits } from '#src/resources/agents/deployments/limits.ts'
import { agentFileLimits } from '#src/resources/agents/files/limits.ts'
import { groupLimits } from '#src/resources/agents/groups/limits.ts'
import { scheduleLimits } from '#src/resources/agents/schedules/limits.ts'
import { sessionResourceLimits } from '#src/resources/agents/sessions/resources/limits.ts'
import { skillLimits } from '#src/resources/agents/skills/limits.ts'
import { triggerLimits } from '#src/resources/agents/triggers/limits.ts'
import { authorizationLimits, clientLimits } from '#src/resources/identity/authorizations/limits.ts'
import { browserSessionLimits } from '#src/resources/identity/browser-sessions/limits.ts'
import { invitationLimits } from '#src/resources/identity/invitations/limits.ts'
import { organizationEventLimits } from '#src/resources/identity/organization-events/limits.ts'
import { terminalLimits } from '#src/platform/limits/terminals.ts'
import { webhookLimits } from '#src/resources/infra/webhooks/limits.ts'

const most = (rows: number): string => rows.toLocaleString('en')
const each = (rows: number, noun: string): string => `${most(rows)} for each ${noun}`
const creates = most(limits.createsPerMinute)
/** Records of what has ended: they grow at the pace of requests. */
const stay = `stay, ${creates} a minute`

/** By table. One that is missing here and is not bound by a room fails a test. */
export const rowsOf: Readonly<Record<string, string>> = {
  acme_accounts: 'of the installation: 1 for each authority',
  agent_versions: each(limits.agentVersionsMax, 'agent'),
  agents: most(limits.agentsMax),
  api_keys: `${most(limits.apiKeysMax)} in use; ended ones ${stay}`,
  audit_events: '1 for each object that a call changes, for `BERTH_AUDIT_DAYS`',
  authorization_requests: `of the installation: ${most(authorizationLimits.requestsMax)}`,
  authorization_tokens: `${each(authorizationLimits.accessTokensMax, 'authorization')} at once, and ${most(authorizationLimits.refreshTokensKept)} that were exchanged`,
  authorizations: each(authorizationLimits.authorizationsPerPerson, 'person'),
  backup_schedules: most(limits.backupSchedulesMax),
  browser_sessions: each(browserSessionLimits.perPerson, 'person'),
  build_caches: most(limits.buildCachesMax),
  build_events: 'some for each build',
  build_jobs: `${most(limits.buildsPerMinute)} a minute, and they stay`,
  build_runs: `${most(limits.buildsRunningMax)} at once`,
  build_secrets: most(limits.buildSecretsMax),
  certificate_orders: `${most(certificateLimits.ordersOfOrganizationPerWeek)} a week, for 8 days`,
  certificates: `1 for each of ${most(domainLimits.domainsMax)} domains`,
  code_host_links: '1 for each person',
  code_host_states: each(codeHostLimits.statesPerUserMax, 'person'),
  database_auth_issuers: each(limits.databaseAuthIssuersMax, 'database'),
  database_backup_events: 'some for each backup, with it',
  database_backup_roles: '1 for each backup, with it',
  database_backups: `${most(limits.backupsMax)}`,
  database_events: each(limits.databaseEventsKept, 'database'),
  database_restore_events: 'some for each restore',
  database_restores: `1 at once for each database; ended ones ${stay}`,
  database_roles: '1 for each database',
  databases: `${most(limits.databasesMax)}; deleted ones ${stay}`,
  deployment_runs: each(deploymentLimits.runsKept, 'deployment'),
  deployments: most(deploymentLimits.deploymentsMax),
  domain_events: each(domainLimits.eventsKept, 'domain'),
  domains: most(domainLimits.domainsMax),
  environment_events: 'some for each environment, with it',
  environments: most(limits.environmentsMax),
  files: `${most(agentFileLimits.filesMax)}`,
  folders: `${most(limits.foldersMax)}; deleted ones ${stay}`,
  function_events: each(functionLimits.eventsKept, 'function'),
  function_instances: '2 for each function',
  function_log_lines: each(functionLimits.logLinesMax, 'function'),
  function_pushes: each(pushLimits.keptPerRepository, 'linked repository'),
  function_repositories: '1 for each function; removed ones go with their webhook',
  function_versions: each(functionLimits.versionsKept, 'function'),
  functions: `${most(functionLimits.functionsMax)}; deleted ones ${stay}`,
  group_events: each(groupLimits.eventsKept, 'group'),
  group_members: each(groupLimits.membersMax, 'group'),
  group_messages: each(groupLimits.messagesMax, 'group'),
  group_runs: `${most(groupLimits.runsMax)} for each message of a group’s user`,
  groups: most(groupLimits.groupsMax),
  idempotency_keys: `${creates} a minute, for ${limits.idempotencyHours} hours`,
  inference_accounts: '1',
  inference_days: '1 a day for each model and payer, and they stay',
  inference_grants: 'of the installation: the operator makes them',
  inference_key_budgets: '1 for each key',
  inference_requests: `${most(limits.chatsPerMinute)} a minute for each key, and they stay`,
  mcp_authorizations: each(connectorLimits.statesPerPersonMax, 'person'),
  mcp_choices: each(connectorLimits.servicesMax, 'person'),
  mcp_clients: 'of the installation: 1 for each connector and server that signs people in',
  identities: 'of the installation: 1 for each person and identity provider',
  invitations: `${most(invitationLimits.openMax)} open; accepted ones ${stay}, for a month`,
  mcp_connection_events: each(connectorLimits.eventsKept, 'person'),
  mcp_connections: each(connectorLimits.connectionsMax, 'person'),
  mcp_sessions: `${each(limits.agentMcpServersMax + limits.agentMcpServicesMax, 'session')}; one more for each of the ${most(limits.sessionVaultsMax * limits.credentialsPerVault)} credentials that its vaults may have; those that it left go in minutes`,
  memberships: '1 for each person',
  memories: most(memoryLimits.perOrganizationMax),
  memory_events: each(memoryLimits.eventsKept, 'person'),
  memory_vectors: '1 for each memory',
  migrations: 'of the installation: 1 for each migration',
  nodes: 'of the installation: 1 for each host',
  oauth_clients: `of the installation: ${most(clientLimits.clientsMax)}`,
  organizations: '1',
  organization_events: `1 for each change of an object, for ${organizationEventLimits.keptHours} hours`,
  peer_exchange_events: each(peerLimits.eventsKept, 'exchange'),
  peer_exchanges: `${most(peerLimits.openOfOrganizationMax)} in progress; ended ones for ${peerLimits.recordDays} days`,
  projects: most(limits.projectsMax),
  proxies: most(proxyLimits.perOrganization),
  rate_buckets: 'some for each caller, for as long as they are not full',
  routes: '1 for each proxy entry, domain and function',
  schedule_runs: `${each(scheduleLimits.runsKept, 'schedule')}, for ${scheduleLimits.runDays} days`,
  schedules: most(scheduleLimits.schedulesMax),
  session_previews: 'those of what a model is writing',
  session_resources: each(sessionResourceLimits.perSession, 'session'),
  session_tasks: '1 for each run of a group and each exchange',
  sessions: most(limits.sessionsMax),
  signing_keys: 'of the installation',
  skill_versions: each(skillLimits.versionsMax, 'skill'),
  skills: most(skillLimits.skillsMax),
  stored_bytes: 'of the installation: some for each room',
  stored_changes: '1 for each change, for seconds',
  task_streams: '1 for each task',
  templates: `${most(limits.templatesMax)}; deleted ones ${stay}`,
  terminal_tickets: `${most(limits.execsPerMinute)} a minute for each VM, for an hour at most`,
  terminals: `${most(terminalLimits.runningPerOrganization)} open; ended ones for ${terminalLimits.recordHours} hours`,
  trigger_deliveries: `${most(triggerLimits.deliveriesPerMinute)} a minute, for ${triggerLimits.firesDays} days`,
  trigger_fires: `${each(triggerLimits.firesKept, 'trigger')}, for ${triggerLimits.firesDays} days`,
  triggers: most(triggerLimits.triggersMax),
  tunnel_tickets: `${most(limits.execsPerMinute)} a minute for each VM, for an hour at most`,
  uploads: most(limits.uploadsMax),
  usage_sessions: '1 for each time that a VM runs and each build, and they stay',
  users: 'of the installation: 1 for each person',
  vault_credentials: each(limits.credentialsPerVault, 'vault'),
  vault_events: each(limits.vaultEventsKept, 'vault'),
  vaults: most(limits.vaultsMax),
  vm_env: each(limits.envVarsPerVm, 'VM'),
  vm_events: `some for each VM; they ${stay}`,
  vm_processes: `${each(limits.processesRunningMax, 'VM')} running; ended ones for ${limits.processRecordHours} hours`,
  vms: `as many as the nodes have memory for; deleted ones ${stay}`,
  webhook_attempts: each(webhookLimits.attemptsKept, 'delivery'),
  webhook_deliveries: '1 for each event and endpoint',
  webhook_endpoints: most(webhookLimits.endpointsMax),
  webhook_events: `${most(webhookLimits.keptPerOrganization)}, for ${webhookLimits.keptDays} days`,
}
