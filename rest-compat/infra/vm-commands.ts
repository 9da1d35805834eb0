/** Commands in a VM, and its background processes. */
import type { Routes } from '../routes.ts'

const processFields =
  'process { process_id: id vm_id: vmId command status exit_code: exitCode started_at: startedAt finished_at: finishedAt } stdout stderr'

/** Commands and background processes of a VM. */
export const vmCommandRoutes: Routes = {
  'POST /api/v1/vms/{vm_id}/envd/exec': {
    status: 200,
    errors: [400, 401, 403, 404, 429, 502, 504],
    summary: 'Runs a command in the VM',
    operation: `mutation execInVm ($input: ExecInVmInput!) { execInVm(input: $input) { body: result {
      stdout stderr exit_code: exitCode duration timeout: hasTimedOut background: isBackground process_id: processId error } } }`,
  },
  'GET /api/v1/vms/{vm_id}/envd/processes': {
    status: 200,
    errors: [401, 404],
    additive: true,
    summary: 'The VM’s background processes of the last 24 hours',
    operation: `query listVmProcesses ($vm_id: ID!) { body: vmProcesses(vmId: $vm_id, first: 200) {
      processes: nodes { process_id: id command status exit_code: exitCode started_at: startedAt finished_at: finishedAt } } }`,
  },
  'GET /api/v1/vms/{vm_id}/envd/processes/{process_id}': {
    status: 200,
    errors: [401, 404, 502],
    additive: true,
    summary: 'One background process with its output',
    operation: `query getVmProcess ($vm_id: ID!, $process_id: ID!) { body: vmProcess(vmId: $vm_id, processId: $process_id) { ${processFields} } }`,
  },
  'POST /api/v1/vms/{vm_id}/envd/processes/{process_id}/kill': {
    status: 200,
    errors: [400, 401, 404, 502],
    additive: true,
    summary: 'Sends a signal to a background process and everything it started',
    operation: `mutation killVmProcess ($input: KillVmProcessInput!) { killVmProcess(input: $input) { body: output { ${processFields} } } }`,
  },
  'GET /api/v1/vms/{vm_id}/envd/processes/{process_id}/stream': {
    status: 200,
    errors: [401, 404],
    additive: true,
    cursor: 'after',
    tokenInQuery: true,
    summary: 'The output of a background process, live',
    operation: `subscription followVmProcess ($vm_id: ID!, $process_id: ID!, $after: String) {
      body: vmProcessOutputEvents(vmId: $vm_id, processId: $process_id, after: $after) { ... on ProcessOutputEvent { id: cursor stream output: text done: hasEnded exit_code: exitCode } } }`,
  },
}
