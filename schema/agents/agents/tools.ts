/** The tools of an agent in GraphQL: output types and inputs. */
import { builder } from '#schema/builder.ts'
import { jsonObject } from '#schema/words.ts'
import { enumOf } from '#schema/enums.ts'
import type { AgentTool, ToolConfig, ToolSetting } from '#src/resources/agents/agents/rows.ts'
import type { PermissionPolicy } from '#src/resources/agents/built-in-tools.ts'
import { forRest } from '../../rest-fields.ts'

type BuiltIn = AgentTool & { type: 'agent_toolset_20260401' | 'berth_toolset_v1' }
type OfServer = AgentTool & { type: 'mcp_toolset' }
type Custom = AgentTool & { type: 'custom' }

const permissionPolicyType = enumOf('PermissionPolicyType', 'Whether a tool runs immediately or waits for approval.', {
  always_allow: 'It runs immediately.',
  always_ask: 'It waits for the user’s approval.',
} satisfies Record<PermissionPolicy['type'], string>)

/** Whether a tool runs at once or waits. */
export const permissionPolicy = builder.objectRef<PermissionPolicy>('PermissionPolicy').implement({
  description: 'Whether a tool runs immediately or waits for the user’s approval.',
  fields: (t) => ({
    type: t.field({
      type: permissionPolicyType,
      description: 'Whether it runs immediately or waits for approval.',
      resolve: ({ type }) => type,
    }),
  }),
})

const setting = builder.objectRef<ToolSetting>('ToolSetting').implement({
  description: 'The settings of a tool.',
  fields: (t) => ({
    isEnabled: t.exposeBoolean('enabled', { description: 'Whether the agent has it.' }),
    permissionPolicy: t.field({
      type: permissionPolicy,
      description: 'Whether it runs immediately or waits for approval.',
      resolve: (one) => one.permission_policy,
    }),
  }),
})

const config = builder.objectRef<ToolConfig>('ToolConfig').implement({
  description: 'The settings of one tool in a toolset.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The tool.' }),
    isEnabled: t.exposeBoolean('enabled', { description: 'Whether the agent has it.' }),
    permissionPolicy: t.field({
      type: permissionPolicy,
      description: 'Whether it runs immediately or waits for approval.',
      resolve: (one) => one.permission_policy,
    }),
    allowedDomains: t.exposeStringList('allowed_domains', {
      nullable: true,
      description: 'For web tools: the only domains it may reach; null when unrestricted.',
    }),
    blockedDomains: t.exposeStringList('blocked_domains', {
      nullable: true,
      description: 'For web tools: domains it may not reach.',
    }),
    maxContentTokens: t.exposeInt('max_content_tokens', {
      nullable: true,
      description: 'For `web_fetch`: how much of a page the model gets to read.',
    }),
  }),
})

const builtIn = builder.objectRef<BuiltIn>('BuiltInToolset').implement({
  description: 'Berth’s built-in tools.',
  isTypeOf: (value) => 'default_config' in (value as AgentTool) && !('mcp_server_name' in (value as AgentTool)),
  fields: (t) => ({
    name: t.exposeString('type', { description: '`agent_toolset_20260401` or `berth_toolset_v1`.' }),
    defaultConfig: t.field({
      type: setting,
      description: 'The settings of tools that `configs` does not name.',
      resolve: (one) => one.default_config,
    }),
    configs: t.field({
      type: [config],
      description: 'The settings of individual tools.',
      resolve: (one) => one.configs,
    }),
  }),
})

const ofServer = builder.objectRef<OfServer>('McpToolset').implement({
  description: 'The tools of a tool server (MCP).',
  isTypeOf: (value) => (value as AgentTool).type === 'mcp_toolset',
  fields: (t) => ({
    mcpServerName: t.exposeString('mcp_server_name', { description: 'One of the agent’s `mcpServers`.' }),
    defaultConfig: t.field({
      type: setting,
      description: 'The settings of tools that `configs` does not name.',
      resolve: (one) => one.default_config,
    }),
    configs: t.field({
      type: [config],
      description: 'The settings of individual tools.',
      resolve: (one) => one.configs,
    }),
  }),
})

const custom = builder.objectRef<Custom>('CustomTool').implement({
  description: 'A custom tool: the client runs it and sends back the result.',
  isTypeOf: (value) => (value as AgentTool).type === 'custom',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name, as models see it.' }),
    description: t.exposeString('description', { description: 'Its description, as models read it.' }),
    inputSchema: t.field({
      type: 'JSON',
      ...jsonObject,
      description: 'JSON Schema of its input.',
      resolve: (one) => one.input_schema,
    }),
  }),
})

