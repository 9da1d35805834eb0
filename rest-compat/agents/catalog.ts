/** agents-and-gateway.md "Catalog and webhook": the tools that agents may be given, and the models, which are the gateway's own. */
import { modelRoutes } from '../llm/models.ts'
import type { Route, Routes } from '../routes.ts'

/** A model's route as this service has it: organization keys open definitions of agents here, and nothing else. */
function forPeople(key: string): Routes {
  const route = modelRoutes[key]
  if (!route) throw new Error(`the gateway has no ${key}`)
  return { [key]: { ...route, peopleOnly: true } satisfies Route }
}

/** Built-in tools and models. */
export const catalogRoutes: Routes = {
  'GET /v1/tools': {
    status: 200, errors: [], summary: 'The built-in tools that agents may be given',
    operation: `query { data: builtInTools { type name toolset description input_schema: inputSchema requires_environment: requiresEnvironment default_permission_policy: defaultPermissionPolicy { type } } }`,
  },
  ...forPeople('GET /v1/models'),
  ...forPeople('GET /v1/models/{model}'),
}
