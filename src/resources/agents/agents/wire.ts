/** A definition of an agent as REST shows it, in exactly the shapes that Anthropic's client has types for. */
import { builtInToolsets } from '#src/resources/agents/built-in-tools.ts'
import type { AgentDefinition, AgentModel, AgentSkill, AgentTool } from './rows.ts'

type Wire = Record<string, unknown>

/** The identity under which an agent acts. The only one is whoever started the session. */
export const executionIdentity = { type: 'service_account' } as const

/** `{id, effort: {type}, speed}`; without `effort` when the model's default applies. */
export function wireModel({ id, effort, speed }: AgentModel): Wire {
  return { id, ...(effort ? { effort: { type: effort } } : {}), speed }
}

/** The tools; each config of a built-in tool names it twice, as `name` and as `type`. */
export function wireTools(tools: readonly AgentTool[]): Wire[] {
  return tools.map((tool) => {
    if (!isBuiltIn(tool)) return tool
    return {
      ...tool,
      configs: tool.configs.map((config) => ({
        ...(config.name === 'web_fetch' ? { url_sources: null } : {}),
        ...config,
        type: config.name,
      })),
    }
  })
}

/** The skills; one without a version is at its latest. */
export function wireSkills(skills: readonly AgentSkill[]): Wire[] {
  return skills.map((skill) => ({ ...skill, version: skill.version ?? latestVersion }))
}

/** The version of a skill for which none was given. */
export const latestVersion = 'latest'

/** The whole definition except its metadata. */
export function wireDefinition({ metadata: _notes, model, tools, skills, ...shown }: AgentDefinition): Wire {
  return {
    ...shown,
    model: wireModel(model),
    tools: wireTools(tools),
    skills: wireSkills(skills),
    execution_identity: executionIdentity,
    multiagent: null,
  }
}

function isBuiltIn(tool: AgentTool): tool is AgentTool & { type: (typeof builtInToolsets)[number] } {
  return (builtInToolsets as readonly string[]).includes(tool.type)
}
