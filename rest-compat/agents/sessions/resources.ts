/** What is put into the VMs of sessions, over REST. */
import { limits } from '#src/platform/limits.ts'
import { pageInfo } from '../../lists.ts'
import type { Routes } from '../../routes.ts'

const times = 'created_at: createdAt updated_at: updatedAt'
/** What documents select of a resource. */
export const resourceParts = `{ ... on SessionFile { id type file_id: fileId mount_path: mountPath ${times} }
  ... on SessionRepository { id type url checkout { ... on BranchCheckout { type name } ... on CommitCheckout { type sha } } mount_path: mountPath ${times} } }`
const into = { id: 'sessionId', rid: 'id' }

/** The resources of sessions. */
export const sessionResourceRoutes: Routes = {
  'GET /v1/sessions/{id}/resources': {
    status: 200,
    errors: [400, 404],
    additive: true,
    summary: 'A session’s resources, in the order in which they were added',
    list: { shape: 'page', most: limits.agentsListMax, usual: limits.agentsListMax },
    operation: `query listSessionResources ($id: ID!, $first: Int, $after: String) {
      body: sessionResources(sessionId: $id, first: $first, after: $after) { nodes ${resourceParts} ${pageInfo} } }`,
  },
  'POST /v1/sessions/{id}/resources': {
    status: 200,
    errors: [400, 404, 409],
    additive: true,
    summary: 'Adds a resource to a session; it is in the VM from the agent’s next command on',
    into: { id: 'sessionId' },
    operation: `mutation addSessionResource ($input: AddSessionResourceInput!) {
      addSessionResource(input: $input) { body: sessionResource ${resourceParts} } }`,
  },
  'GET /v1/sessions/{id}/resources/{rid}': {
    status: 200,
    errors: [404],
    additive: true,
    summary: 'One resource of a session',
    operation: `query getSessionResource ($id: ID!, $rid: ID!) { body: sessionResource(sessionId: $id, id: $rid) ${resourceParts} }`,
  },
  'POST /v1/sessions/{id}/resources/{rid}': {
    status: 200,
    errors: [400, 404, 409],
    additive: true,
    summary: 'Replaces the token of a repository, from git’s next request on',
    into,
    operation: `mutation updateSessionResource ($input: UpdateSessionResourceInput!) {
      updateSessionResource(input: $input) { body: sessionResource ${resourceParts} } }`,
  },
  'DELETE /v1/sessions/{id}/resources/{rid}': {
    status: 204,
    errors: [404, 409],
    additive: true,
    deletes: 'session_resource',
    summary: 'Deletes a resource of a session; what is in a VM already stays there',
    into,
    operation: `mutation deleteSessionResource ($input: RemoveSessionResourceInput!) { removeSessionResource(input: $input) { deletedId } }`,
  },
}
