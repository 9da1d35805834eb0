/** Usage in GraphQL. */
import { builder } from '../builder.ts'
import { encodeId } from '#src/platform/ids.ts'
import { listUsage, type UsageSession } from '#src/resources/infra/usage.ts'

const usageSession = builder.objectRef<UsageSession>('UsageSession').implement({
  description: 'A stretch of time that a VM ran, one of a build too. Money is in US dollars with six decimals.',
  fields: (t) => ({
    id: t.exposeInt('id', { description: 'A number.' }),
    vmId: t.id({ description: 'The VM.', resolve: (session) => encodeId('vm', session.vmId) }),
    buildId: t.id({
      nullable: true,
      description: 'The build whose VM it was; null for any other VM.',
      resolve: ({ buildId }) => buildId && encodeId('build', buildId),
    }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it began.' }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ended; null while it lasts.',
    }),
    endReason: t.exposeString('endReason', {
      nullable: true,
      description: 'request, timeout, guest_exit, error, orphaned, admin or billing; null while it lasts.',
    }),
    vcpuCount: t.exposeInt('vcpuCount', { description: 'Virtual processors.' }),
    memoryMb: t.exposeInt('memoryMb', { description: 'Memory in MB.' }),
    costPerHour: t.exposeFloat('costPerHour', { description: 'US dollars an hour, fixed when it began.' }),
    durationMinutes: t.exposeFloat('durationMinutes', {
      description: 'Minutes, two decimals; up to now while it lasts.',
    }),
    totalCostBilled: t.exposeFloat('totalCostBilled', { description: 'US dollars; up to now while it lasts.' }),
  }),
})
const usageHistory = builder
  .objectRef<{ sessions: UsageSession[]; limit: number; offset: number }>('UsageHistory')
  .implement({
    description: 'A page of usage sessions.',
    fields: (t) => ({
      sessions: t.field({ type: [usageSession], description: 'Newest first.', resolve: (history) => history.sessions }),
      limit: t.exposeInt('limit', { description: 'As used.' }),
      offset: t.exposeInt('offset', { description: 'As used.' }),
    }),
  })
builder.queryFields((t) => ({
  usage: t.field({
    type: usageHistory,
    description: 'The organization’s usage sessions, newest first.',
    args: {
      limit: t.arg.int({ description: '1 to 200; 50 without it.' }),
      offset: t.arg.int({ description: 'How many to pass over.' }),
    },
    resolve: (_, window, call) => listUsage(call, window),
  }),
}))
