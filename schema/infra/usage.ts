/** Usage in GraphQL. */
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { linkTo } from '../nodes.ts'
import { connectionOf, pageArgumentsUpTo } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { pageUsage, type EndReason, type UsageSession } from '#src/resources/infra/usage.ts'
import { listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { buildType } from './builds.ts'
import { vmType } from './vms.ts'
import { forRest } from '../rest-fields.ts'

const moneyDecimals = 9

const endReason = enumOf('UsageEndReason', 'Why a VM stopped running.', {
  request: 'A user stopped it.',
  timeout: 'Its time to live ended.',
  guest_exit: 'It shut itself down, or the commands of its build ended.',
  error: 'It failed.',
  orphaned: 'Its machine was lost.',
  admin: 'The operator stopped it.',
  billing: 'The organization had not paid.',
} satisfies Record<EndReason, string>)

const usageSession = builder.objectRef<UsageSession>('UsageSession').implement({
  description: 'A period during which a VM, or the VM of a build, was running. Money is in US dollars.',
  fields: (t) => ({
    id: t.id({ description: 'Its number.', resolve: ({ id }) => String(id) }),
    number: t.expose('id', { type: 'BigInt', description: 'Its number.', ...forRest }),
    vmId: t.id({ description: 'The VM.', resolve: (session) => encodeId('vm', session.vmId) }),
    vm: t.field({
      type: vmType,
      nullable: true,
      description: 'The VM; null once it is deleted, and for the VM of a build.',
      resolve: (session) => (session.buildId === null ? session.vmId : null),
    }),
    ...linkTo(t, 'build', {
      type: buildType,
      nullable: true,
      description: 'The build whose VM it was; null for any other VM.',
      id: ({ buildId }) => buildId,
    }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it began.' }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ended; null while it is running.',
    }),
    endReason: t.field({
      type: endReason,
      nullable: true,
      description: 'Why it ended; null while it is running.',
      resolve: (session) => session.endReason,
    }),
    vcpuCount: t.exposeInt('vcpuCount', { description: 'Virtual processors.' }),
    memoryMb: t.exposeInt('memoryMb', { description: 'Memory in MB.' }),
    costPerHourUsd: t.field({
      type: 'Decimal',
      description: 'Price in US dollars per hour, fixed at the start.',
      resolve: (session) => session.costPerHour.toFixed(moneyDecimals),
    }),
    durationMinutes: t.exposeFloat('durationMinutes', {
      description: 'Minutes with two decimals; up to now while it is running.',
    }),
    totalCostBilledUsd: t.field({
      type: 'Decimal',
      description: 'US dollars; up to now while it is running.',
      resolve: (session) => session.totalCostBilled.toFixed(moneyDecimals),
    }),
    // REST shows numbers here, and compiled documents do not serialize leaves.
    costPerHourNumber: t.exposeFloat('costPerHour', { description: 'US dollars per hour, as a number.', ...forRest }),
    totalCostBilledNumber: t.exposeFloat('totalCostBilled', {
      description: 'US dollars, as a number; up to now while it is running.',
      ...forRest,
    }),
  }),
})

const usageConnection = connectionOf('UsageSession', usageSession)
const usageFilter = builder.inputType('UsageFilter', {
  description: 'Narrows a list of usage.',
  fields: (t) => ({
    since: t.field({ type: 'DateTime', description: 'Only what began at or after this moment.' }),
    until: t.field({ type: 'DateTime', description: 'Only what began before this moment.' }),
  }),
})
const usageArguments = {
  ...pageArgumentsUpTo(limits.usagePageMax),
  ...builder.args((t) => ({
    offset: t.int({ description: 'How many to skip.', ...forRest }),
    filter: t.field({ type: usageFilter, description: 'Which sessions.' }),
  })),
}

builder.queryFields((t) => ({
  usage: t.field({
    type: usageConnection,
    description: 'The active organization’s usage sessions, newest first. Not available to API keys.',
    args: usageArguments,
    resolve: (_, { filter, ...window }, call) => pageUsage(call, window, filter),
  }),
}))
type UsageGiven = Parameters<typeof pageUsage>[1] & { filter?: Parameters<typeof pageUsage>[2] }
const usageOf = listOfOrganizations((call, { filter, ...window }: UsageGiven) => pageUsage(call, window, filter))
builder.objectField(organizationType, 'usage', (t) =>
  t.field({
    type: usageConnection,
    nullable: true,
    description: 'The usage sessions of its VMs and builds, newest first. Not available to API keys.',
    args: usageArguments,
    resolve: ({ id }, given, call) => usageOf(call, id, given),
  }),
)
