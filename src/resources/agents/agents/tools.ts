/** The `tools` of an agent: toolsets, tool servers' tools and custom tools, validated and with defaults filled in. */
import { z } from 'zod'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { exact } from '#src/platform/shapes.ts'
import type { AgentTool, ToolConfig, ToolSetting } from './rows.ts'
import { builtInToolsets, findBuiltInTool, type BuiltInToolset } from '#src/resources/agents/built-in-tools.ts'
import { readShape } from '#src/platform/shapes/fields.ts'
import { restrictionsOf, webToolShapes, type GivenRestrictions } from '#src/resources/agents/agents/web-restrictions.ts'

const policy = exact({ type: z.enum(['always_allow', 'always_ask']) })
const settings = { enabled: z.boolean().nullish(), permission_policy: policy.nullish() }
const setting = exact(settings)
const toolsetKeys = {
  type: z.string(),
  default_config: setting.nullish(),
  configs: z
    .array(z.looseObject({ name: z.string().min(1).max(limits.nameLength) }))
    .max(limits.agentToolsMax)
    .nullish(),
}
const toolset = exact(toolsetKeys)
const mcpToolset = exact({ ...toolsetKeys, mcp_server_name: z.string() })
const configKeys = { name: z.string(), ...settings }
const config = exact(configKeys)
const builtInKeys = { ...configKeys, type: z.string().nullish() }
const builtInConfig = exact(builtInKeys)
const webConfigs: Readonly<Record<string, z.ZodType<GivenConfig>>> = {
  web_fetch: exact({ ...builtInKeys, ...webToolShapes.web_fetch }),
  web_search: exact({ ...builtInKeys, ...webToolShapes.web_search }),
}
// The form that models accept for function names, at most 64 characters.
const custom = exact({
  type: z.string(),
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'it has letters, digits, underscores and dashes, 64 at most'),
  description: z.string().min(1).max(limits.toolDescriptionLength),
  input_schema: z.looseObject({ type: z.literal('object') }),
})
const entries = z
  .array(z.looseObject({ type: z.string() }))
  .max(limits.agentToolsMax, `an agent has at most ${limits.agentToolsMax} tools`)

type GivenConfig = z.infer<typeof builtInConfig> & GivenRestrictions

/**
 * Reads an agent's tools, given the names of its tool servers and connectors.
 * @throws BerthError unknown_tool for a type or a built-in tool that does not exist; invalid_request.
 */
export function readTools(given: unknown, servers: readonly string[]): AgentTool[] {
  const tools = readShape(entries, given ?? [], 'tools').map((entry, index) => readTool(entry, `tools[${index}]`))
  checkTogether(tools, servers)
  return tools
}

function readTool(entry: { type: string }, place: string): AgentTool {
  if (isBuiltInToolset(entry.type)) return readBuiltIn(entry.type, readShape(toolset, entry, place), place)
  if (entry.type === 'mcp_toolset') {
    const { mcp_server_name, default_config, configs } = readShape(mcpToolset, entry, place)
    return {
      type: 'mcp_toolset',
      mcp_server_name,
      ...filledIn({ default_config, configs: readConfigs(configs, () => config, place) }, 'always_ask', place),
    }
  }
  if (entry.type !== 'custom')
    throw new BerthError(
      'unknown_tool',
      `${place}.type is unknown; it must be ${builtInToolsets.join(', ')}, mcp_toolset or custom.`,
    )
  const { type: _type, ...tool } = readShape(custom, entry, place)
  if (Buffer.byteLength(JSON.stringify(tool.input_schema)) > limits.toolSchemaBytes)
    throw new BerthError(
      'invalid_request',
      `${place}.input_schema may have at most ${limits.toolSchemaBytes / 1024} KiB.`,
    )
  return { type: 'custom', ...tool }
}

function readBuiltIn(
  type: BuiltInToolset,
  { default_config, configs }: z.infer<typeof toolset>,
  place: string,
): AgentTool {
  const strange = configs?.findIndex(({ name }) => findBuiltInTool(name)?.toolset !== type) ?? -1
  if (strange >= 0)
    throw new BerthError(
      'unknown_tool',
      `${place}.configs[${strange}].name is not a tool of ${type}; GET /v1/tools lists them.`,
    )
  const read = readConfigs(configs, (name) => webConfigs[name] ?? builtInConfig, place)
  for (const [index, { name, type: kind, ...restrictions }] of read.entries()) {
    const at = `${place}.configs[${index}]`
    if (kind && kind !== name)
      throw new BerthError('invalid_request', `${at}.type must be the same as its name, or left out.`)
    if (restrictions.allowed_domains && restrictions.blocked_domains)
      throw new BerthError('invalid_request', `${at} has allowed_domains and blocked_domains; give one of them.`)
  }
  return { type, ...filledIn({ default_config, configs: read }, 'always_allow', place) }
}

function readConfigs(
  given: readonly { name: string }[] | null | undefined,
  shapeOf: (name: string) => z.ZodType<GivenConfig>,
  place: string,
): GivenConfig[] {
  return (given ?? []).map((one, index) => readShape(shapeOf(one.name), one, `${place}.configs[${index}]`))
}

/**
 * The toolset with its defaults: a tool's config inherits from the toolset's default config, and that from the kind of
 * toolset.
 */
function filledIn(
  {
    default_config,
    configs,
  }: { default_config?: z.infer<typeof setting> | null | undefined; configs: readonly GivenConfig[] },
  usual: 'always_allow' | 'always_ask',
  place: string,
): { default_config: ToolSetting; configs: ToolConfig[] } {
  const fallback: ToolSetting = {
    enabled: default_config?.enabled ?? true,
    permission_policy: default_config?.permission_policy ?? { type: usual },
  }
  const own = configs.map(({ name, enabled, permission_policy, ...rest }) => ({
    name,
    enabled: enabled ?? fallback.enabled,
    permission_policy: permission_policy ?? fallback.permission_policy,
    ...restrictionsOf(rest),
  }))
  refuseTwice(
    own.map(({ name }) => name),
    `${place}.configs`,
  )
  return { default_config: fallback, configs: own }
}

/** Checks that toolsets are unique, that they name existing servers, and that no two tools have the same name. */
function checkTogether(tools: readonly AgentTool[], servers: readonly string[]): void {
  refuseTwice(
    tools.map((tool) =>
      tool.type === 'custom'
        ? `custom ${tool.name}`
        : tool.type === 'mcp_toolset'
          ? `mcp_toolset ${tool.mcp_server_name}`
          : tool.type,
    ),
    'tools',
  )
  for (const [index, tool] of tools.entries()) {
    if (tool.type === 'mcp_toolset' && !servers.includes(tool.mcp_server_name))
      throw new BerthError(
        'invalid_request',
        `tools[${index}].mcp_server_name names none of mcp_servers and mcp_services.`,
      )
    if (tool.type === 'custom' && findBuiltInTool(tool.name))
      throw new BerthError('invalid_request', `tools[${index}].name is the name of a built-in tool; choose another.`)
  }
}

/** @throws BerthError invalid_request when a name is repeated. */
export function refuseTwice(names: readonly string[], field: string): void {
  const index = names.findIndex((name, at) => names.indexOf(name) !== at)
  if (index >= 0)
    throw new BerthError('invalid_request', `${field}[${index}] is a duplicate; each entry may appear only once.`)
}

function isBuiltInToolset(type: string): type is BuiltInToolset {
  return (builtInToolsets as readonly string[]).includes(type)
}
