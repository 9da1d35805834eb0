/** Names and groups of operations for OpenAPI. */

/** The nouns by which operations are grouped, each with a description. */
const nouns: Readonly<Record<string, string>> = {
  agents: 'Versioned definitions of agents.',
  'audit-events': 'Who did what.',
  builds: 'Builds of repositories and uploads, with their logs.',
  chat: 'Chats with models.',
  codehost: 'A person’s account at the code host, and its repositories.',
  databases: 'Managed Postgres, with its backups and the access of clients to it.',
  deployments: 'Agents with what their runs need, and the records of those runs.',
  domains: 'Names of your own that lead to VMs or functions.',
  embeddings: 'Vectors of texts.',
  environments: 'Where sessions work: the configurations of their VMs.',
  files: 'Files for agents.',
  folders: 'Workspace disks that outlive their VMs.',
  functions: 'Programs that requests start, with their versions and logs.',
  groups: 'Sessions that talk with their user and with each other.',
  connectors: 'Services that people connect for their agents, and what they offer.',
  'peer-exchanges': 'What agents ask one another.',
  memories: 'What people and organizations keep for their agents.',
  messages: 'Chats with models, in the format of Anthropic’s clients.',
  models: 'The available models.',
  proxies: 'Ports of VMs under host names.',
  responses: 'Chats with models, in OpenAI’s newer format.',
  runs: 'Starting an agent’s session in one request.',
  schedules: 'When sessions start by themselves.',
  sessions: 'Conversations with agents, with their logs.',
  tools: 'The built-in tools that agents may have.',
  skills: 'Folders of instructions and files that agents may have, in versions.',
  triggers: 'Starting sessions at events of repositories, and what arrived.',
  uploads: 'Files to build from.',
  usage: 'How long VMs ran, and what that cost.',
  vaults: 'Credentials for agents.',
  vms: 'microVMs, with their commands, files and environment variables.',
}

/** Where the first word of a path is not the noun. */
const nounOfWord: Readonly<Record<string, string>> = {
  build: 'builds',
  compute: 'uploads',
  deployment_runs: 'deployments',
  hooks: 'triggers',
  'mcp-services': 'connectors',
  organizations: 'domains',
  'memory-settings': 'memories',
  'shared-sessions': 'sessions',
}

/** The noun of a path. */
export function tagOfPath(path: string): string {
  const word = wordsOf(path)[0] ?? ''
  return nounOfWord[word] ?? word
}

/** The nouns that these operations have, each with its sentence. */
export function describeTags(used: ReadonlySet<string>): { name: string; description?: string }[] {
  return [...used].sort().map((name) => ({ name, ...(nouns[name] ? { description: nouns[name] } : {}) }))
}

/** The fixed words of a path. */
function wordsOf(path: string): string[] {
  return path.split('/').filter((word) => word && !word.startsWith('{') && !['api', 'v1'].includes(word))
}

/** Makes names unique: where two operations share one, the second name includes its method. */
export function uniqueNames(): (name: string, method: string) => string {
  const taken = new Set<string>()
  return (name, method) => {
    const byMethod = `${name}By${method.charAt(0)}${method.slice(1).toLowerCase()}`
    const free = [name, byMethod].find((one) => !taken.has(one))
    if (free === undefined) throw new Error(`several operations are named ${name}`)
    taken.add(free)
    return free
  }
}
