/** Custom domains in GraphQL; schema/infra/domain-changes.ts has what changes them. */
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { organizationOf } from '../nouns.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { connectionOf, newestFirst, pageArguments, pageArgumentsUpTo, type OrderGiven } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { instructionsFor, recordsOf, txtNameOf, txtValueOf } from '#src/resources/infra/domains/records.ts'
import type { Domain, DomainStatus } from '#src/resources/infra/domains/rows.ts'
import {
  findDomains,
  getDomain,
  pageDomains,
  pageDomainsOfEach,
  pageDomainsOfFunctions,
} from '#src/resources/infra/domains/lists.ts'
import { messageOf } from '#src/resources/infra/domains.ts'
import { externalUrl } from '#src/resources/infra/routes/urls.ts'
import { domainRecord } from './domains/records.ts'
import { certificateOfDomain, certificateType } from './certificates.ts'
import { functionType } from './functions.ts'
import { vmType } from './vms.ts'
import { forRest } from '../rest-fields.ts'

/** How far a domain is. */
export const domainStatus = enumOf('DomainStatus', 'How far a domain is.', {
  pending: 'Its DNS records are not all there yet.',
  verified: 'They were; `activateDomain` lets it serve.',
  active: 'It serves what it is linked to.',
  failed:
    '`statusReason` says why. Claim it again with `createDomain` to have it checked anew, or activate it once its records are right.',
} satisfies Record<DomainStatus, string>)

const targetType = enumOf('DomainTargetType', 'What a domain leads to.', {
  vm: 'A port of a VM.',
  serverless: 'A function.',
})

const vmPortTarget = builder.objectRef<Domain>('DomainVmPort').implement({
  description: 'A port of a VM.',
  fields: (t) => ({
    ...linkTo(t, 'vm', { type: vmType, nullable: true, description: 'The VM.', id: ({ vmId }) => vmId }),
    port: t.int({ description: 'The port on which a server listens in it.', resolve: ({ vmPort }) => vmPort ?? 0 }),
  }),
})

const functionTarget = builder.objectRef<Domain>('DomainFunction').implement({
  description: 'A function.',
  fields: (t) => ({
    ...linkTo(t, 'function', {
      type: functionType,
      nullable: true,
      description: 'The function.',
      id: ({ functionId }) => functionId,
    }),
  }),
})

const domainTarget = builder.unionType('DomainTarget', {
  description: 'What a domain leads to.',
  types: [vmPortTarget, functionTarget],
  resolveType: (domain) => ((domain as Domain).functionId === null ? vmPortTarget : functionTarget), // both are made of a domain
})

/** A custom domain. */
export const domainType = nodeOf('Domain', findDomains)

builder.objectType(domainType, {
  description:
    'A domain of your own that leads to a port of a VM or to a function. It is proved by DNS records, which Berth checks by itself while it is `PENDING`, and hourly afterwards.',
  fields: (t) => ({
    name: t.exposeString('name', {
      description: 'The name in lower case and as ASCII labels; `*.` before it: all names one level below.',
    }),
    path: t.exposeString('path', { description: 'The path below which it serves.' }),
    status: t.field({ type: domainStatus, description: 'How far it is.', resolve: ({ status }) => status }),
    statusReason: t.exposeString('statusReason', {
      nullable: true,
      description: 'Why it has failed, and what to do; null for one that has not.',
    }),
    ...organizationOf(t, 'The organization that claimed it.'),
    ...linkTo(t, 'createdBy', {
      type: userType,
      nullable: true,
      description: 'Who claimed it.',
      id: (domain) => domain.userId,
    }),
    verifyOwnership: t.exposeBoolean('verifyOwnership', { description: 'Whether its DNS must prove it: always true.' }),
    verificationToken: t.exposeString('verificationToken', {
      description: 'What the value of the TXT record ends with.',
    }),
    txtRecordName: t.string({
      description: 'The name of the TXT record.',
      resolve: (domain, _, { config }) => txtNameOf(config, domain),
    }),
    txtRecordValue: t.string({
      description: 'What the TXT record must say.',
      resolve: (domain, _, { config }) => txtValueOf(config, domain),
    }),
    aRecordIp: t.string({
      description: 'What the A record must say.',
      resolve: (_domain, _, { config }) => config.ingressIpv4,
    }),
    instructions: t.string({
      description: 'Which DNS records to add, as a text for people.',
      resolve: (domain, _, { config }) => instructionsFor(config, domain),
    }),
    records: t.field({
      type: [domainRecord],
      description: 'The DNS records that it needs, each with what the last check saw.',
      resolve: (domain, _, { config }) => recordsOf(config, domain),
    }),
    target: t.field({
      type: domainTarget,
      nullable: true,
      description: 'What it leads to; null while it is not linked.',
      resolve: (domain) => (domain.serviceId === null ? null : domain),
    }),
    ...linkTo(t, 'vm', {
      type: vmType,
      nullable: true,
      description: 'The VM that it leads to.',
      id: ({ vmId }) => vmId,
    }),
    ...flatTarget(t),
    externalUrl: t.string({
      description: 'Where it is reached: by HTTPS, with the edge’s port unless that is 443.',
      resolve: ({ name, path }, _, { config }) => externalUrl(config, name, path),
    }),
    message: t.string({ description: 'How far it is, as a sentence.', resolve: messageOf }),
    certificate: t.field({
      type: certificateType,
      nullable: true,
      description: 'Its certificate for HTTPS; null until its DNS records are there.',
      resolve: ({ id }, _, call) => certificateOfDomain(call, id),
    }),
    checkedAt: t.expose('checkedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its records were last checked.',
    }),
    nextCheckAt: t.expose('nextCheckAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When they are checked next; null once it has failed.',
    }),
    lostAt: t.expose('lostAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when the name of a proved domain has not led here; after seven days it has failed.',
    }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `domainEvents` to follow what happens from here on.',
      resolve: (domain) => String(domain.eventPosition),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was claimed.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
    verifiedAt: t.expose('verifiedAt', { type: 'DateTime', nullable: true, description: 'When it was last proved.' }),
    activatedAt: t.expose('activatedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last activated.',
    }),
  }),
})

