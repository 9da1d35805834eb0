/** Sums of what VMs and builds used, in GraphQL. */
import { daysArguments, organizationArguments } from '#schema/arguments.ts'
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import { organizationType } from '#schema/identity/organizations.ts'
import { findInTurn } from '#schema/large-reads.ts'
import { linkTo } from '#schema/nodes.ts'
import { encodeId } from '#src/platform/ids.ts'
import { sumLimits } from '#src/platform/shapes/sums.ts'
import {
  sumVmUsage,
  type VmTotals,
  type VmUsage,
  type VmUsageDimension,
  type VmUsageGroup,
} from '#src/resources/infra/usage/sums.ts'
import { buildType } from '../builds.ts'
import { vmType } from '../vms.ts'

const dimension = enumOf('VmUsageDimension', 'What sums are grouped by.', {
  day: 'By day, UTC. What ran over midnight counts on each day for its part.',
  vm: 'By VM, and by build for the VMs of builds.',
} satisfies Record<VmUsageDimension, string>)

const totals = builder.objectRef<VmTotals>('VmUsageTotals').implement({
  description: 'Sums of what VMs used; what still runs counts up to now.',
  fields: (t) => ({
    sessions: t.exposeInt('sessions', {
      description: 'How many usage sessions these are: one for each time that a VM ran.',
    }),
    hours: t.exposeFloat('hours', { description: 'Hours of running.' }),
    vcpuHours: t.exposeFloat('vcpuHours', { description: 'Hours of virtual processors.' }),
    memoryGbHours: t.exposeFloat('memoryGbHours', { description: 'Hours of memory, in units of 1024 MB.' }),
    costUsd: t.expose('costUsd', { type: 'Decimal', description: 'US dollars, six decimals.' }),
  }),
})
const group = builder.objectRef<VmUsageGroup>('VmUsageGroup').implement({
  description: 'The sums of one day, of one VM or build, or of one on one day; the others are null.',
  fields: (t) => ({
    day: t.exposeString('day', { nullable: true, description: 'The day: `2026-11-21`.' }),
    ...linkTo(t, 'vm', { type: vmType, nullable: true, description: 'The VM.', id: ({ vmId }) => vmId }),
    ...linkTo(t, 'build', {
      type: buildType,
      nullable: true,
      description: 'The build whose VM it was.',
      id: ({ buildId }) => buildId,
    }),
    totals: t.field({ type: totals, description: 'The sums.', resolve: (one) => one }),
  }),
})
const usage = builder.objectRef<VmUsage>('VmUsage').implement({
  description: 'What VMs and builds used on a range of days, and what that cost.',
  fields: (t) => ({
    from: t.exposeString('from', { description: 'The first day, UTC.' }),
    to: t.exposeString('to', { description: 'The last day, UTC.' }),
    totals: t.field({ type: totals, description: 'Everything together.', resolve: (all) => all.totals }),
    groups: t.field({
      type: [group],
      description: `Days in order, of a day those with the highest cost first; ${sumLimits.groupsMax} at most. Empty without \`dimensions\`.`,
      extensions: { most: sumLimits.groupsMax },
      resolve: (all) => all.groups,
    }),
    hasMoreGroups: t.exposeBoolean('hasMoreGroups', { description: 'Whether there are more groups than are shown.' }),
  }),
})

const usageArguments = {
  ...daysArguments,
  ...builder.args((t) => ({
    dimensions: t.field({ type: [dimension], description: 'What to group by, in addition to the total: one or two.' }),
  })),
}
const filter = builder.inputType('VmUsageFilter', {
  description: 'Narrows what is summed.',
  fields: (t) => ({ vmId: t.id({ description: 'Only this VM.' }) }),
})
const filteredArguments = {
  ...usageArguments,
  ...builder.args((t) => ({ filter: t.field({ type: filter, description: 'Narrows what is summed.' }) })),
}

builder.queryField('vmUsage', (t) =>
  t.field({
    type: usage,
    description:
      'What the organization’s VMs and builds used, and what that cost. Not available to API keys and to the token inside a VM. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: { ...organizationArguments, ...filteredArguments },
    resolve: (_, { organizationId, ...question }, call, info) =>
      findInTurn(call, info, () => sumVmUsage(call, organizationId, question)),
  }),
)
builder.objectField(organizationType, 'vmUsage', (t) =>
  t.field({
    type: usage,
    nullable: true,
    description:
      'What its VMs and builds used, and what that cost. Not available to API keys and to the token inside a VM. Errors: INVALID_REQUEST.',
    args: filteredArguments,
    resolve: ({ id }, question, call, info) =>
      findInTurn(call, info, () => sumVmUsage(call, encodeId('organization', id), question)),
  }),
)
