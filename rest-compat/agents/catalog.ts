/** The catalog: built-in tools for agents, and the models, which are the gateway's routes. */
import { modelRoutes } from '../llm/models.ts'
import type { Routes } from '../routes.ts'

/** Built-in tools and models. */
export const catalogRoutes: Routes = {
  'GET /v1/tools': {
    status: 200,
    errors: [],
    summary: 'The built-in tools that agents may have',
    operation: `query listTools { data: builtInTools { type name toolset description input_schema: inputSchema requires_environment: isEnvironmentRequired default_permission_policy: defaultPermissionPolicy { type } } }`,
  },
  ...modelRoutes,
}
