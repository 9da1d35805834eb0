/** Every path of agents-and-gateway.md that the agents service has, by noun; they are mounted at /agents. */
import type { Routes } from '../routes.ts'
import { agentRoutes } from './agents.ts'
import { catalogRoutes } from './catalog.ts'
import { environmentRoutes } from './environments.ts'
import { credentialRoutes } from './credentials.ts'
import { runRoutes } from './runs.ts'
import { sessionRoutes } from './sessions.ts'
import { vaultRoutes } from './vaults.ts'

/** All that an organization key opens (agents-and-gateway.md, Authentication 4). Ours: not the additive POST beside PATCH, since the list is closed. */
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
  ...runRoutes,
}

/** The routes of the agents service's surface. */
export const agentsRoutes: Routes = Object.fromEntries(
  Object.entries(routes).map(([key, route]) => [key, forKeys.includes(key) ? route : { ...route, peopleOnly: true }]),
)
