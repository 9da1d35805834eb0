/** Environments over REST. */
import { usualRoutes } from '../nouns.ts'
import type { Routes } from '../routes.ts'

const networking = `... on UnrestrictedNetworking { type } ... on LimitedNetworking {
  type allowed_hosts: allowedHosts allow_package_managers: allowPackageManagers allow_mcp_servers: allowMcpServers }`
/** The configuration of an environment's VM as REST shows it. */
export const environmentConfigFields = `{ ... on SelfHostedEnvironmentConfig { type } ... on VmEnvironmentConfig {
    type template_id: templateId vcpu: vcpuCount memory_mb: memoryMb networking { ${networking} } packages { apt pip npm cargo gem go }
    git_repos: gitRepos { url branch path } setup_script: setupScript idle_timeout_seconds: idleTimeoutSeconds } }`
const environment = `id type name description config ${environmentConfigFields}
  metadata scope status status_reason: statusReason vm_id: vmId created_at: createdAt updated_at: updatedAt archived_at: archivedAt`

/** Environments. */
export const environmentRoutes: Routes = usualRoutes({
  path: '/v1/environments',
  type: 'Environment',
  one: 'an environment',
  fields: environment,
  archives: true,
  summaries: {
    list: 'The caller’s environments, newest first',
    create: 'Creates an environment; its VM is created at the first use',
    delete: 'Deletes an environment and its VM',
    archive: 'Archives an environment and deletes its VM',
  },
  conflicts: { create: [409], update: [409] },
  neverNull: ['name'],
  filter: { include_archived: 'includeArchived' },
  deletes: 'environment',
})
