/** Proxy entries and previews in GraphQL. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { deletionOf, mutationOf } from '../mutations.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { organizationOf } from '../nouns.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { proxyLimits } from '#src/platform/limits/proxies.ts'
import { previewUrl, previewUrlOf } from '#src/resources/infra/proxies/previews.ts'
import type { DeploymentType } from '#src/resources/infra/proxies/rows.ts'
import {
  createProxy,
  deleteProxy,
  findProxies,
  getProxy,
  pageProxies,
  pageProxiesOfEach,
} from '#src/resources/infra/proxies.ts'
import { externalUrl } from '#src/resources/infra/routes/urls.ts'
import { listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { vmType } from './vms.ts'

const deploymentType = enumOf('DeploymentType', 'What a proxy entry leads to, and who is let in.', {
  vm: 'A web server in the VM, for everybody.',
  preview: 'A web server in the VM, for those who have a token.',
  database:
    'A server in the VM that speaks TLS itself: connections are passed on as they are, by the name they ask for.',
} satisfies Record<DeploymentType, string>)

const ttlArgument = {
  description: `For how many seconds it works: 1 to ${proxyLimits.previewSecondsMax}, for a program that acts for a person ${proxyLimits.previewSecondsByProgram} at most; ${proxyLimits.previewSeconds} by default.`,
}

const proxyType = nodeOf('Proxy', findProxies)

builder.objectType(proxyType, {
  description: 'A proxy entry: a port of a VM under a host name, which the edge serves.',
  fields: (t) => ({
    serviceName: t.exposeString('serviceName', { description: 'Its name, unique among those of its VM.' }),
    ...organizationOf(t),
    ...linkTo(t, 'vm', { type: vmType, description: 'The VM that it leads to.', id: (proxy) => proxy.vmId }),
    ...linkTo(t, 'createdBy', {
      type: userType,
      nullable: true,
      description: 'Who made it; null for an API key.',
      id: (proxy) => proxy.userId,
    }),
    vmPort: t.exposeInt('vmPort', { description: 'The port in the VM.' }),
    deploymentType: t.field({
      type: deploymentType,
      description: 'What it leads to, and who is let in.',
      resolve: (proxy) => proxy.deploymentType,
    }),
    domain: t.exposeString('host', { description: 'Its host name: the one given, or the one made for it.' }),
    path: t.exposeString('path', { description: 'The path below which it serves; the longest one wins.' }),
    externalUrl: t.string({
      description: 'Where it is reached.',
      resolve: ({ host, path }, _, { config }) => externalUrl(config, host, path),
    }),
    wakeOnRequest: t.exposeBoolean('wakes', {
      description: 'Whether a request resumes its VM when its user has paused it.',
    }),
    previewUrl: t.string({
      nullable: true,
      description:
        'Its address with a token, for whoever has it; null for an entry that needs none. Requires the member role.',
      args: { ttlSeconds: t.arg.int(ttlArgument) },
      resolve: (proxy, given, call) => previewUrlOf(call, proxy, given),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

const proxyConnection = connectionOf('Proxy', proxyType)
const orderArguments = builder.args((t) => ({
  order: t.field(newestFirst),
}))
const proxyFilter = builder.inputType('ProxyFilter', {
  description: 'Narrows a list of proxy entries.',
  fields: (t) => ({ vmId: t.id({ description: 'Only those of this VM.' }) }),
})
const listArguments = {
  ...pageArguments,
  ...orderArguments,
  ...builder.args((t) => ({ filter: t.field({ type: proxyFilter, description: 'Narrows the list.' }) })),
}
type ProxiesGiven = Parameters<typeof pageProxies>[1] & OrderGiven & { filter?: Parameters<typeof pageProxies>[2] }
const proxiesOf = listOfOrganizations((call, { filter, order, ...window }: ProxiesGiven) =>
  pageProxies(call, window, filter, order),
)

builder.queryFields((t) => ({
  proxy: t.field({
    type: proxyType,
    description: 'One proxy entry. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getProxy(call, id),
  }),
  proxies: t.field({
    type: proxyConnection,
    description: 'The active organization’s proxy entries, newest first.',
    args: listArguments,
    resolve: (_, { filter, order, ...window }, call) => pageProxies(call, window, filter, order),
  }),
}))
builder.objectField(organizationType, 'proxies', (t) =>
  t.field({
    type: proxyConnection,
    nullable: true,
    description: 'Its proxy entries, newest first.',
    args: listArguments,
    resolve: ({ id }, given, call) => proxiesOf(call, id, given),
  }),
)

type OfVmGiven = Parameters<typeof pageProxiesOfEach>[2] & OrderGiven
const proxiesOfVms = pagesOfEach((call, ids, { order, ...window }: OfVmGiven) =>
  pageProxiesOfEach(call, ids, window, order),
)
builder.objectField(vmType, 'proxies', (t) =>
  t.field({
    type: proxyConnection,
    nullable: true,
    description: 'Its proxy entries, newest first. `vmEvents` tells when one is made or deleted.',
    args: { ...pageArguments, ...orderArguments },
    resolve: ({ id }, given, call) => proxiesOfVms(call, id, given),
  }),
)
builder.objectField(vmType, 'previewUrl', (t) =>
  t.string({
    nullable: true,
    description:
      'An address at which whoever has it sees a web server on a port of the VM, until it expires. Requires the member role. Errors: INVALID_REQUEST.',
    args: {
      port: t.arg.int({ required: true, description: 'The port in the VM, 1 to 65535.' }),
      ttlSeconds: t.arg.int(ttlArgument),
    },
    resolve: (vm, given, call) => previewUrl(call, vm, given),
  }),
)

mutationOf(
  'createProxy',
  { field: 'proxy', type: proxyType },
  'Opens a port of a VM under a host name. Errors: NOT_FOUND, INVALID_REQUEST, INVALID_DOMAIN, RATE_LIMITED.',
  (t) => ({
    serviceName: t.string({
      required: true,
      description:
        '1 to 63 lower-case letters, digits and hyphens, beginning with a letter; unique among those of the VM.',
    }),
    vmId: t.id({ required: true, description: 'The VM.' }),
    vmPort: t.int({ required: true, description: 'The port in the VM, 1 to 65535.' }),
    domain: t.string({
      description: `The host name: a domain that the organization has proved, or one name below the platform’s domain. By default it is made of the service’s name, which then has ${proxyLimits.generatedNameLength} characters at most, and the end of the VM’s id.`,
    }),
    path: t.string({ description: 'The path below which it serves, such as `/api`; `/` by default.' }),
    deploymentType: t.field({ type: deploymentType, description: 'What it leads to; `VM` by default.' }),
    wakeOnRequest: t.boolean({
      description:
        'Whether a request resumes the VM when its user has paused it; by default only those with a preview’s token do.',
    }),
  }),
  (call, order) => createProxy(call, order),
)
deletionOf('deleteProxy', 'Removes a proxy entry and its route. Errors: NOT_FOUND.', deleteProxy)