/** A tool entry as the API shows it. */
export const agentTool = builder.unionType('AgentTool', {
  description: 'One entry of an agent’s tools, with every default filled in.',
  types: [builtIn, ofServer, custom],
})

const permissionPolicyInput = builder.inputType('PermissionPolicyInput', {
  description: 'Whether a tool runs immediately or waits for the user’s approval.',
  fields: (t) => ({
    type: t.field({
      type: permissionPolicyType,
      required: true,
      description: 'Whether it runs immediately or waits for approval.',
    }),
  }),
})

const settingInput = builder.inputType('ToolSettingInput', {
  description: 'The settings of tools in a toolset that have none of their own.',
  fields: (t) => ({
    enabled: t.boolean({ description: 'Whether the agent has them; true by default.' }),
    permissionPolicy: t.field({
      type: permissionPolicyInput,
      description: 'Whether they run immediately or wait for approval.',
    }),
  }),
})

const configInput = builder.inputType('ToolConfigInput', {
  description: 'The settings of one tool in a toolset.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'The tool.' }),
    enabled: t.boolean({ description: 'Whether the agent has it; the toolset’s default if omitted.' }),
    permissionPolicy: t.field({ type: permissionPolicyInput, description: 'The toolset’s default if omitted.' }),
  }),
})

const builtInConfigInput = builder.inputType('BuiltInToolConfigInput', {
  description: 'The settings of one of Berth’s built-in tools.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'The tool.' }),
    type: t.string({ description: 'The same as the tool’s name, or omitted.', ...forRest }),
    enabled: t.boolean({ description: 'Whether the agent has it; the toolset’s default if omitted.' }),
    permissionPolicy: t.field({ type: permissionPolicyInput, description: 'The toolset’s default if omitted.' }),
    allowedDomains: t.stringList({ description: 'For web tools: the only domains it may reach.' }),
    blockedDomains: t.stringList({ description: 'For web tools: domains it may not reach.' }),
    maxContentTokens: t.int({ description: 'For `web_fetch`: how much of a page the model gets to read.' }),
    urlSources: t.field({
      type: 'Reserved',
      description: 'Not supported: list the permitted domains in `allowedDomains` instead.',
    }),
    userLocation: t.field({ type: 'Reserved', description: 'Not supported: searches carry no location.' }),
  }),
})

const builtInInput = builder.inputType('BuiltInToolsetInput', {
  description: 'Berth’s built-in tools.',
  fields: (t) => ({
    defaultConfig: t.field({ type: settingInput, description: 'The settings of tools that `configs` does not name.' }),
    configs: t.field({ type: [builtInConfigInput], description: 'The settings of individual tools.' }),
  }),
})

const ofServerInput = builder.inputType('McpToolsetInput', {
  description: 'The tools of a tool server (MCP).',
  fields: (t) => ({
    mcpServerName: t.string({ required: true, description: 'One of `mcpServers`.' }),
    defaultConfig: t.field({ type: settingInput, description: 'The settings of tools that `configs` does not name.' }),
    configs: t.field({ type: [configInput], description: 'The settings of individual tools.' }),
  }),
})

const customInput = builder.inputType('CustomToolInput', {
  description: 'A custom tool, which the client runs.',
  fields: (t) => ({
    name: t.string({
      required: true,
      description: 'Its name, as models see it: letters, digits, `_` and `-`, 64 at most.',
    }),
    description: t.string({ required: true, description: 'Its description, as models read it.' }),
    inputSchema: t.field({
      type: 'JSON',
      ...jsonObject,
      required: true,
      description: 'JSON Schema of its input, which is an object.',
    }),
  }),
})

/** A tool entry as clients send it. */
export const agentToolInput = builder.inputType('AgentToolInput', {
  description: 'One entry of an agent’s tools: exactly one of these.',
  isOneOf: true,
  extensions: { tag: 'type', unknownTag: 'unknown_tool' },
  fields: (t) => ({
    agentToolset: t.field({
      type: builtInInput,
      description: 'Berth’s built-in tools for files, commands and the web, as Anthropic’s agents have them.',
      extensions: { word: 'agent_toolset_20260401' },
    }),
    berthToolset: t.field({
      type: builtInInput,
      description: 'The toolset of Berth.',
      extensions: { word: 'berth_toolset_v1' },
    }),
    mcpToolset: t.field({ type: ofServerInput, description: 'The tools of a tool server.' }),
    custom: t.field({ type: customInput, description: 'A custom tool, which the client runs.' }),
  }),
})
