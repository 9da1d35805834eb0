/**
 * Who may do what: one row for each REST operation and each root field of GraphQL. A row says what six callers get; the
 * other four (none, garbage, expired, deactivated) get 401 everywhere. An operation without a row fails the test.
 * The VM of these rows runs on a node that refuses connections: 502 (or 500 where the interface lists no 502) is "allowed".
 */
import { agentsGraphqlRows } from './matrix/agents.ts'
import type { AgentsTarget } from './targets/agents.ts'
import type { NounsTarget } from './targets/nouns.ts'
import {
  absent,
  adminsWrite,
  foreign,
  noKeys,
  noScope,
  peopleRead,
  peopleReads,
  peopleReadTheirs,
  peopleWrite,
  reads,
  readsInside,
  tooLittle,
  writes,
} from './matrix/outcomes.ts'
import { vmFileGraphqlRows, vmFileRows } from './matrix/vm-files.ts'
import { webhooksGraphqlRows } from './matrix/webhooks.ts'

/** In this order: owner, member, viewer, stranger, key without a fitting scope, key with `compute:use`. */
export type Outcomes = readonly [
  owner: string,
  member: string,
  viewer: string,
  stranger: string,
  keyWithout: string,
  keyWith: string,
]

/** `{vm}`, `{process}`, `{folder}`, `{ref}`, `{build}` and so on in paths, bodies and arguments become the target's; `of`: what `{id}` is, a build without it; `foreignIs403`: the interface tells what is another's (403) from what is absent (404); `sameForAll`: what is named is nobody's. */
export type RestRow = {
  outcomes: Outcomes
  query?: string
  body?: unknown
  foreignIs403?: true
  sameForAll?: true
  of?: 'proxy' | keyof NounsTarget | keyof AgentsTarget
}
export type GraphqlRow = { outcomes: Outcomes; args?: string; foreignIs403?: true }

/** Whether a path, body or arguments name something of the target's. */
export function namesTarget(text: string | undefined): boolean {
  return /\{[a-z_]+\}/.test(text ?? '')
}

/** What needs no credentials; those that are wrong are refused all the same. */
export const instanceHere: Outcomes = ['200', '200', '200', '200', '200', '200']

/** Only a signature lets anybody in: all ten callers get the same. */
export const signedOnly: Outcomes = Array.from({ length: 6 }, () => '401 unauthorized') as unknown as Outcomes // six of them

const functionRows: Readonly<Record<string, RestRow>> = {
  'GET /api/v1/functions': { outcomes: reads('200', '200') },
  'POST /api/v1/functions': { outcomes: writes('201', '201'), body: { idle_seconds: 60 } },
  'GET /api/v1/functions/{function_id}': { outcomes: reads('200', absent) },
  'PATCH /api/v1/functions/{function_id}': { outcomes: writes('200', absent), body: { start_seconds: 60 } },
  'DELETE /api/v1/functions/{function_id}': { outcomes: writes('204', absent) },
  'POST /api/v1/functions/{function_id}/deploy': { outcomes: writes('400 invalid_request', absent), body: {} },
  'POST /api/v1/functions/{function_id}/roll-back': { outcomes: writes('200', absent), body: { to: '{version}' } },
  'POST /api/v1/functions/{function_id}/start': { outcomes: writes('503 capacity_unavailable', absent) },
  'GET /api/v1/functions/{function_id}/versions': { outcomes: reads('200', absent) },
  'GET /api/v1/functions/{function_id}/logs/stream': { outcomes: reads('200', absent), query: '?after=0' },
  'GET /api/v1/functions/{function_id}/events': { outcomes: reads('200', absent) },
}

