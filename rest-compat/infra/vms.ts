/** VMs, and the event stream of one. */
import type { Routes } from '../routes.ts'

/** VMs, sandboxes, and the events of one VM. */
export const vmRoutes: Routes = {
  'GET /api/v1/vms': {
    status: 200,
    errors: [401, 500],
    summary: 'The organization’s VMs, newest first',
    operation: `query ($limit: Int, $offset: Int) { body: vmList(limit: $limit, offset: $offset) { vm_id: id status ip_address: ipAddress } }`,
  },
  'POST /api/v1/vms': {
    status: 201,
    errors: [400, 401, 500, 503],
    summary: 'Makes a VM; answers once it runs, or after 30 s as it is',
    operation: `mutation ($name: String, $template_id: String, $vm_id: String, $env: TextMap, $folder_id: String, $skip_folder_create: Boolean,
      $git_repo_url: String, $git_branch: String, $git_repos: [GitRepoInput!], $external_ref: String, $vcpu_count: Int, $memory_mb: Int, $disk_mb: Int, $ttl_seconds: Int, $metadata: JSON, $network_policy: JSON) {
      body: createVm(name: $name, templateId: $template_id, vmId: $vm_id, env: $env, folderId: $folder_id, skipFolderCreate: $skip_folder_create,
        gitRepoUrl: $git_repo_url, gitBranch: $git_branch, gitRepos: $git_repos, externalRef: $external_ref,
        vcpuCount: $vcpu_count, memoryMb: $memory_mb, diskMb: $disk_mb, ttlSeconds: $ttl_seconds, metadata: $metadata, networkPolicy: $network_policy) {
        vm_id: id name status ip_address: ipAddress node_id: nodeId user_id: userId memory_mb: memoryMb vcpu_count: vcpuCount warnings } }`,
  },
  'GET /api/v1/vms/external/{external_ref}': {
    status: 200,
    errors: [400, 401, 404],
    summary: 'The VM made with this external reference',
    operation: `query ($external_ref: String!) { body: vmByExternalRef(externalRef: $external_ref) { vm_id: id status external_ref: externalRef } }`,
  },
  'POST /api/v1/vms/sandbox': {
    status: 201,
    errors: [400, 401, 500, 503],
    summary: 'Runs code or a command once in a fresh VM, which is deleted after the ttl',
    operation: `mutation ($language: String, $code: String, $command: String, $args: [String!], $timeout: Int, $ttl: Int) {
      body: runSandbox(language: $language, code: $code, command: $command, args: $args, timeout: $timeout, ttl: $ttl) {
        vm { vm_id: id status } command { exit_code: exitCode stdout stderr } ttl } }`,
  },
  'GET /api/v1/vms/{vm_id}': {
    status: 200,
    errors: [401, 404, 500],
    summary: 'One VM',
    operation: `query ($vm_id: ID!) { body: vm(id: $vm_id) { vm_id: id status ip_address: ipAddress } }`,
  },
  'DELETE /api/v1/vms/{vm_id}': {
    status: 204,
    errors: [401, 404, 500],
    summary: 'Deletes a VM and what belongs to it; its folder stays',
    operation: `mutation ($vm_id: ID!) { deleteVm(id: $vm_id) }`,
  },
  'GET /api/v1/vms/{vm_id}/events': {
    status: 200,
    errors: [401, 404],
    summary: 'What happens to a VM, as it happens',
    additive: true,
    cursor: 'after',
    tokenInQuery: true,
    operation: `subscription ($vm_id: ID!, $after: String) { body: vmEvents(id: $vm_id, after: $after) { ... on VmEvent { id: cursor vm_id: vmId status status_reason: statusReason at } } }`,
  },
}
