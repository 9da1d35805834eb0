/** The tools of an agent in GraphQL: as they are shown, and as they are given. */
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import type { AgentTool, PermissionPolicy, ToolConfig, ToolSetting } from '#src/resources/agents/agents/rows.ts'

type BuiltIn = AgentTool & { type: 'agent_toolset_20260401' | 'berth_toolset_v1' }
type OfServer = AgentTool & { type: 'mcp_toolset' }
type Custom = AgentTool & { type: 'custom' }

const permissionPolicyType = enumOf('PermissionPolicyType', 'Whether a tool runs at once.', {
  always_allow: 'It runs at once.',
  always_ask: 'It waits for the user’s word.',
} satisfies Record<PermissionPolicy['type'], string>)

/** Whether a tool runs at once or waits. */
export const permissionPolicy = builder.objectRef<PermissionPolicy>('PermissionPolicy').implement({
  description: 'Whether a tool runs at once or waits for the user’s word.',
  fields: (t) => ({
    type: t.field({ type: permissionPolicyType, description: 'Which.', resolve: ({ type }) => type }),
  }),
})

const setting = builder.objectRef<ToolSetting>('ToolSetting').implement({
  description: 'What holds for a tool.',
  fields: (t) => ({
    enabled: t.exposeBoolean('enabled', { description: 'Whether the agent has it.' }),
    permissionPolicy: t.field({
      type: permissionPolicy,
      description: 'Whether it runs at once.',
      resolve: (one) => one.permission_policy,
    }),
  }),
})

const config = builder.objectRef<ToolConfig>('ToolConfig').implement({
  description: 'What holds for one tool of a toolset.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The tool.' }),
    enabled: t.exposeBoolean('enabled', { description: 'Whether the agent has it.' }),
    permissionPolicy: t.field({
      type: permissionPolicy,
      description: 'Whether it runs at once.',
      resolve: (one) => one.permission_policy,
    }),
    allowedDomains: t.exposeStringList('allowed_domains', {
      nullable: true,
      description: 'Of web tools: the only domains that it reaches; null where it is not restricted.',
    }),
    blockedDomains: t.exposeStringList('blocked_domains', {
      nullable: true,
      description: 'Of web tools: domains that it does not reach.',
    }),
    maxContentTokens: t.exposeInt('max_content_tokens', {
      nullable: true,
      description: 'Of `web_fetch`: how much of a page the model is told.',
    }),
  }),
})

const builtIn = builder.objectRef<BuiltIn>('BuiltInToolset').implement({
  description: 'Tools of Berth’s own.',
  isTypeOf: (value) => 'default_config' in (value as AgentTool) && !('mcp_server_name' in (value as AgentTool)),
  fields: (t) => ({
    name: t.exposeString('type', { description: '`agent_toolset_20260401` or `berth_toolset_v1`.' }),
    defaultConfig: t.field({
      type: setting,
      description: 'What holds for those that `configs` does not name.',
      resolve: (one) => one.default_config,
    }),
    configs: t.field({ type: [config], description: 'What holds for single tools.', resolve: (one) => one.configs }),
  }),
})

const ofServer = builder.objectRef<OfServer>('McpToolset').implement({
  description: 'The tools of a tool server.',
  isTypeOf: (value) => (value as AgentTool).type === 'mcp_toolset',
  fields: (t) => ({
    mcpServerName: t.exposeString('mcp_server_name', { description: 'One of the agent’s `mcpServers`.' }),
    defaultConfig: t.field({
      type: setting,
      description: 'What holds for those that `configs` does not name.',
      resolve: (one) => one.default_config,
    }),
    configs: t.field({ type: [config], description: 'What holds for single tools.', resolve: (one) => one.configs }),
  }),
})

const custom = builder.objectRef<Custom>('CustomTool').implement({
  description: 'A tool of the client’s: the client runs it, and answers with a result.',
  isTypeOf: (value) => (value as AgentTool).type === 'custom',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'What models call it.' }),
    description: t.exposeString('description', { description: 'What models are told of it.' }),
    inputSchema: t.field({
      type: 'JSON',
      description: 'JSON Schema of its input.',
      resolve: (one) => one.input_schema,
    }),
  }),
})

