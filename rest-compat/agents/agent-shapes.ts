/** Agents as REST shows them whole, for OpenAPI: what is not restricted has no key, so no selection says it. */
import type { Json, ShapeParts } from '../openapi/components.ts'
import { anyObject, flag, list, nullableText, object, oneOf, text, union, wholeNumber } from '../openapi/json-schema.ts'

/** What documents select of the parts of an agent. */
export const agentParts = {
  identity: '{ type }',
  mcpServer: '{ type name url }',
  mcpService: '{ id disabled_tools: disabledTools }',
  permissionPolicy: '{ type }',
  skill: '{ type skill_id: skillName version }',
} as const

/** The model of an agent; without `effort` where the model's own holds. */
export function agentModelShape({ add, describe, words }: ShapeParts): Json {
  return add('AgentModel', {
    ...object({ id: text, speed: words('AgentSpeed') }, { effort: object({ type: words('AgentEffort') }) }),
    description: describe('AgentModel'),
  })
}

/** An entry of the tools of an agent, every default filled in. */
export function agentToolShape(parts: ShapeParts): Json {
  const { add, describe, selected } = parts
  const held = { enabled: flag, permission_policy: selected('PermissionPolicy', agentParts.permissionPolicy) }
  const setting = add('ToolSetting', object(held))
  const config = add('ToolConfig', object({ name: text, ...held }))
  const builtInConfig = add(
    'BuiltInToolConfig',
    object(
      { name: text, type: text, ...held },
      {
        allowed_domains: list(text),
        blocked_domains: list(text),
        max_content_tokens: wholeNumber,
        url_sources: { type: 'null' },
      },
    ),
  )
  const of = (name: string, schema: Json): Json => add(name, { ...schema, description: describe(name) })
  const builtIn = (type: string, name: string): Json =>
    add(name, {
      ...object({ type: oneOf(type), default_config: setting, configs: list(builtInConfig) }),
      description: describe('BuiltInToolset'),
    })
  const server = { mcp_server_name: text, default_config: setting, configs: list(config) }
  const custom = { name: text, description: text, input_schema: anyObject }
  return add(
    'AgentTool',
    union('type', {
      agent_toolset_20260401: builtIn('agent_toolset_20260401', 'AgentToolset'),
      berth_toolset_v1: builtIn('berth_toolset_v1', 'BerthToolset'),
      mcp_toolset: of('McpToolset', object({ type: oneOf('mcp_toolset'), ...server })),
      custom: of('CustomTool', object({ type: oneOf('custom'), ...custom })),
    }),
  )
}

/** The agent of a session, as it was when the session began. */
export function sessionAgentShape(parts: ShapeParts): Json {
  const { add, describe, selected } = parts
  return add('SessionAgent', {
    ...object({
      type: oneOf('agent'),
      id: text,
      version: wholeNumber,
      name: text,
      description: nullableText,
      model: agentModelShape(parts),
      system: nullableText,
      tools: list(agentToolShape(parts)),
      mcp_servers: list(selected('McpServer', agentParts.mcpServer)),
      mcp_services: list(selected('AgentMcpService', agentParts.mcpService)),
      skills: list(selected('AgentSkill', agentParts.skill)),
      multiagent: { type: 'null' },
      execution_identity: selected('ExecutionIdentity', agentParts.identity),
    }),
    description: describe('SessionAgent'),
  })
}
