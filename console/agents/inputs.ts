/** What an agent is, as the API takes it: what a form begins with, and how an older version is used again. */
import type { AgentDefinition, AgentToolInput, UpdateAgentInput } from '../generated/documents.ts'

type Tool = AgentDefinition['tools'][number]
type Toolset = Extract<Tool, { __typename: 'BuiltInToolset' }>
type Config = Toolset['configs'][number]
type Setting = Toolset['defaultConfig']

/** The fields of an update that make an agent what a definition says. */
export function changesOf(agent: AgentDefinition): Omit<UpdateAgentInput, 'id'> {
  const { name, description, system, model, skills, mcpServers, mcpServices, tools } = agent
  return {
    name,
    description,
    system,
    model: { id: model.id, speed: model.speed, ...(model.effort ? { effort: { type: model.effort } } : {}) },
    skills: skills.map(({ skillName, type, version }) => ({ skillId: skillName, type, version })),
    mcpServers: mcpServers.map(({ name: server, url }) => ({ name: server, url, type: 'URL' as const })),
    mcpServices: mcpServices.map(({ id, disabledTools }) => ({
      id,
      disabledTools: [...disabledTools],
    })),
    tools: tools.map(toolOf),
  }
}

/** A tool as the API takes it. */
export function toolOf(tool: Tool): AgentToolInput {
  if (tool.__typename === 'CustomTool')
    return { custom: { name: tool.name, description: tool.description, inputSchema: tool.inputSchema } }
  if (tool.__typename === 'McpToolset')
    return {
      mcpToolset: {
        mcpServerName: tool.mcpServerName,
        defaultConfig: settingOf(tool.defaultConfig),
        configs: tool.configs.map((config) => ({ name: config.name, ...settingOf(config) })),
      },
    }
  const toolset = { defaultConfig: settingOf(tool.defaultConfig), configs: tool.configs.map(configOf) }
  return tool.name === 'berth_toolset_v1' ? { berthToolset: toolset } : { agentToolset: toolset }
}

function settingOf({ isEnabled, permissionPolicy }: Setting) {
  return { enabled: isEnabled, permissionPolicy: { type: permissionPolicy.type } }
}

function configOf(config: Config) {
  const { name, allowedDomains, blockedDomains, maxContentTokens } = config
  return {
    name,
    ...settingOf(config),
    ...(allowedDomains ? { allowedDomains: [...allowedDomains] } : {}),
    ...(blockedDomains ? { blockedDomains: [...blockedDomains] } : {}),
    ...(maxContentTokens === null ? {} : { maxContentTokens }),
  }
}
