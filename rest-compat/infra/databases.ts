/** Databases, their projects, and the access of clients to them. */
import { limits } from '#src/platform/limits.ts'
import type { Routes } from '../routes.ts'

const database =
  'id name organization_id: organizationId function_id: functionId host pg_database: pgDatabase pg_user: pgUser status client_mode_enabled: isClientModeEnabled created_at: createdAt project_id: projectId network_name: networkName native_credential_generation: nativeCredentialGeneration'

/** Databases. */
export const databaseRoutes: Routes = {
  'GET /api/v1/databases': {
    status: 200,
    errors: [400, 401, 403, 500],
    summary: 'The databases of the token’s organization, newest first',
    list: { shape: 'rows', most: limits.infraListMax, usual: limits.infraListMax },
    operation: `query listDatabases ($org_id: ID!, $first: Int, $offset: Int) { body: databases(organizationId: $org_id, first: $first, offset: $offset) { nodes { ${database} } } }`,
  },
  'POST /api/v1/databases': {
    status: 201,
    errors: [400, 409, 500, 503],
    always: ['organization_id'],
    summary:
      'Creates a database; answers when it is active, or after 25 s with the status creating. The token is shown only this once; rotateDatabaseToken in GraphQL makes a new one',
    operation: `mutation createDatabase ($input: CreateDatabaseInput!) { createDatabase(input: $input) { body: credentials {
      id: databaseId name organization_id: organizationId host status client_mode_enabled: isClientModeEnabled token } } }`,
  },
  'GET /api/v1/databases/{db_id}': {
    status: 200,
    errors: [404, 500],
    summary: 'One database',
    operation: `query getDatabase ($db_id: ID!) { body: database(id: $db_id) { ${database} } }`,
  },
  'PATCH /api/v1/databases/{db_id}': {
    status: 200,
    errors: [400, 403, 404, 409],
    into: { db_id: 'id' },
    present: ['project_id'],
    summary:
      'Moves a database into a project, or with null out of its project; updateDatabase in GraphQL changes everything else',
    operation: `mutation moveDatabaseToProject ($input: MoveDatabaseToProjectInput!) { moveDatabaseToProject(input: $input) { body: database { ${database} } } }`,
  },
  'DELETE /api/v1/databases/{db_id}': {
    status: 200,
    errors: [404, 500],
    into: { db_id: 'id' },
    summary: 'Deletes a database; its data is kept for 7 days',
    operation: `mutation deleteDatabase ($input: DeleteDatabaseInput!) { body: deleteDatabase(input: $input) { message } }`,
  },
  'POST /api/v1/databases/{db_id}/client-access/enable': {
    status: 200,
    errors: [400, 404, 409, 500],
    into: { db_id: 'id' },
    summary: 'Lets clients in with a JWT or anonymously',
    operation: `mutation enableDatabaseClientAccess ($input: EnableDatabaseClientAccessInput!) { enableDatabaseClientAccess(input: $input) { body: database { ${database} } } }`,
  },
  'POST /api/v1/databases/{db_id}/client-access/disable': {
    status: 200,
    errors: [404, 409, 500],
    into: { db_id: 'id' },
    summary: 'Lets nobody in but with the token, and ends the sessions of clients',
    operation: `mutation disableDatabaseClientAccess ($input: DisableDatabaseClientAccessInput!) { disableDatabaseClientAccess(input: $input) { body: database { ${database} } } }`,
  },
}
