/** Every path of the agents service, by noun; they are mounted at /agents. */
import type { HandWritten, Routes } from '../routes.ts'
import { agentRoutes } from './agents.ts'
import { catalogRoutes } from './catalog.ts'
import { deploymentRoutes } from './deployments.ts'
import { environmentRoutes } from './environments.ts'
import { credentialRoutes } from './vaults/credentials.ts'
import { downloadFileRoute, fileRoutes, uploadFileRoute } from './files.ts'
import { groupRoutes } from './groups.ts'
import { clientDocumentRoute, connectorCallbackRoute } from './connector-pages.ts'
import { mcpServiceRoutes } from './mcp-services.ts'
import { groupStreamRoutes } from './group-streams.ts'
import { memoryRoutes } from './memories.ts'
import { peerAttachmentRoute, peerRoutes } from './peers.ts'
import { runRoutes } from './runs.ts'
import { scheduleRoutes } from './schedules.ts'
import { sessionRoutes } from './sessions.ts'
import { sessionResourceRoutes } from './sessions/resources.ts'
import { hookRoute } from './hooks.ts'
import { downloadSkillVersionRoute, skillRoutes, uploadSkillRoute, uploadSkillVersionRoute } from './skills.ts'
import { triggerRoutes } from './triggers.ts'
import { vaultRoutes } from './vaults.ts'

/**
 * Everything that an API key may call. The interface closes this list, so the POST that we added beside PATCH is not in
 * it.
 */
const forKeys: readonly string[] = [
  'GET /v1/agents',
  'POST /v1/agents',
  'GET /v1/agents/{id}',
  'PATCH /v1/agents/{id}',
  'GET /v1/agents/{id}/versions',
  'POST /v1/agents/{id}/archive',
]

const routes: Routes = {
  ...agentRoutes,
  ...environmentRoutes,
  ...catalogRoutes,
  ...vaultRoutes,
  ...credentialRoutes,
  ...sessionRoutes,
  ...sessionResourceRoutes,
  ...groupRoutes,
  ...mcpServiceRoutes,
  ...groupStreamRoutes,
  ...memoryRoutes,
  ...peerRoutes,
  ...runRoutes,
  ...fileRoutes,
  ...skillRoutes,
  ...deploymentRoutes,
  ...triggerRoutes,
  ...scheduleRoutes,
}

/** The routes of the agents service's surface. */
export const agentsRoutes: Routes = Object.fromEntries(
  Object.entries(routes).map(([key, route]) => [key, forKeys.includes(key) ? route : { ...route, peopleOnly: true }]),
)

/** Paths of the agents service that are answered by hand. */
export const agentsHandlers: Readonly<Record<string, HandWritten>> = {
  'POST /v1/files': uploadFileRoute,
  'GET /v1/files/{id}/content': downloadFileRoute,
  'GET /v1/peer-exchanges/{id}/attachment': peerAttachmentRoute,
  'POST /v1/skills': uploadSkillRoute,
  'POST /v1/skills/{id}/versions': uploadSkillVersionRoute,
  'GET /v1/skills/{id}/versions/{vid}/content': downloadSkillVersionRoute,
  'POST /v1/hooks/github': hookRoute,
  'GET /v1/mcp-services/callback/{id}': connectorCallbackRoute,
  'GET /v1/mcp-services/{id}/client.json': clientDocumentRoute,
}
