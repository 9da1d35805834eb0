/** What changes custom domains in GraphQL. */
import type { InputFieldBuilder } from '@pothos/core'
import { builder } from '../builder.ts'
import { mutationOf } from '../mutations.ts'
import { encodeId } from '#src/platform/ids.ts'
import {
  activateDomain,
  checkDomain,
  createDomain,
  deleteDomain,
  linkDomain,
  unlinkDomain,
} from '#src/resources/infra/domains.ts'
import { domainType } from './domains.ts'

type Types = (typeof builder)['$inferSchemaTypes']

const domain = { field: 'domain', type: domainType }
const which = (t: InputFieldBuilder<Types, 'InputObject'>) => ({
  domain: t.id({ required: true, description: 'Its name or its id.' }),
})
const path = 'The path below which it serves, such as `/api`; `/` by default.'

mutationOf(
  'createDomain',
  domain,
  'Claims a domain, and says which DNS records prove it. One that the organization has claimed stays as it is, with its token; one that failed is checked again. Requires the admin role. Errors: INVALID_DOMAIN, INVALID_TARGET, INVALID_REQUEST, RATE_LIMITED.',
  (t) => ({
    domain: t.string({
      required: true,
      description: 'The name, such as `shop.example.com`; with `*.` before it, all names one level below.',
    }),
    organizationId: t.id({ description: 'An organization that the caller belongs to; by default the active one.' }),
    path: t.string({ description: path }),
    vmId: t.id({ description: 'Links it to this VM at once; goes with `vmPort`.' }),
    vmPort: t.int({ description: 'The port on which a server listens in the VM, 1 to 65535.' }),
    verifyOwnership: t.boolean({ description: 'Whether its DNS must prove it. Only `true` is taken.' }),
  }),
  (call, input) => createDomain(call, input),
)
mutationOf(
  'activateDomain',
  domain,
  'Checks the DNS records of a domain now, waits up to 20 s for its certificate, and lets it serve. Requires the admin role. Errors: DNS_NOT_VERIFIED with what was seen, INVALID_DOMAIN, NOT_FOUND, FORBIDDEN, RATE_LIMITED.',
  which,
  (call, input) => activateDomain(call, input.domain),
)
mutationOf(
  'checkDomain',
  domain,
  'Checks the DNS records of a domain now; `records` says what was seen. Requires the admin role. Errors: INVALID_DOMAIN, NOT_FOUND, FORBIDDEN, RATE_LIMITED.',
  which,
  (call, input) => checkDomain(call, input.domain),
)
mutationOf(
  'linkDomain',
  domain,
  'Links a domain to a port of a VM or to a function. Unlink one that is linked to something else first. Requires the admin role. Errors: INVALID_TARGET, INVALID_DOMAIN, INVALID_REQUEST, NOT_FOUND, FORBIDDEN, DOMAIN_ALREADY_LINKED.',
  (t) => ({
    ...which(t),
    functionId: t.id({ description: 'The function. Give either this, or `vmId` and `vmPort`.' }),
    vmId: t.id({ description: 'The VM; goes with `vmPort`.' }),
    vmPort: t.int({ description: 'The port on which a server listens in the VM, 1 to 65535.' }),
    path: t.string({ description: 'The path below which it serves from now on, such as `/api`.' }),
  }),
  (call, { domain: given, ...link }) => linkDomain(call, given, link),
)
mutationOf(
  'unlinkDomain',
  domain,
  'Unlinks a domain; one that is not linked stays as it is. Requires the admin role. Errors: INVALID_DOMAIN, NOT_FOUND, FORBIDDEN.',
  which,
  (call, input) => unlinkDomain(call, input.domain),
)

builder.relayMutationField(
  'deleteDomain',
  { description: 'What `deleteDomain` takes.', inputFields: which },
  {
    description:
      'Deletes a domain and its route. Whoever claims its name afterwards gets a new token. Requires the admin role. Errors: INVALID_DOMAIN, NOT_FOUND, FORBIDDEN.',
    resolve: async (_, { input }, call) => ({ deletedId: (await deleteDomain(call, input.domain)).id }),
  },
  {
    description: 'What `deleteDomain` answers.',
    outputFields: (t) => ({
      deletedId: t.id({
        description: 'The id of the deleted object.',
        resolve: ({ deletedId }) => encodeId('domain', deletedId),
      }),
    }),
  },
)
