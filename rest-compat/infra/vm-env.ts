/** Environment variables of VMs. Where the interface lists no 404, a VM that does not exist is answered 403. */
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
    operation: `query getVmEnv ($vm_id: ID!, $source: String) { body: vm(id: $vm_id) { env: envMap(source: $source) } }`,
  },
  'PATCH /api/v1/vms/{vm_id}/env': {
    status: 200,
    errors: [400],
    absentIs403,
    body,
    bodyInto: 'env',
    query: ['visibility'],
    summary: 'Sets variables and keeps the others',
    operation: `mutation setVmEnv ($input: SetVmEnvInput!) { body: setVmEnv(input: $input) { env warning } }`,
  },
  'PUT /api/v1/vms/{vm_id}/env': {
    status: 200,
    errors: [400],
    absentIs403,
    body,
    bodyInto: 'env',
    query: ['visibility'],
    summary: 'Sets exactly these variables',
    operation: `mutation replaceVmEnv ($input: ReplaceVmEnvInput!) { body: replaceVmEnv(input: $input) { env warning } }`,
  },
  'GET /api/v1/vms/{vm_id}/env/{key}': {
    status: 200,
    errors: [403, 404],
    absentIs403,
    summary: 'One variable',
    operation: `query getVmEnvVariable ($vm_id: ID!, $key: String!) { vm(id: $vm_id) { body: envVariable(key: $key) { key value visibility } } }`,
  },
  'DELETE /api/v1/vms/{vm_id}/env/{key}': {
    status: 200,
    errors: [404],
    summary: 'Deletes one variable',
    operation: `mutation deleteVmEnvVariable ($input: DeleteVmEnvVariableInput!) { body: deleteVmEnvVariable(input: $input) { env warning } }`,
  },
  'POST /api/v1/vms/{vm_id}/env/refresh-system': {
    status: 200,
    errors: [404, 500, 502, 503],
    summary: 'Brings the VM’s system code-hosting credentials up to date',
    operation: `mutation refreshVmSystemEnv ($input: RefreshVmSystemEnvInput!) { body: refreshVmSystemEnv(input: $input) { status warning } }`,
  },
  'POST /api/v1/vms/{vm_id}/env/sync-session': {
    status: 200,
    errors: [400, 401, 404, 500],
    summary: 'Writes the caller’s session into the VM',
    operation: `mutation syncVmSession ($input: SyncVmSessionInput!) { body: syncVmSession(input: $input) { status warning } }`,
  },
  'DELETE /api/v1/vms/{vm_id}/env/sync-session': {
    status: 200,
    errors: [401, 404, 500],
    summary: 'Removes the session from the VM',
    operation: `mutation removeVmSession ($input: RemoveVmSessionInput!) { body: removeVmSession(input: $input) { status warning } }`,
  },
}
