/** Vaults, environments and agents, as files describe them. */
import { at, listAt, textAt, type Row } from '../values.ts'
import { mutate, removeBy, type Fields, type Section } from '../section.ts'
import { networkingOf } from './networks.ts'

/** The selection of the configuration of an environment's VM. */
export const configSelection = `config { __typename ... on SelfHostedEnvironmentConfig { type } ... on VmEnvironmentConfig { type vcpuCount memoryMb
  idleTimeoutSeconds templateId setupScript gitRepos { url branch path } packages { apt cargo gem go npm pip }
  networking { __typename ... on LimitedNetworking { allowMcpServers allowPackageManagers allowedHosts } } } }`

/** That configuration as files have it. */
export function configOf(config: unknown): Fields | null {
  if (at(config, '__typename') === undefined) return null
  if (at(config, '__typename') === 'SelfHostedEnvironmentConfig') return { type: at(config, 'type') }
  const { __typename: _, networking, templateId, ...others } = config as Fields // it has a type
  return { ...others, templateId: templateId ?? 'base', networking: networkingOf(networking) }
}

/** Vaults. */
export const vaults: Section = {
  one: 'vault',
  root: 'vaults',
  select: 'displayName metadata archivedAt credentials(first: 1) { totalCount }',
  nameIn: 'displayName',
  refersTo: [],
  isGone: (row) => row['archivedAt'] !== null,
  shown: ({ metadata }) => ({ metadata }),
  patched: ['metadata'],
  staysBecause(row) {
    const count = Number(at(row, 'credentials', 'totalCount'))
    return count > 0
      ? `it has ${count} credential${count === 1 ? '' : 's'}, which are never deleted by a file`
      : undefined
  },
  create: async (work, displayName, fields) =>
    (await mutate(work, 'createVault', { displayName, ...fields }, 'vault { id }')).id,
  async change(work, { id }, fields) {
    await mutate(work, 'updateVault', { id, ...fields }, 'vault { id }')
  },
  remove: (work, { id }) => removeBy(work, 'deleteVault', id),
}

/** Environments of sessions. */
export const environments: Section = {
  one: 'environment',
  root: 'environments',
  select: `name description metadata archivedAt ${configSelection}`,
  nameIn: 'name',
  refersTo: [],
  isGone: (row) => row['archivedAt'] !== null,
  shown: ({ description, metadata, config }) => ({ description, metadata, config: configOf(config) }),
  patched: ['metadata'],
  create: async (work, name, fields) =>
    (await mutate(work, 'createEnvironment', { name, ...fields }, 'environment { id }')).id,
  async change(work, { id }, fields) {
    await mutate(work, 'updateEnvironment', { id, ...fields }, 'environment { id }')
  },
  remove: (work, { id }) => removeBy(work, 'deleteEnvironment', id),
}

const toolsets: Readonly<Record<string, string>> = {
  agent_toolset_20260401: 'agentToolset',
  berth_toolset_v1: 'berthToolset',
}

/** Agents. */
export const agents: Section = {
  one: 'agent',
  root: 'agents',
  pageRows: 20,
  select: `name description system metadata archivedAt model { id effort speed } mcpServers { name url } mcpServices { id disabledTools }
    skills { skillName type version } tools { __typename
      ... on CustomTool { name description inputSchema }
      ... on BuiltInToolset { name defaultConfig { isEnabled permissionPolicy { type } }
        configs { name isEnabled permissionPolicy { type } allowedDomains blockedDomains maxContentTokens } }
      ... on McpToolset { mcpServerName defaultConfig { isEnabled permissionPolicy { type } }
        configs { name isEnabled permissionPolicy { type } } } }`,
  nameIn: 'name',
  refersTo: [],
  isGone: (row) => row['archivedAt'] !== null,
  shown: (row) => ({
    description: row['description'],
    model: modelOf(row),
    system: row['system'],
    tools: listAt(row, 'tools').map(toolOf),
    mcpServers: listAt(row, 'mcpServers').map((one) => ({ type: 'URL', ...(one as Fields) })), // an object, as the query says
    mcpServices: row['mcpServices'],
    skills: listAt(row, 'skills').map((one) => ({
      type: at(one, 'type'),
      skillId: at(one, 'skillName'),
      version: at(one, 'version'),
    })),
    metadata: row['metadata'],
  }),
  patched: ['metadata'],
  create: async (work, name, fields) => (await mutate(work, 'createAgent', { name, ...fields }, 'agent { id }')).id,
  async change(work, { id }, fields) {
    await mutate(work, 'updateAgent', { id, ...fields }, 'agent { id }')
  },
  remove: (work, { id }) => removeBy(work, 'deleteAgent', id),
}

function modelOf(row: Row): Fields {
  const effort = textAt(row, 'model', 'effort')
  return {
    id: at(row, 'model', 'id'),
    ...(effort === undefined ? {} : { effort: { type: effort } }),
    speed: at(row, 'model', 'speed'),
  }
}

function toolOf(tool: unknown): Fields {
  const { __typename: kind, name, defaultConfig, configs, ...others } = tool as Fields // an object, as the query says
  if (kind === 'CustomTool') return { custom: { name, ...others } }
  const settings = {
    defaultConfig: settingOf(defaultConfig),
    configs: Array.isArray(configs) ? configs.map(settingOf) : [],
  }
  if (kind === 'McpToolset') return { mcpToolset: { ...others, ...settings } }
  return { [toolsets[String(name)] ?? String(name)]: settings }
}

/** Settings of tools, which say `enabled` where they are given. */
function settingOf(setting: unknown): Fields {
  const { isEnabled, ...others } = setting as Fields // an object, as the query says
  return { ...others, enabled: isEnabled }
}
