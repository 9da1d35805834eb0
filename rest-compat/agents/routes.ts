/** Every path of agents-and-gateway.md that the agents service has, by noun; they are mounted at /agents. */
import type { Routes } from '../routes.ts'
import { agentRoutes } from './agents.ts'
import { catalogRoutes } from './catalog.ts'
import { environmentRoutes } from './environments.ts'
import { credentialRoutes } from './credentials.ts'
import { runRoutes } from './runs.ts'
import { sessionRoutes } from './sessions.ts'
import { vaultRoutes } from './vaults.ts'

/** The routes of the agents service's surface. */
export const agentsRoutes: Routes = { ...agentRoutes, ...environmentRoutes, ...catalogRoutes, ...vaultRoutes, ...credentialRoutes, ...sessionRoutes, ...runRoutes }