/** Every documented REST operation of the infrastructure surface that exists so far. */
export const restRows: Readonly<Record<string, RestRow>> = {
  'GET /api/v1/vms': { outcomes: reads('200', '200') },
  'POST /api/v1/vms': { outcomes: writes('503 capacity_unavailable', '503 capacity_unavailable'), body: { name: 'x' } },
  'GET /api/v1/vms/external/{external_ref}': { outcomes: reads('200', absent) },
  'POST /api/v1/vms/sandbox': {
    outcomes: writes('503 capacity_unavailable', '503 capacity_unavailable'),
    body: { command: 'true' },
  },
  'GET /api/v1/vms/{vm_id}': { outcomes: reads('200', absent) },
  'PATCH /api/v1/vms/{vm_id}': { outcomes: writes('200', absent), body: { name: 'y' } },
  'POST /api/v1/vms/{vm_id}/start': { outcomes: writes('200', absent) },
  'POST /api/v1/vms/{vm_id}/stop': { outcomes: writes('200', absent) },
  'POST /api/v1/vms/{vm_id}/pause': { outcomes: writes('200', absent) },
  'POST /api/v1/vms/{vm_id}/resume': { outcomes: writes('200', absent) },
  'GET /api/v1/audit-events/export': { outcomes: adminsWrite('200', '200'), sameForAll: true },
  'GET /api/v1/folders': { outcomes: reads('200', '200') },
  'DELETE /api/v1/folders/{folder_id}': { outcomes: writes('204', absent) },
  ...functionRows,
  'DELETE /api/v1/vms/{vm_id}': { outcomes: writes('204', absent) },
  'GET /api/v1/vms/{vm_id}/events': { outcomes: reads('200', absent) },
  'GET /api/v1/vms/{vm_id}/env': { outcomes: reads('200', '403 forbidden') },
  'PATCH /api/v1/vms/{vm_id}/env': { outcomes: writes('200', '403 forbidden'), body: { NEW: 'x' } },
  'PUT /api/v1/vms/{vm_id}/env': { outcomes: writes('200', '403 forbidden'), body: { NEW: 'x' } },
  'GET /api/v1/vms/{vm_id}/env/{key}': { outcomes: reads('200', '403 forbidden') },
  'DELETE /api/v1/vms/{vm_id}/env/{key}': { outcomes: writes('200', absent) },
  'POST /api/v1/vms/{vm_id}/env/refresh-system': { outcomes: writes('502 vm_unreachable', absent) },
  'POST /api/v1/vms/{vm_id}/env/sync-session': { outcomes: peopleWrite('500 internal_error', absent) },
  'DELETE /api/v1/vms/{vm_id}/env/sync-session': { outcomes: peopleWrite('500 internal_error', absent) },
  'POST /api/v1/vms/{vm_id}/envd/exec': { outcomes: writes('502 vm_unreachable', absent), body: { command: 'true' } },
  'GET /api/v1/vms/{vm_id}/envd/processes': { outcomes: readsInside('200', absent) },
  'GET /api/v1/vms/{vm_id}/envd/processes/{process_id}': { outcomes: readsInside('502 vm_unreachable', absent) },
  'POST /api/v1/vms/{vm_id}/envd/processes/{process_id}/kill': {
    outcomes: writes('502 vm_unreachable', absent),
    body: { signal: 'TERM' },
  },
  'GET /api/v1/vms/{vm_id}/envd/processes/{process_id}/stream': { outcomes: readsInside('200', absent) },
  ...vmFileRows,
  'GET /api/v1/build/jobs': { outcomes: reads('200', foreign), query: '?org_id={org}', foreignIs403: true },
  'POST /api/v1/build/jobs': {
    outcomes: writes('201', foreign),
    body: { org_id: '{org}', spec: [123, 125] },
    foreignIs403: true,
  },
  'GET /api/v1/build/jobs/{id}': { outcomes: reads('200', foreign), foreignIs403: true },
  'POST /api/v1/build/jobs/{id}/cancel': { outcomes: writes('200', foreign), foreignIs403: true },
  'GET /api/v1/build/jobs/{id}/logs': { outcomes: reads('200', foreign), foreignIs403: true },
  'GET /api/v1/build/jobs/{id}/logs/stream': { outcomes: reads('200', foreign), foreignIs403: true },
  'GET /api/v1/databases': {
    outcomes: peopleReads('200', '403 org_mismatch'),
    query: '?org_id={org}',
    foreignIs403: true,
  },
  'POST /api/v1/databases': {
    outcomes: adminsWrite('503 capacity_unavailable', '400 invalid_request'),
    body: { organization_id: '{org}' },
  },
  'GET /api/v1/databases/{db_id}': { outcomes: peopleReads('200', absent) },
  'PATCH /api/v1/databases/{db_id}': { outcomes: adminsWrite('200', absent), body: { project_id: '{project}' } },
  'DELETE /api/v1/databases/{db_id}': { outcomes: adminsWrite('200', absent) },
  'GET /api/v1/databases/{db_id}/backups': { outcomes: peopleReads('200', absent) },
  'POST /api/v1/databases/{db_id}/backups': { outcomes: adminsWrite('202', absent) },
  'GET /api/v1/databases/{db_id}/backups/{backup_id}': { outcomes: peopleReads('200', absent) },
  'DELETE /api/v1/databases/{db_id}/backups/{backup_id}': { outcomes: adminsWrite('200', absent) },
  'GET /api/v1/databases/{db_id}/backups/{backup_id}/download': { outcomes: adminsWrite('404 not_found', absent) }, // the target has no file
  'POST /api/v1/databases/{db_id}/backups/{backup_id}/restore': {
    outcomes: adminsWrite('202', absent),
    body: { target_database_id: '{database}' },
  },
  'POST /api/v1/databases/{db_id}/client-access/enable': { outcomes: adminsWrite('200', absent) },
  'POST /api/v1/databases/{db_id}/client-access/disable': { outcomes: adminsWrite('200', absent) },
  'GET /api/v1/domains': { outcomes: peopleRead('200') },
  'POST /api/v1/domains': { outcomes: adminsWrite('200', '200'), body: { domain: 'claimed.example.test' } },
  'POST /api/v1/domains/activate': { outcomes: adminsWrite('200', absent), body: { domain: '{domain}' } },
  'GET /api/v1/domains/{domain}': { outcomes: peopleReads('200', absent) },
  'DELETE /api/v1/domains/{domain}': { outcomes: adminsWrite('204', absent) },
  'POST /api/v1/domains/{domain}/link': {
    outcomes: adminsWrite('200', absent),
    body: { vm_id: '{vm}', vm_port: 80 },
  },
  'DELETE /api/v1/domains/{domain}/link': { outcomes: adminsWrite('204', absent) },
  'GET /api/v1/organizations/{org_id}/domains': { outcomes: peopleReads('200', foreign), foreignIs403: true },
  'POST /api/v1/compute/uploads': {
    outcomes: writes('200', '400 invalid_request'),
    body: { organization_id: '{org}' },
  },
  'POST /api/v1/proxies': {
    outcomes: writes('201', absent),
    body: { service_name: 'web', vm_id: '{vm}', vm_port: 8080 },
  },
  'GET /api/v1/proxies/vm/{vm_id}': { outcomes: reads('200', absent) },
  'DELETE /api/v1/proxies/{id}': { outcomes: writes('204', absent), of: 'proxy' },
  'GET /api/v1/vms/{vm_id}/preview-url': { outcomes: writes('200', absent), query: '?port=8080' },
  'GET /api/v1/usage': { outcomes: peopleRead('200') },
  'GET /api/v1/codehost/app-info': { outcomes: peopleRead('200') },
  'DELETE /api/v1/codehost/disconnect': { outcomes: peopleRead('200') },
  'GET /api/v1/codehost/repos': { outcomes: peopleRead('400 provider_not_connected') },
  'GET /api/v1/codehost/repos/{owner}/{repo}/branches': { outcomes: peopleRead('400 provider_not_connected') },
  'POST /api/v1/codehost/repositories/create': {
    outcomes: peopleRead('400 provider_not_connected'),
    body: { name: 'x' },
  },
  'POST /api/v1/codehost/pushes/{link_id}': { outcomes: signedOnly, body: {} },
  'POST /api/v1/codehost/save-token': { outcomes: peopleRead('400 invalid_request'), body: { code: 'x' } },
  'GET /api/v1/codehost/status': { outcomes: peopleRead('200') },
  'GET /api/v1/codehost/token-info': { outcomes: peopleRead(absent) },
}

