/** The logs and events of functions in GraphQL. */
import { builder } from '../../builder.ts'
import { heartbeat, withHeartbeats } from '../../heartbeats.ts'
import { callIn } from '../../identity/organizations.ts'
import { readInTurn } from '../../large-reads.ts'
import { linkTo } from '../../nodes.ts'
import { connectionOf, pageArguments } from '../../pages.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { followFunction } from '#src/resources/infra/functions/events.ts'
import { followFunctionLog, pageFunctionLog, type FunctionLogEntry } from '#src/resources/infra/functions/logs.ts'
import type { FunctionEvent } from '#src/resources/infra/functions/rows.ts'
import { functionStatus, functionType } from '../functions.ts'

const logEntry = builder.objectRef<FunctionLogEntry>('FunctionLogEntry').implement({
  description: 'A chunk of what a function’s program printed.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'output' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this entry.',
      resolve: ({ position }) => String(position),
    }),
    output: t.exposeString('output', {
      description: 'The output as it was printed, 16 KiB at most; values of variables are masked as `***`.',
    }),
    versionNumber: t.exposeInt('versionNumber', {
      nullable: true,
      description: 'The number of the version that printed it; null for a line of Berth’s own.',
    }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it was stored.' }),
    isDone: t.exposeBoolean('done', {
      description: 'True for the last entry, which has no output: the function is deleted.',
    }),
  }),
})
const entryOrHeartbeat = builder.unionType('FunctionLogEntryOrHeartbeat', {
  description: 'An entry of a function’s log, or a heartbeat.',
  types: [logEntry, heartbeat],
})

builder.objectField(functionType, 'log', (t) =>
  t.field({
    type: connectionOf('FunctionLogEntry', logEntry),
    nullable: true,
    description: `What its programs printed, oldest first; \`last: 100\` is the newest. Its last ${functionLimits.logBytes / 1024 / 1024} MiB are kept.`,
    args: pageArguments,
    resolve: ({ id, organizationId }, window, call, info) =>
      readInTurn(call, info, async () => {
        const loaded = await pageFunctionLog(callIn(call, { id: organizationId }), id, window)
        return { loaded, bytes: loaded.nodes.reduce((sum, { output }) => sum + output.length, 0) }
      }),
  }),
)

const functionEvent = builder.objectRef<FunctionEvent>('FunctionEvent').implement({
  description: 'A change of a function: of its status, or of something else.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'status' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: (event) => String(event.position),
    }),
    ...linkTo(t, 'function', {
      type: functionType,
      description: 'The function, as it is now; null once it is deleted.',
      id: (event) => event.functionId,
    }),
    status: t.field({
      type: functionStatus,
      description: 'Its status after this event.',
      resolve: (event) => event.status,
    }),
    statusReason: t.exposeString('statusReason', {
      nullable: true,
      description: 'More about the event, as a sentence, when there is more.',
    }),
    versionNumber: t.exposeInt('versionNumber', {
      nullable: true,
      description: 'The number of the version that was the current one.',
    }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})
const eventOrHeartbeat = builder.unionType('FunctionEventOrHeartbeat', {
  description: 'An event of a function, or a heartbeat.',
  types: [functionEvent, heartbeat],
})

builder.subscriptionFields((t) => ({
  functionLogEvents: t.field({
    type: entryOrHeartbeat,
    description: 'A function’s log, live, until it is deleted. Errors: NOT_FOUND.',
    args: {
      functionId: t.arg.id({ required: true, description: 'The function.' }),
      after: t.arg.string({
        description: 'The cursor of the last entry seen; `0` for the beginning; by default only what is new.',
      }),
    },
    subscribe: async (_, { functionId, after }, call) =>
      withHeartbeats(await followFunctionLog(call, functionId, after)),
    resolve: (entry) => entry as never, // isTypeOf of the union's members tells them apart
  }),
  functionEvents: t.field({
    type: eventOrHeartbeat,
    description:
      'A function’s events: those after the cursor (without a cursor, its current status), then live ones, until it is deleted. Errors: NOT_FOUND.',
    args: {
      functionId: t.arg.id({ required: true, description: 'The function.' }),
      after: t.arg.string({ description: 'The cursor of the last event seen.' }),
    },
    subscribe: async (_, { functionId, after }, call) => withHeartbeats(await followFunction(call, functionId, after)),
    resolve: (event) => event as never, // as above
  }),
}))
