/** Proxy entries, and addresses of previews. */
import { proxyLimits } from '#src/platform/limits/proxies.ts'
import type { Routes } from '../routes.ts'

/** Proxy entries. */
export const proxyRoutes: Routes = {
  'POST /api/v1/proxies': {
    status: 201,
    errors: [400, 401, 404, 500],
    summary: 'Opens a port of a VM under a host name',
    operation: `mutation createProxy ($input: CreateProxyInput!) { createProxy(input: $input) { body: proxy {
      id service_name: serviceName vm_id: vmId deployment_type: deploymentType external_url: externalUrl vm_port: vmPort } } }`,
  },
  'GET /api/v1/proxies/vm/{vm_id}': {
    status: 200,
    errors: [400, 401, 404],
    summary: 'The proxy entries of a VM, newest first',
    list: { shape: 'rows', most: proxyLimits.perVm, usual: proxyLimits.perVm, at: 'services', key: 'services' },
    operation: `query listProxiesOfVm ($vm_id: ID!, $first: Int) { body: vm(id: $vm_id) { vm_id: id services: proxies(first: $first) {
      nodes { id service_name: serviceName external_url: externalUrl } } } }`,
  },
  'DELETE /api/v1/proxies/{id}': {
    status: 204,
    errors: [400, 401, 404, 500],
    summary: 'Removes a proxy entry and its route',
    operation: `mutation deleteProxy ($input: DeleteProxyInput!) { deleteProxy(input: $input) { deletedId } }`,
  },
  'GET /api/v1/vms/{vm_id}/preview-url': {
    status: 200,
    errors: [400, 401, 404],
    additive: true,
    summary: 'An address at which whoever has it sees a web server on a port of the VM, until it expires',
    operation: `query getVmPreviewUrl ($vm_id: ID!, $port: Int!, $ttl_seconds: Int) { body: vm(id: $vm_id) {
      preview_url: previewUrl(port: $port, ttlSeconds: $ttl_seconds) } }`,
  },
}