/** Every REST operation of the inference gateway; statuses only, its codes are tested in test/llm. The key without `compute:use` has the gateway's scopes. */
export const gatewayRows: Readonly<Record<string, RestRow>> = {
  'GET /llm/v1/models': { outcomes: ['200', '200', '200', '200', '200', '403'] },
  'GET /llm/v1/models/{model}': { outcomes: ['200', '200', '200', '200', '200', '403'] },
  'GET /llm/v1/models/{provider}/{name}': { outcomes: ['200', '200', '200', '200', '200', '403'] },
  'GET /llm/v1/chat/{id}/stream': { outcomes: ['204', '204', '204', '204', '204', '204'] },
  'POST /llm/v1/chat': {
    outcomes: ['200', '200', '403', '200', '200', '403'],
    body: { model: 'berth/demo', messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }] },
  },
  'POST /llm/v1/chat/completions': {
    outcomes: ['200', '200', '403', '200', '200', '403'],
    body: { model: 'berth/demo', messages: [{ role: 'user', content: 'Hello' }] },
  },
  'POST /llm/v1/responses': {
    outcomes: ['200', '200', '403', '200', '200', '403'],
    body: { model: 'berth/demo', input: 'Hello' },
  },
  'POST /llm/v1/embeddings': {
    outcomes: ['200', '200', '403', '200', '200', '403'],
    body: { model: 'berth/demo-embeddings', input: 'Hello' },
  },
  'POST /llm/v1/messages': {
    outcomes: ['200', '200', '403', '200', '200', '403'],
    body: { model: 'berth/demo', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] },
  },
  'POST /llm/v1/messages/count_tokens': {
    outcomes: ['200', '200', '403', '200', '200', '403'],
    body: { model: 'berth/demo', messages: [{ role: 'user', content: 'Hello' }] },
  },
}

