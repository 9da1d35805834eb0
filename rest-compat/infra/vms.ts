/** VMs, and the event stream of one. */
import type { Route, Routes } from '../routes.ts'

const shortVm = 'vm_id: id status ip_address: ipAddress'

/** A path of ours that asks for another status: it answers at once, and the events tell when the status is reached. */
function statusRoute(verb: string, summary: string, more: readonly number[] = []): Route {
  const Verb = verb[0]?.toUpperCase() + verb.slice(1)
  return {
    status: 200,
    errors: [404, 409, ...more],
    additive: true,
    into: { vm_id: 'id' },
    summary,
    operation: `mutation ${verb}Vm ($input: ${Verb}VmInput!) { ${verb}Vm(input: $input) { body: vm { ...${Verb}Vm } } }
      fragment ${Verb}Vm on Vm { ${shortVm} desired_status: desiredStatus }`,
  }
}

/** VMs, sandboxes, and the events of one VM. */
export const vmRoutes: Routes = {
  'GET /api/v1/vms': {
    status: 200,
    errors: [401, 500],
    summary: 'The organization’s VMs, newest first',
    list: { shape: 'rows', most: 1000, usual: 1000 },
    operation: `query listVms ($first: Int, $offset: Int) { body: vms(first: $first, offset: $offset) { nodes { ${shortVm} } } }`,
  },
  'POST /api/v1/vms': {
    status: 201,
    errors: [400, 401, 500, 503],
    summary: 'Creates a VM; answers when it runs, or after 30 s with its current status',
    operation: `mutation createVm ($input: CreateVmInput!) { createVm(input: $input) { body: vm { ...CreatedVm } } }
      fragment CreatedVm on Vm { vm_id: id name status ip_address: ipAddress node_id: machineId user_id: createdById memory_mb: memoryMb vcpu_count: vcpuCount warnings }`,
  },
  'GET /api/v1/vms/external/{external_ref}': {
    status: 200,
    errors: [400, 401, 404],
    summary: 'The VM created with this external reference',
    operation: `query getVmByExternalRef ($external_ref: String!) { body: vmByExternalRef(externalRef: $external_ref) { ...VmByReference } }
      fragment VmByReference on Vm { vm_id: id status external_ref: externalRef }`,
  },
  'POST /api/v1/vms/sandbox': {
    status: 201,
    errors: [400, 401, 500, 503],
    summary: 'Runs code or a command once in a fresh VM, which is deleted after the ttl',
    operation: `mutation runSandbox ($input: RunSandboxInput!) { runSandbox(input: $input) { body: sandbox {
      vm { vm_id: id status } command { exit_code: exitCode stdout stderr } ttl: ttlSeconds } } }`,
  },
  'GET /api/v1/vms/{vm_id}': {
    status: 200,
    errors: [401, 404, 500],
    summary: 'One VM',
    operation: `query getVm ($vm_id: ID!) { body: vm(id: $vm_id) { ${shortVm} } }`,
  },
  'PATCH /api/v1/vms/{vm_id}': {
    status: 200,
    errors: [400, 404, 409, 503],
    additive: true,
    into: { vm_id: 'id' },
    summary:
      'Changes the name, the metadata, the network policy or the idle time of a VM, or the size of a stopped one',
    operation: `mutation updateVm ($input: UpdateVmInput!) { updateVm(input: $input) { body: vm { ...ChangedVm } } }
      fragment ChangedVm on Vm { ${shortVm} name metadata idle_seconds: idleSeconds idle_action: idleAction
        vcpu_count: vcpuCount memory_mb: memoryMb disk_mb: diskMb }`,
  },
  'POST /api/v1/vms/{vm_id}/start': statusRoute('start', 'Starts a stopped or failed VM from its disk', [503]),
  'POST /api/v1/vms/{vm_id}/stop': statusRoute('stop', 'Stops a running VM; its disk stays'),
  'POST /api/v1/vms/{vm_id}/pause': statusRoute('pause', 'Saves a running VM with its memory'),
  'POST /api/v1/vms/{vm_id}/resume': statusRoute('resume', 'Continues a paused VM where it was', [503]),
  'DELETE /api/v1/vms/{vm_id}': {
    status: 204,
    errors: [401, 404, 500],
    into: { vm_id: 'id' },
    summary: 'Deletes a VM and its disk; its folder stays',
    operation: `mutation deleteVm ($input: DeleteVmInput!) { deleteVm(input: $input) { deletedId } }`,
  },
  'GET /api/v1/vms/{vm_id}/events': {
    status: 200,
    errors: [401, 404],
    summary: 'The events of a VM, live',
    additive: true,
    cursor: 'after',
    tokenInQuery: true,
    operation: `subscription followVm ($vm_id: ID!, $after: String) { body: vmEvents(vmId: $vm_id, after: $after) { ... on VmEvent { id: cursor vm_id: vmId status status_reason: statusReason at } } }`,
  },
}