/** As it is shown. */
export const agentTool = builder.unionType('AgentTool', {
  description: 'One entry of an agent’s tools, with every default filled in.',
  types: [builtIn, ofServer, custom],
})

const permissionPolicyInput = builder.inputType('PermissionPolicyInput', {
  description: 'Whether a tool runs at once or waits for the user’s word.',
  fields: (t) => ({ type: t.field({ type: permissionPolicyType, required: true, description: 'Which.' }) }),
})

const settingInput = builder.inputType('ToolSettingInput', {
  description: 'What holds for the tools of a toolset that are not named.',
  fields: (t) => ({
    enabled: t.boolean({ description: 'Whether the agent has them; true without it.' }),
    permissionPolicy: t.field({ type: permissionPolicyInput, description: 'Whether they run at once.' }),
  }),
})

const configInput = builder.inputType('ToolConfigInput', {
  description: 'What holds for one tool of a toolset.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'The tool.' }),
    enabled: t.boolean({ description: 'Whether the agent has it; as the toolset says without it.' }),
    permissionPolicy: t.field({ type: permissionPolicyInput, description: 'As the toolset says without it.' }),
  }),
})

const builtInConfigInput = builder.inputType('BuiltInToolConfigInput', {
  description: 'What holds for one tool of Berth’s own.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'The tool.' }),
    type: t.string({ description: 'The same as its name, or left out.' }),
    enabled: t.boolean({ description: 'Whether the agent has it; as the toolset says without it.' }),
    permissionPolicy: t.field({ type: permissionPolicyInput, description: 'As the toolset says without it.' }),
    allowedDomains: t.stringList({ description: 'Of web tools: the only domains that it reaches.' }),
    blockedDomains: t.stringList({ description: 'Of web tools: domains that it does not reach.' }),
    maxContentTokens: t.int({ description: 'Of `web_fetch`: how much of a page the model is told.' }),
    urlSources: t.field({ type: 'Reserved', description: 'Name the domains in `allowedDomains` instead.' }),
    userLocation: t.field({ type: 'Reserved', description: 'The search engine is asked without a place.' }),
  }),
})

const builtInInput = builder.inputType('BuiltInToolsetInput', {
  description: 'Tools of Berth’s own.',
  fields: (t) => ({
    defaultConfig: t.field({ type: settingInput, description: 'What holds for those that `configs` does not name.' }),
    configs: t.field({ type: [builtInConfigInput], description: 'What holds for single tools.' }),
  }),
})

const ofServerInput = builder.inputType('McpToolsetInput', {
  description: 'The tools of a tool server.',
  fields: (t) => ({
    mcpServerName: t.string({ required: true, description: 'One of `mcpServers`.' }),
    defaultConfig: t.field({ type: settingInput, description: 'What holds for those that `configs` does not name.' }),
    configs: t.field({ type: [configInput], description: 'What holds for single tools.' }),
  }),
})

const customInput = builder.inputType('CustomToolInput', {
  description: 'A tool of the client’s.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'What models call it: letters, digits, `_` and `-`, 64 at most.' }),
    description: t.string({ required: true, description: 'What models are told of it.' }),
    inputSchema: t.field({ type: 'JSON', required: true, description: 'JSON Schema of its input, an object’s.' }),
  }),
})

/** As it is given. */
export const agentToolInput = builder.inputType('AgentToolInput', {
  description: 'One entry of an agent’s tools: one of them.',
  isOneOf: true,
  extensions: { tag: 'type', unknownTag: 'unknown_tool' },
  fields: (t) => ({
    agentToolset: t.field({
      type: builtInInput,
      description: 'Files, commands and the web, as Anthropic’s agents have them.',
      extensions: { word: 'agent_toolset_20260401' },
    }),
    berthToolset: t.field({
      type: builtInInput,
      description: 'Berth’s own.',
      extensions: { word: 'berth_toolset_v1' },
    }),
    mcpToolset: t.field({ type: ofServerInput, description: 'Those of a tool server.' }),
    custom: t.field({ type: customInput, description: 'One of the client’s own.' }),
  }),
})
