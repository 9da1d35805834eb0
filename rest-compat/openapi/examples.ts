/**
 * An example of a body for each operation that takes JSON: the shortest that does something people want. They stand in the
 * OpenAPI documents and at /docs.
 */
import { encodeId, type IdKind } from '#src/platform/ids.ts'
import type { Json } from './components.ts'

const uuid = '01a11f6b-32e3-7e8d-9896-6c7c05a6fd87'
const id = (kind: IdKind): string => encodeId(kind, uuid)

const buildSpec = { commands: ['npm ci', 'npm run build'], output: { type: 'artifact', name: 'site', path: 'dist' } }
const change = { metadata: { team: 'shop' } }
const messages = [{ role: 'user', content: 'Hello!' }]
const agentChange = { name: 'Planner', system: 'You plan trips.', version: 1 }
const deployment = { name: 'Morning report', agent: id('agent'), kickoff: 'Report what changed since yesterday.' }
const trigger = { agent: id('agent'), repo: 'acme/shop', events: ['pull_request.opened'] }
const schedule = { cron: '0 9 * * mon-fri', timezone: 'Europe/Berlin' }
const credential = {
  display_name: 'Weather',
  auth: { type: 'environment_variable', secret_name: 'API_KEY', secret_value: '…' },
}

/** The examples, by the names of operations. */
export const exampleBodies: Readonly<Record<string, unknown>> = {
  createVm: { name: 'my-vm', memory_mb: 1024, ttl_seconds: 3600 },
  runSandbox: { language: 'python', code: 'print(6 * 7)' },
  updateVm: { name: 'web', network_policy: { type: 'limited', allowed_hosts: ['example.com'] } },
  setVmEnv: { NODE_ENV: 'production' },
  replaceVmEnv: { NODE_ENV: 'production' },
  execInVm: { command: 'wc', args: ['-l'], env: { LANG: 'C' }, stdin: 'one\ntwo\n', user: 'user', timeout: 10 },
  killVmProcess: { signal: 'TERM' },
  removeVmPath: { path: '/home/user/old', recursive: true },
  readVmFile: { path: '/etc/hostname' },
  writeVmFile: { path: '/home/user/hello.txt', content: btoa('Hello!\n') },
  createVmFolder: { path: '/home/user/new' },
  renameVmPath: { path: '/home/user/old.txt', new_path: '/home/user/new.txt' },
  listVmFolder: { path: '/home/user' },
  createVmFileUrl: { path: '/home/user/hello.txt', method: 'GET' },
  createBuild: {
    org_id: id('organization'),
    repo_url: 'https://github.com/acme/shop',
    spec: buildSpec,
  },
  disconnectCodeHost: { id: id('codeHostLink') },
  createCodeHostRepository: { name: 'shop', private: true },
  connectCodeHost: { code: 'the code that came back', state: 'the state that came back' },
  createDatabase: { organization_id: id('organization'), name: 'shop' },
  moveDatabaseToProject: { project_id: id('project') },
  createDomain: { domain: 'shop.example.com', vm_id: id('vm'), vm_port: 8000 },
  activateDomain: { domain: 'shop.example.com' },
  linkDomain: { vm_id: id('vm'), vm_port: 8000 },
  createFunction: { name: 'hello', build_id: id('build'), variables: { GREETING: 'Hello' } },
  updateFunction: { idle_seconds: 60, start_seconds: 30, variables: { GREETING: null } },
  deployFunction: { build_id: id('build'), start_command: 'node server.js' },
  rollBackFunction: { to: id('functionVersion') },
  restoreBackup: { target_database_id: id('database') },
  createProxy: { service_name: 'web', vm_id: id('vm'), vm_port: 8000 },
  createUpload: { organization_id: id('organization') },
  receivePush: { ref: 'refs/heads/main', after: '0123456789abcdef0123456789abcdef01234567' },

  createAgent: { name: 'Planner', model: 'berth/demo', system: 'You plan trips.' },
  updateAgent: agentChange,
  updateAgentByPost: agentChange,
  createEnvironment: { name: 'python', config: { packages: { pip: ['requests'] } } },
  updateEnvironment: { description: 'For scripts.' },
  createVault: { display_name: 'Work' },
  updateVault: change,
  updateVaultByPost: change,
  createVaultCredential: credential,
  updateVaultCredential: { display_name: 'Weather service' },
  updateVaultCredentialByPost: { display_name: 'Weather service' },
  createSession: { agent: id('agent'), title: 'A trip to Lisbon' },
  updateSession: { title: 'A trip to Porto' },
  setSessionSharing: { shared: true },
  markSessionSeen: { through_event_id: id('sessionEvent') },
  sendSessionEvents: { events: [{ type: 'user.message', content: [{ type: 'text', text: 'Hello!' }] }] },
  addSessionResource: { type: 'file', file_id: id('file') },
  updateSessionResource: { authorization_token: '…' },
  createGroup: {
    org_id: id('organization'),
    name: 'Trip',
    member_ids: [id('session'), encodeId('session', uuid.replace('7f', '80'))],
  },
  updateGroup: { name: 'Trip', description: null },
  sendGroupMessage: { text: '@Planner where do we go?' },
  answerGroupApproval: { approved: true },
  answerGroupQuestion: { answer: 'In May.' },
  startMcpSignIn: { return_url: 'https://app.example.com/connected' },
  completeMcpSignIn: { code: 'the code that came back', state: 'the state that came back' },
  selectMcpTools: { disabled_tools: ['delete_issue'] },
  createMemory: { body: 'Prefers trains to planes.', category: 'preference', idempotency_key: 'trains-1' },
  updateMemory: { body: 'Prefers night trains.', revision: 1 },
  updateMemorySettings: { use_memories: true },
  createRun: { builtin: 'coder', input: 'Write a program that prints the first ten primes.' },
  createDeployment: deployment,
  updateDeployment: { kickoff: 'Report what changed since last week.' },
  updateDeploymentByPost: { kickoff: 'Report what changed since last week.' },
  createTrigger: trigger,
  updateTrigger: { enabled: false },
  updateTriggerByPost: { enabled: false },
  createSchedule: { agent: id('agent'), kickoff: 'Report what changed since yesterday.', ...schedule },
  updateSchedule: schedule,
  receiveHook: { action: 'opened' },

  createChatCompletion: { model: 'berth/demo', messages },
  createChat: { model: 'berth/demo', messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello!' }] }] },
  createMessage: { model: 'berth/demo', max_tokens: 1024, messages },
  countMessageTokens: { model: 'berth/demo', messages },
  createResponse: { model: 'berth/demo', input: 'Hello!' },
  createEmbeddings: { model: 'openai/text-embedding-3-small', input: 'Hello!' },
}

/** A description whose bodies have their examples. */
export function withExamples(description: Json): Json {
  const paths = description['paths'] as Record<string, Record<string, Described>>
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    const body = operation.requestBody?.content['application/json']
    const example = exampleBodies[operation.operationId]
    if (body && example !== undefined) body.example = example
  }
  return description
}
type Described = { operationId: string; requestBody?: { content: Record<string, { example?: unknown }> } }
