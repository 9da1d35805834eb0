/** An agent's rows, and their queries. Inside a definition keys are spelled as on the wire. */
import type { RawBuilder } from 'kysely'
import { ownedByCaller, type Scope } from '#src/platform/access.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Metadata } from '#src/platform/shapes/fields.ts'
import type { BuiltInToolset, PermissionPolicy } from '#src/resources/agents/built-in-tools.ts'

/** The settings of a tool in a toolset; `name` is the tool's name. */
export type ToolSetting = { enabled: boolean; permission_policy: PermissionPolicy }
export type ToolConfig = ToolSetting & { name: string } & WebRestrictions

/** The additional settings of web_fetch and web_search, as they were sent. Absent means unrestricted. */
export type WebRestrictions = { allowed_domains?: string[]; blocked_domains?: string[]; max_content_tokens?: number }

/** One entry of an agent's `tools`, with every default filled in. */
export type AgentTool =
  | { type: BuiltInToolset; default_config: ToolSetting; configs: ToolConfig[] }
  | { type: 'mcp_toolset'; mcp_server_name: string; default_config: ToolSetting; configs: ToolConfig[] }
  | { type: 'custom'; name: string; description: string; input_schema: Readonly<Record<string, unknown>> }

/** The model that an agent uses, and how. */
export type AgentModel = {
  id: string
  effort: 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null
  speed: 'standard' | 'fast'
}
/** A tool server that an agent connects to by its URL. */
export type McpServer = { type: 'url'; name: string; url: string }
/** A connector that an agent uses, by the catalog's id. */
export type McpService = { id: string; disabled_tools: string[] }
/** A skill that an agent has. Null means the latest version. */
export type AgentSkill = { type: 'anthropic' | 'custom'; skill_id: string; version: string | null }

/** The definition in a version of an agent. */
export type AgentDefinition = {
  name: string
  description: string | null
  model: AgentModel
  system: string | null
  tools: AgentTool[]
  mcp_servers: McpServer[]
  mcp_services: McpService[]
  skills: AgentSkill[]
  metadata: Metadata
}

/**
 * An agent in one of its versions; ids are uuids, times RFC 3339 text. `ownerUserId` null: the organization's. Its name is in the
 * definition; the column is only for finding it.
 */
export type Agent = Omit<Row<'agents', { definition: AgentDefinition }>, 'name'>

/** Queries for agents in their newest version. */
export const agentRows = rowsOf<Agent>('agent', 'agents', 'agent', sql`*`, ['definition'])

/** The columns of an Agent: version `v` of agent `a`. */
export const versionColumns = sql`a.id, a.organization_id, a.owner_user_id, v.version, v.definition, a.created_at, v.created_at as updated_at, a.archived_at`

/** One version of an agent, without a check of who may read it. */
export async function findAgentVersion(db: Db, id: string, version: number): Promise<Agent | undefined> {
  return findOne<Agent>(
    db,
    sql`select ${versionColumns} from agents a join agent_versions v on v.agent_id = a.id where a.id = ${id} and v.version = ${version}`,
  )
}

/** Whether an agent is this person's own, so that nobody else changes it. */
export async function isAgentOf(db: Db, id: string, userId: string | null): Promise<boolean> {
  const own = await findOne(db, sql`select 1 from agents where id = ${id} and owner_user_id = ${userId}`)
  return own !== undefined
}

/** Whether the newest version of `agents` is one that the token inside a VM wrote, or that was made from such a one. */
export const isByVmToken = sql<boolean>`exists (
  select from agent_versions v where v.agent_id = agents.id and v.version = agents.version and v.by_vm_token)`

/** The same of one version of an agent. */
export async function isVersionByVmToken(db: Db, agentId: string, version: number): Promise<boolean> {
  return (
    (await findOne(
      db,
      sql`select 1 from agent_versions where agent_id = ${agentId} and version = ${version} and by_vm_token`,
    )) !== undefined
  )
}

/**
 * The caller's agent in its newest version.
 * @param lock `for key share`, `for no key update` or `for update` to lock it.
 * @throws BerthError not_found.
 */
export async function readAgent(
  db: Db,
  scope: Scope,
  publicId: string,
  lock: RawBuilder<unknown> = sql``,
): Promise<Agent> {
  return agentRows.read(db, publicId, ownedByCaller(scope), lock)
}
