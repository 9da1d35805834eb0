/** Metrics of databases in GraphQL. */
import { builder } from '#schema/builder.ts'
import { heartbeat, withHeartbeats } from '#schema/heartbeats.ts'
import { linkTo } from '#schema/nodes.ts'
import { rowsOfEach } from '#schema/rows-of-each.ts'
import { findMetrics, followMetrics, type DatabaseMetrics } from '#src/resources/infra/databases/metrics.ts'
import { databaseType } from '../databases.ts'

const metricsOf = rowsOfEach(findMetrics, ({ databaseId }) => databaseId)

const databaseMetrics = builder.objectRef<DatabaseMetrics>('DatabaseMetrics').implement({
  description:
    'What the server of a database last said of itself. Counts are totals since its statistics began; they may begin again after a crash.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'measuredAt' in value,
  fields: (t) => ({
    ...linkTo(t, 'database', {
      type: databaseType,
      description: 'The database.',
      id: ({ databaseId }) => databaseId,
    }),
    connections: t.exposeInt('connections', { description: 'Connections to the server that are open.' }),
    sizeBytes: t.expose('sizeBytes', { type: 'BigInt', description: 'What its tables and indexes take.' }),
    transactions: t.expose('transactions', { type: 'BigInt', description: 'Transactions that were committed.' }),
    rolledBack: t.expose('rolledBack', { type: 'BigInt', description: 'Transactions that were rolled back.' }),
    rowsRead: t.expose('rowsRead', { type: 'BigInt', description: 'Rows that queries read.' }),
    rowsWritten: t.expose('rowsWritten', {
      type: 'BigInt',
      description: 'Rows that were inserted, updated or deleted.',
    }),
    blocksHit: t.expose('blocksHit', { type: 'BigInt', description: 'Blocks of 8 kB found in its cache.' }),
    blocksRead: t.expose('blocksRead', { type: 'BigInt', description: 'Blocks of 8 kB read from its disk.' }),
    deadlocks: t.expose('deadlocks', { type: 'BigInt', description: 'Deadlocks that it resolved.' }),
    measuredAt: t.expose('measuredAt', { type: 'DateTime', description: 'When it said so.' }),
  }),
})

builder.objectField(databaseType, 'metrics', (t) =>
  t.field({
    type: databaseMetrics,
    nullable: true,
    description: 'Its metrics, measured every minute while it is awake; null before the first time.',
    resolve: ({ id }, _, call) => metricsOf(call, id),
  }),
)

const metricsOrHeartbeat = builder.unionType('DatabaseMetricsOrHeartbeat', {
  description: 'Metrics of a database, or a heartbeat.',
  types: [databaseMetrics, heartbeat],
})

builder.subscriptionFields((t) => ({
  databaseMetricsChanged: t.field({
    type: metricsOrHeartbeat,
    description:
      'The metrics of a database: the last ones, then new ones every few seconds while it is awake. Watching does not wake it. Errors: NOT_FOUND.',
    args: { databaseId: t.arg.id({ required: true, description: 'The database.' }) },
    subscribe: async (_, { databaseId }, call) => withHeartbeats(await followMetrics(call, databaseId)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))