/** The target as REST shows it, in fields beside each other. */
function flatTarget(t: PothosSchemaTypes.ObjectFieldBuilder<(typeof builder)['$inferSchemaTypes'], Domain>) {
  return {
    vmPort: t.exposeInt('vmPort', { nullable: true, description: 'The port of the VM that it leads to.' }),
    ...linkTo(t, 'function', {
      type: functionType,
      nullable: true,
      description: 'The function that it leads to.',
      id: ({ functionId }) => functionId,
    }),
    serviceId: t.id({
      nullable: true,
      description: '`svc_` and 26 characters: this link, another one each time that it is linked to something else.',
      resolve: ({ serviceId }) => serviceId && encodeId('service', serviceId),
    }),
    targetType: t.field({
      type: targetType,
      nullable: true,
      description: 'What kind of target it has.',
      resolve: ({ functionId, vmId }) => (functionId !== null ? 'serverless' : vmId === null ? null : 'vm'),
    }),
  }
}

const domainConnection = connectionOf('Domain', domainType)
const domainFilter = builder.inputType('DomainFilter', {
  description: 'Narrows a list of domains.',
  fields: (t) => ({
    statuses: t.field({ type: [domainStatus], description: 'Only those with one of these statuses.' }),
  }),
})
const listArguments = builder.args((t) => ({
  filter: t.field({ type: domainFilter, description: 'Narrows the list.' }),
  order: t.field(newestFirst),
}))
const domainArguments = {
  ...pageArgumentsUpTo(limits.infraListMax),
  ...listArguments,
  ...builder.args((t) => ({
    offset: t.int({ description: 'How many to skip.', ...forRest }),
  })),
}
builder.queryFields((t) => ({
  domain: t.field({
    type: domainType,
    description: 'One domain. Errors: INVALID_DOMAIN, NOT_FOUND, FORBIDDEN.',
    args: { id: t.arg.id({ required: true, description: 'Its name or its id.' }) },
    resolve: (_, { id }, call) => getDomain(call, id),
  }),
  domains: t.field({
    type: domainConnection,
    description: 'The active organization’s domains, newest first.',
    args: domainArguments,
    resolve: (_, { filter, order, ...window }, call) => pageDomains(call, window, filter, order),
  }),
}))
type DomainsGiven = Parameters<typeof pageDomains>[1] & OrderGiven & { filter?: Parameters<typeof pageDomains>[2] }
const domainsOf = listOfOrganizations((call, { filter, order, ...window }: DomainsGiven) =>
  pageDomains(call, window, filter, order),
)
builder.objectField(organizationType, 'domains', (t) =>
  t.field({
    type: domainConnection,
    nullable: true,
    description: 'Its domains, newest first.',
    args: domainArguments,
    resolve: ({ id }, given, call) => domainsOf(call, id, given),
  }),
)

type OfTargetGiven = Parameters<typeof pageDomainsOfEach>[2] &
  OrderGiven & { filter?: Parameters<typeof pageDomains>[2] }
const domainsOfVms = pagesOfEach((call, ids, { filter, order, ...window }: OfTargetGiven) =>
  pageDomainsOfEach(call, ids, window, filter, order),
)
builder.objectField(vmType, 'domains', (t) =>
  t.field({
    type: domainConnection,
    nullable: true,
    description: 'The domains that lead to it, newest first.',
    args: { ...pageArguments, ...listArguments },
    resolve: ({ id }, given, call) => domainsOfVms(call, id, given),
  }),
)

const domainsOfFunctions = pagesOfEach((call, ids, { filter, order, ...window }: OfTargetGiven) =>
  pageDomainsOfFunctions(call, ids, window, filter, order),
)
builder.objectField(functionType, 'domains', (t) =>
  t.field({
    type: domainConnection,
    nullable: true,
    description: 'The domains that lead to it, newest first.',
    args: { ...pageArguments, ...listArguments },
    resolve: ({ id }, given, call) => domainsOfFunctions(call, id, given),
  }),
)
