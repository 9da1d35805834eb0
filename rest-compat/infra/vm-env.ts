/** Environment variables of VMs. Where the interface lists no 404, a VM that is not there answers 403. */
import type { Routes } from '../routes.ts'

const absentIs403 = ['VM']
const body = { type: 'object', additionalProperties: { type: 'string' } }

/** A VM’s environment variables, system credentials and session. */
export const vmEnvRoutes: Routes = {
  'GET /api/v1/vms/{vm_id}/env': {
    status: 200,
    errors: [403],
    absentIs403,
    summary: 'The readable variables',
    operation: `query ($vm_id: ID!, $source: String) { env: vmEnv(vmId: $vm_id, source: $source) }`,
  },
  'PATCH /api/v1/vms/{vm_id}/env': {
    status: 200,
    errors: [400],
    absentIs403,
    body,
    query: ['visibility'],
    summary: 'Sets variables and keeps the others',
    operation: `mutation ($vm_id: ID!, $body: JSON!, $visibility: String) { body: setVmEnv(vmId: $vm_id, env: $body, visibility: $visibility) { env warning } }`,
  },
  'PUT /api/v1/vms/{vm_id}/env': {
    status: 200,
    errors: [400],
    absentIs403,
    body,
    query: ['visibility'],
    summary: 'Sets exactly these variables',
    operation: `mutation ($vm_id: ID!, $body: JSON!, $visibility: String) { body: replaceVmEnv(vmId: $vm_id, env: $body, visibility: $visibility) { env warning } }`,
  },
  'GET /api/v1/vms/{vm_id}/env/{key}': {
    status: 200,
    errors: [403, 404],
    absentIs403,
    summary: 'One variable',
    operation: `query ($vm_id: ID!, $key: String!) { body: vmEnvVariable(vmId: $vm_id, key: $key) { key value visibility } }`,
  },
  'DELETE /api/v1/vms/{vm_id}/env/{key}': {
    status: 200,
    errors: [404],
    summary: 'Deletes one variable',
    operation: `mutation ($vm_id: ID!, $key: String!) { body: deleteVmEnvVariable(vmId: $vm_id, key: $key) { env warning } }`,
  },
  'POST /api/v1/vms/{vm_id}/env/refresh-system': {
    status: 200,
    errors: [404, 500, 502, 503],
    summary: 'Brings the VM’s system code-hosting credentials up to date',
    operation: `mutation ($vm_id: ID!) { body: refreshVmSystemEnv(vmId: $vm_id) { status warning } }`,
  },
  'POST /api/v1/vms/{vm_id}/env/sync-session': {
    status: 200,
    errors: [400, 401, 404, 500],
    summary: 'Writes the caller’s session into the VM',
    operation: `mutation ($vm_id: ID!) { body: syncVmSession(vmId: $vm_id) { status warning } }`,
  },
  'DELETE /api/v1/vms/{vm_id}/env/sync-session': {
    status: 200,
    errors: [401, 404, 500],
    summary: 'Removes the session from the VM',
    operation: `mutation ($vm_id: ID!) { body: removeVmSession(vmId: $vm_id) { status warning } }`,
  },
}
