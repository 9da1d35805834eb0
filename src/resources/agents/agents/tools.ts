/** The `tools` of an agent: toolsets, tool servers' tools and custom tools, validated and with defaults filled in. */
import { z } from 'zod'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { AgentTool, ToolConfig, ToolSetting } from './rows.ts'
import { findBuiltInTool, type BuiltInToolset } from '#src/resources/agents/built-in-tools.ts'
import { readShape } from '#src/platform/shapes/fields.ts'
import { input, oneOf } from '#src/platform/shapes/inputs.ts'
import { restrictionsOf, webToolShapes, type GivenRestrictions } from '#src/resources/agents/agents/web-restrictions.ts'

const policy = input({ type: z.enum(['always_allow', 'always_ask']) })
const settings = { enabled: z.boolean().nullish(), permission_policy: policy.nullish() }
const setting = input(settings)
const toolsetKeys = {
  default_config: setting.nullish(),
  configs: z
    .array(z.looseObject({ name: z.string().min(1).max(limits.nameLength) }))
    .max(limits.agentToolsMax)
    .nullish(),
}
const toolset = input(toolsetKeys)
const configKeys = { name: z.string(), ...settings }
const config = input(configKeys)
const builtInKeys = { ...configKeys, type: z.string().nullish() }
const builtInConfig = input(builtInKeys)
const webConfigs: Readonly<Record<string, z.ZodType<GivenConfig>>> = {
  web_fetch: input({ ...builtInKeys, ...webToolShapes.web_fetch }),
  web_search: input({ ...builtInKeys, ...webToolShapes.web_search }),
}
const jsonSchema = z
  .unknown()
  .optional()
  .pipe(z.looseObject({ type: z.literal('object') }))
// The form that models accept for function names, at most 64 characters.
const custom = input({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'it has letters, digits, underscores and dashes, 64 at most'),
  description: z.string().min(1).max(limits.toolDescriptionLength),
  input_schema: jsonSchema,
})
const shape = oneOf(
  {
    agent_toolset_20260401: toolset,
    berth_toolset_v1: toolset,
    mcp_toolset: input({ ...toolsetKeys, mcp_server_name: z.string() }),
    custom,
  },
  { agent_toolset_20260401: 'agentToolset', berth_toolset_v1: 'berthToolset' },
)

/** One of an agent's tools as callers give it. */
export type AgentToolInput = z.input<typeof shape>

const entries = z
  .array(z.custom<AgentToolInput>())
  .max(limits.agentToolsMax, `an agent has at most ${limits.agentToolsMax} tools`)

type GivenConfig = z.infer<typeof builtInConfig> & GivenRestrictions

/** Reads an agent's tools. @throws BerthError unknown_tool for a built-in tool that does not exist; invalid_request. */
export function readTools(given: readonly AgentToolInput[] | null | undefined): AgentTool[] {
  return readShape(entries, given ?? [], 'tools').map((entry, index) => readTool(entry, `tools[${index}]`))
}

function readTool(given: AgentToolInput, place: string): AgentTool {
  const entry = readShape(shape, given, place)
  if (entry.type === 'mcp_toolset') {
    const { mcp_server_name, default_config, configs } = entry
    return {
      type: 'mcp_toolset',
      mcp_server_name,
      ...filledIn({ default_config, configs: readConfigs(configs, () => config, place) }, 'always_ask', place),
    }
  }
  if (entry.type !== 'custom') return readBuiltIn(entry.type, entry, place)
  if (Buffer.byteLength(JSON.stringify(entry.input_schema)) > limits.toolSchemaBytes)
    throw new BerthError(
      'invalid_request',
      `${place}.input_schema may have at most ${limits.toolSchemaBytes / 1024} KiB.`,
    )
  return entry
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

/**
 * Checks that toolsets are unique, that they name existing servers, and that no two tools have the same name.
 * @param servers the names of the agent's tool servers and connectors.
 * @throws BerthError invalid_request.
 */
export function checkTogether(tools: AgentTool[], servers: readonly string[]): AgentTool[] {
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
  return tools
}

/** @throws BerthError invalid_request when a name is repeated. */
export function refuseTwice(names: readonly string[], field: string): void {
  const index = names.findIndex((name, at) => names.indexOf(name) !== at)
  if (index >= 0)
    throw new BerthError('invalid_request', `${field}[${index}] is a duplicate; each entry may appear only once.`)
}
