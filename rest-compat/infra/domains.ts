/** Custom domains. */
import { limits } from '#src/platform/limits.ts'
import type { Routes } from '../routes.ts'

const domain =
  'id domain: name path function_id: functionId service_id: serviceId vm_id: vmId vm_port: vmPort owner_org_id: organizationId owner_user_id: createdById user_id: createdById verification_token: verificationToken verify_ownership: verifyOwnership target_type: targetType verification_status: status created_at: createdAt updated_at: updatedAt verified_at: verifiedAt'
const activated = 'domain: name external_url: externalUrl message service_id: serviceId verification_status: status'
const list = { shape: 'rows', most: limits.infraListMax, usual: limits.infraListMax, key: 'domains' } as const

/** Custom domains. */
export const domainRoutes: Routes = {
  'GET /api/v1/domains': {
    status: 200,
    errors: [401, 500],
    summary: 'The domains of the token’s organization, newest first',
    list,
    operation: `query listDomains ($first: Int, $offset: Int) { body: domains(first: $first, offset: $offset) { nodes { ${domain} } } }`,
  },
  'POST /api/v1/domains': {
    status: 200,
    errors: [400, 401],
    summary: 'Claims a domain, and says which DNS records prove it',
    operation: `mutation createDomain ($input: CreateDomainInput!) { createDomain(input: $input) { body: domain { ...ClaimedDomain } } }
      fragment ClaimedDomain on Domain { domain: name a_record_ip: aRecordIp txt_record_name: txtRecordName txt_record_value: txtRecordValue verification_token: verificationToken instructions verify_ownership: verifyOwnership }`,
  },
  'POST /api/v1/domains/activate': {
    status: 200,
    errors: [400, 401, 403, 404],
    summary: 'Checks the DNS records of a domain now, and lets it serve',
    operation: `mutation activateDomain ($input: ActivateDomainInput!) { activateDomain(input: $input) { body: domain { ...ActivatedDomain } } }
      fragment ActivatedDomain on Domain { ${activated} }`,
  },
  'GET /api/v1/domains/{domain}': {
    status: 200,
    errors: [400, 401, 403, 404, 500],
    summary: 'One domain, by its name or its id',
    operation: `query getDomain ($domain: ID!) { body: domain(id: $domain) { ...DomainStatusBody } }
      fragment DomainStatusBody on Domain { ${domain} a_record_ip: aRecordIp }`,
  },
  'DELETE /api/v1/domains/{domain}': {
    status: 204,
    errors: [400, 401, 403, 404],
    summary: 'Deletes a domain and its route',
    operation: `mutation deleteDomain ($input: DeleteDomainInput!) { deleteDomain(input: $input) { deletedId } }`,
  },
  'POST /api/v1/domains/{domain}/link': {
    status: 200,
    errors: [400, 401, 403, 404, 409],
    summary: 'Links a domain to a port of a VM or to a function',
    operation: `mutation linkDomain ($input: LinkDomainInput!) { linkDomain(input: $input) { body: domain { ...LinkedDomain } } }
      fragment LinkedDomain on Domain { ${activated} }`,
  },
  'DELETE /api/v1/domains/{domain}/link': {
    status: 204,
    errors: [400, 401, 403, 404],
    summary: 'Unlinks a domain; one that is not linked stays as it is',
    operation: `mutation unlinkDomain ($input: UnlinkDomainInput!) { unlinkDomain(input: $input) { domain { id } } }`,
  },
  'GET /api/v1/organizations/{org_id}/domains': {
    status: 200,
    errors: [401, 403, 500],
    summary: 'The domains of an organization, newest first',
    list,
    operation: `query listOrganizationDomains ($org_id: ID!, $first: Int, $offset: Int) { organization(id: $org_id) { body: domains(first: $first, offset: $offset) { nodes { ${domain} } } } }`,
  },
}