/** The key without `compute:use` has the gateway's scopes. */
const chats: Outcomes = ['200', '200', tooLittle, '200', '200', noScope]
const vmArgument = 'id: "{vm}"'
const functionArgument = 'id: "{function}"'
const databaseArgument = 'id: "{database}"'
const domainArgument = 'domain: "{domain}"'
const inVm = 'vmId: "{vm}"'
/** A key that nobody has kept the private half of. */
const publicKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIxtdVplC7ZnOujik2uYJmJA5Cay+GgY5u/sp4cRhhDp'

/** Every root field of GraphQL. `200` is an answer without errors. */
export const graphqlRows: Readonly<Record<string, GraphqlRow>> = {
  ...agentsGraphqlRows,
  ...webhooksGraphqlRows,
  'query instance': { outcomes: instanceHere },
  'query viewer': { outcomes: ['200', '200', '200', '200', '200', '200'] },
  'query organization': {
    outcomes: ['200', '200', '200', foreign, '200', '200'],
    args: 'id: "{org}"',
    foreignIs403: true,
  },
  'query node': { outcomes: reads('200', '200'), args: 'id: "{vm}"' },
  'query nodes': { outcomes: reads('200', '200'), args: 'ids: ["{vm}"]' },
  'query members': { outcomes: peopleRead('200'), args: 'first: 5' },
  'mutation removeMember': { outcomes: adminsWrite('200', absent), args: 'id: "{membership}"' },
  'mutation updateMember': { outcomes: adminsWrite('200', absent), args: 'id: "{membership}", role: MEMBER' },
  'query vm': { outcomes: reads('200', absent), args: vmArgument },
  'query vmByExternalRef': { outcomes: reads('200', absent), args: 'externalRef: "{ref}"' },
  'query vms': { outcomes: reads('200', '200'), args: 'first: 5' },
  'query folders': { outcomes: reads('200', '200'), args: 'first: 5' },
  'query templates': { outcomes: reads('200', '200') },
  'query machines': { outcomes: adminsWrite('200', '200'), args: 'first: 5' },
  'mutation deleteTemplate': { outcomes: writes('200', absent), args: 'id: "{template}"' },
  'query usage': { outcomes: peopleRead('200'), args: 'first: 5' },
  'query vmProcesses': { outcomes: readsInside('200', absent), args: inVm },
  'query vmProcess': { outcomes: readsInside('502 vm_unreachable', absent), args: `${inVm}, processId: "{process}"` },
  'query vmFile': { outcomes: readsInside('502 vm_unreachable', absent), args: `${inVm}, path: "/home/user/x"` },
  'query vmFolder': { outcomes: readsInside('502 vm_unreachable', absent), args: `${inVm}, path: "/home/user"` },
  'mutation createVm': { outcomes: writes('503 capacity_unavailable', '503 capacity_unavailable'), args: 'name: "x"' },
  'mutation runSandbox': {
    outcomes: writes('503 capacity_unavailable', '503 capacity_unavailable'),
    args: 'command: "true"',
  },
  'mutation updateVm': { outcomes: writes('200', absent), args: `${vmArgument}, name: "y"` },
  'mutation deleteVm': { outcomes: writes('200', absent), args: vmArgument },
  'mutation startVm': { outcomes: writes('200', absent), args: vmArgument },
  'mutation resumeVm': { outcomes: writes('200', absent), args: vmArgument },
  'mutation stopVm': { outcomes: writes('200', absent), args: vmArgument },
  'mutation pauseVm': { outcomes: writes('200', absent), args: vmArgument },
  'mutation execInVm': { outcomes: writes('502 vm_unreachable', absent), args: `${inVm}, command: "true"` },
  'mutation killVmProcess': { outcomes: writes('502 vm_unreachable', absent), args: `${inVm}, processId: "{process}"` },
  'mutation openTerminal': { outcomes: writes('502 vm_unreachable', absent), args: `${inVm}, columns: 80, rows: 24` },
  'mutation createTerminalTicket': { outcomes: writes('409 invalid_transition', absent), args: 'id: "{terminal}"' },
  'mutation closeTerminal': { outcomes: writes('200', absent), args: 'id: "{terminal}"' },
  'mutation createTunnelTicket': { outcomes: writes('200', absent), args: `${inVm}, port: 5432` },
  'mutation openVmSsh': { outcomes: writes('502 vm_unreachable', absent), args: `${inVm}, publicKey: "${publicKey}"` },
  'mutation setVmEnv': { outcomes: writes('200', absent), args: `${inVm}, env: {NEW: "x"}` },
  'mutation replaceVmEnv': { outcomes: writes('200', absent), args: `${inVm}, env: {NEW: "x"}` },
  'mutation deleteVmEnvVariable': { outcomes: writes('200', absent), args: `${inVm}, key: "KEPT"` },
  ...vmFileGraphqlRows,
  'mutation syncVmSession': { outcomes: peopleWrite('502 vm_unreachable', absent), args: inVm },
  'mutation removeVmSession': { outcomes: peopleWrite('502 vm_unreachable', absent), args: inVm },
  'mutation refreshVmSystemEnv': { outcomes: writes('502 vm_unreachable', absent), args: inVm },
  'mutation deleteFolder': { outcomes: writes('200', absent), args: 'id: "{folder}"' },
  'query project': { outcomes: reads('200', absent), args: 'id: "{project}"' },
  'query projects': { outcomes: reads('200', '200'), args: 'first: 5' },
  'mutation createProject': { outcomes: writes('200', '200'), args: 'name: "x"' },
  'mutation updateProject': { outcomes: writes('200', absent), args: 'id: "{project}", name: "y"' },
  'mutation deleteProject': { outcomes: writes('200', absent), args: 'id: "{project}"' },
  'query proxy': { outcomes: reads('200', absent), args: 'id: "{proxy}"' },
  'query proxies': { outcomes: reads('200', '200'), args: 'first: 5' },
  'mutation createProxy': {
    outcomes: writes('200', absent),
    args: `${inVm}, serviceName: "web", vmPort: 8080`,
  },
  'mutation deleteProxy': { outcomes: writes('200', absent), args: 'id: "{proxy}"' },
  'query function': { outcomes: reads('200', absent), args: functionArgument },
  'query functions': { outcomes: reads('200', '200'), args: 'first: 5' },
  'mutation createFunction': { outcomes: writes('200', '200'), args: 'idleSeconds: 60' },
  'mutation updateFunction': { outcomes: writes('200', absent), args: `${functionArgument}, idleSeconds: 60` },
  'mutation deployFunction': { outcomes: writes('400 invalid_request', absent), args: functionArgument },
  'mutation rollBackFunction': { outcomes: writes('200', absent), args: `${functionArgument}, to: "{version}"` },
  'mutation linkFunctionRepository': {
    outcomes: [
      '400 provider_not_connected',
      '400 provider_not_connected',
      tooLittle,
      absent,
      noScope,
      '401 unauthorized',
    ],
    args: 'id: "{function}", repository: "octocat/hello-world"',
  },
  'mutation unlinkFunctionRepository': { outcomes: writes('200', absent), args: 'id: "{function}"' },
  'mutation startFunction': { outcomes: writes('503 capacity_unavailable', absent), args: functionArgument },
  'mutation deleteFunction': { outcomes: writes('200', absent), args: functionArgument },
  'subscription functionEvents': { outcomes: reads('200', absent), args: 'functionId: "{function}"' },
  'subscription functionLogEvents': { outcomes: reads('200', absent), args: 'functionId: "{function}", after: "0"' },
  'query database': { outcomes: peopleReads('200', absent), args: databaseArgument },
  'query databases': { outcomes: peopleRead('200'), args: 'first: 5' },
  'mutation createDatabase': {
    outcomes: adminsWrite('503 capacity_unavailable', '400 invalid_request'),
    args: 'organizationId: "{org}"',
  },
  'mutation updateDatabase': {
    outcomes: adminsWrite('200', absent),
    args: `${databaseArgument}, sleepAfterSeconds: 60`,
  },
  'mutation moveDatabaseToProject': {
    outcomes: adminsWrite('200', absent),
    args: `${databaseArgument}, projectId: "{project}"`,
  },
  'mutation rotateDatabaseToken': { outcomes: adminsWrite('200', absent), args: databaseArgument },
  'mutation runSql': {
    outcomes: adminsWrite('503 service_unavailable', absent), // there is no edge process
    args: 'databaseId: "{database}", statement: "select 1"',
  },
  'mutation deleteDatabase': { outcomes: adminsWrite('200', absent), args: databaseArgument },
  'mutation undeleteDatabase': { outcomes: adminsWrite('200', absent), args: databaseArgument },
  'mutation enableDatabaseClientAccess': { outcomes: adminsWrite('200', absent), args: databaseArgument },
  'mutation disableDatabaseClientAccess': { outcomes: adminsWrite('200', absent), args: databaseArgument },
  'mutation createDatabaseAuthIssuer': {
    outcomes: adminsWrite('200', absent),
    args: 'databaseId: "{database}", issuer: "https://issuer.example/{fresh}", jwksUri: "https://issuer.example/jwks", audience: "app"',
  },
  'mutation deleteDatabaseAuthIssuer': {
    outcomes: adminsWrite(absent, absent),
    args: 'databaseId: "{database}", issuer: "https://issuer.example"',
  },
  'mutation wakeDatabase': { outcomes: adminsWrite('200', absent), args: databaseArgument },
  'query backup': { outcomes: peopleReads('200', absent), args: 'id: "{backup}"' },
  'query databaseRestore': { outcomes: peopleReads('200', absent), args: 'id: "{restore}"' },
  'query backupSchedule': { outcomes: peopleReads('200', absent), args: 'id: "{schedule}"' },
  'mutation createBackup': { outcomes: adminsWrite('200', absent), args: 'databaseId: "{database}"' },
  'mutation deleteBackup': { outcomes: adminsWrite('200', absent), args: 'id: "{backup}"' },
  'mutation restoreBackup': { outcomes: adminsWrite('200', absent), args: 'id: "{backup}"' },
  'mutation createBackupSchedule': {
    outcomes: adminsWrite('200', absent),
    args: 'databaseId: "{database}", cron: "0 3 * * *"',
  },
  'mutation updateBackupSchedule': { outcomes: adminsWrite('200', absent), args: 'id: "{schedule}", enabled: false' },
  'mutation deleteBackupSchedule': { outcomes: adminsWrite('200', absent), args: 'id: "{schedule}"' },
  'subscription backupEvents': { outcomes: peopleReads('200', absent), args: 'backupId: "{backup}"' },
  'subscription databaseRestoreEvents': {
    outcomes: peopleReads('200', absent),
    args: 'databaseRestoreId: "{restore}"',
  },
  'subscription databaseEvents': { outcomes: peopleReads('200', absent), args: 'databaseId: "{database}"' },
  'subscription databaseMetricsChanged': { outcomes: peopleReads('200', absent), args: 'databaseId: "{database}"' },
  'query domain': { outcomes: peopleReads('200', absent), args: 'id: "{domain}"' },
  'query domains': { outcomes: peopleRead('200'), args: 'first: 5' },
  'mutation createDomain': { outcomes: adminsWrite('200', '200'), args: 'domain: "claimed.example.test"' },
  'mutation activateDomain': { outcomes: adminsWrite('200', absent), args: domainArgument },
  'mutation checkDomain': { outcomes: adminsWrite('200', absent), args: domainArgument },
  'mutation linkDomain': { outcomes: adminsWrite('200', absent), args: `${domainArgument}, vmId: "{vm}", vmPort: 80` },
  'mutation unlinkDomain': { outcomes: adminsWrite('200', absent), args: domainArgument },
  'mutation deleteDomain': { outcomes: adminsWrite('200', absent), args: domainArgument },
  'subscription domainEvents': { outcomes: peopleReads('200', absent), args: 'domainId: "{domain}"' },
  'query codeHostApp': { outcomes: peopleRead('200') },
  'query codeHostStatus': { outcomes: peopleRead('200') },
  'query codeHostAccount': { outcomes: peopleRead(absent) },
  'query codeHostRepositories': { outcomes: peopleRead('400 provider_not_connected'), args: 'page: 1' },
  'query codeHostBranches': {
    outcomes: peopleRead('400 provider_not_connected'),
    args: 'owner: "someone", repo: "something"',
  },
  'mutation startCodeHostAuthorization': {
    outcomes: peopleRead('400 invalid_request'),
    args: 'redirectUrl: null',
  },
  'mutation connectCodeHost': { outcomes: peopleRead('400 invalid_request'), args: 'code: "x"' },
  'mutation disconnectCodeHost': { outcomes: peopleRead('200'), args: 'id: null' },
  'mutation createCodeHostRepository': {
    outcomes: peopleRead('400 provider_not_connected'),
    args: 'name: "x"',
  },
  'query build': { outcomes: reads('200', foreign), args: 'id: "{build}"', foreignIs403: true },
  'query builds': { outcomes: reads('200', '200'), args: 'first: 5' },
  'query buildSecrets': { outcomes: reads('200', '200') },
  'mutation createBuild': {
    outcomes: writes('200', foreign),
    args: 'organizationId: "{org}", spec: {}',
    foreignIs403: true,
  },
  'mutation cancelBuild': { outcomes: writes('200', foreign), args: 'id: "{build}"', foreignIs403: true },
  'mutation setBuildSecret': { outcomes: adminsWrite('200', '200'), args: 'name: "NEW", value: "x"' },
  'mutation deleteBuildSecret': { outcomes: adminsWrite('200', absent), args: 'name: "{secret}"' },
  'mutation createUpload': { outcomes: writes('200', '400 invalid_request'), args: 'organizationId: "{org}"' },
  'query models': { outcomes: ['200', '200', '200', '200', '200', noScope], args: 'first: 5' },
  'query apiKey': {
    outcomes: ['200', '200', '200', absent, '401 unauthorized', '401 unauthorized'],
    args: 'id: "{apikey}"',
  },
  'query apiKeys': { outcomes: peopleRead('200'), args: 'first: 5' },
  'mutation createApiKey': { outcomes: adminsWrite('200', '200'), args: 'name: "x"' },
  'mutation revokeApiKey': { outcomes: adminsWrite('200', absent), args: 'id: "{apikey}"' },
  'query auditEvent': { outcomes: adminsWrite(absent, absent), args: 'id: "aud_x"' },
  'query auditEvents': { outcomes: adminsWrite('200', '200'), args: 'first: 5' },
  'query invitation': { outcomes: adminsWrite(absent, absent), args: 'id: "inv_x"' },
  'query invitations': { outcomes: adminsWrite('200', '200'), args: 'first: 5' },
  'mutation createInvitation': { outcomes: adminsWrite('200', '200'), args: 'role: VIEWER' },
  'mutation revokeInvitation': { outcomes: adminsWrite(absent, absent), args: 'id: "inv_x"' },
  'mutation acceptInvitation': {
    outcomes: [absent, absent, absent, absent, foreign, foreign],
    args: 'url: "https://berth.example/join#x"',
  },
  'mutation createOrganization': {
    outcomes: [
      '400 invalid_request',
      '400 invalid_request',
      '400 invalid_request',
      '400 invalid_request',
      foreign,
      foreign,
    ],
    args: 'name: " "',
  },
  'mutation updateOrganization': { outcomes: ['200', tooLittle, tooLittle, '200', noKeys, noKeys], args: 'name: null' },
  'mutation revokeAuthorization': { outcomes: peopleReads(absent, absent), args: 'id: "authz_x"' },
  'mutation revokeBrowserSession': { outcomes: peopleReads(absent, absent), args: 'id: "bses_x"' },
  'query model': { outcomes: ['200', '200', '200', '200', '200', noScope], args: 'id: "berth/demo"' },
  'mutation createChatCompletion': {
    outcomes: chats,
    args: 'model: "berth/demo", messages: {user: {content: {text: "Hello"}}}',
  },
  'mutation createEmbeddings': { outcomes: chats, args: 'model: "berth/demo-embeddings", texts: ["Hello"]' },
  'subscription chatCompletionEvents': {
    outcomes: chats,
    args: 'model: "berth/demo", messages: {user: {content: {text: "Hello"}}}',
  },
  'subscription buildEvents': { outcomes: reads('200', foreign), args: 'buildId: "{build}"', foreignIs403: true },
  'subscription buildLogEvents': {
    outcomes: reads('200', foreign),
    args: 'buildId: "{build}", after: "0"',
    foreignIs403: true,
  },
  'query inferenceUsage': {
    outcomes: peopleReadTheirs,
    args: 'organizationId: "{org}", dimensions: [DAY, MODEL]',
    foreignIs403: true,
  },
  'query vmUsage': {
    outcomes: peopleReadTheirs,
    args: 'organizationId: "{org}", dimensions: [DAY, VM]',
    foreignIs403: true,
  },
  'query search': {
    outcomes: ['200', '200', '200', foreign, '200', '200'],
    args: 'organizationId: "{org}", text: "a"',
    foreignIs403: true,
  },
  'subscription organizationEvents': {
    outcomes: ['200', '200', '200', foreign, '200', '200'],
    args: 'organizationId: "{org}", after: "1-0-99999999999"', // all that are kept
    foreignIs403: true,
  },
  'query inferenceRequests': {
    outcomes: peopleReadTheirs,
    args: 'organizationId: "{org}", first: 5',
    foreignIs403: true,
  },
  'query inferenceCredits': { outcomes: peopleReadTheirs, args: 'organizationId: "{org}"', foreignIs403: true },
  'mutation setOrganizationBudget': {
    outcomes: adminsWrite('200', foreign),
    args: 'organizationId: "{org}", monthlyUsd: 5',
    foreignIs403: true,
  },
  'mutation setApiKeyBudget': {
    outcomes: adminsWrite('200', foreign),
    args: 'organizationId: "{org}", keyId: "{apikey}", monthlyUsd: 5',
    foreignIs403: true,
  },
  'subscription inferenceRequestEvents': {
    outcomes: peopleReadTheirs,
    args: 'organizationId: "{org}", after: "0"',
    foreignIs403: true,
  },
  'subscription vmEvents': { outcomes: reads('200', absent), args: 'vmId: "{vm}"' },
  'subscription vmMetricsChanged': { outcomes: readsInside('502 vm_unreachable', absent), args: 'vmId: "{vm}"' },
  'subscription vmProcessOutputEvents': {
    outcomes: readsInside('502 vm_unreachable', absent),
    args: `${inVm}, processId: "{process}"`,
  },
}
