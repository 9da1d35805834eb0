/** The reply of a run while it is written, in GraphQL. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { linkTo } from '../../nodes.ts'
import { heartbeat, withHeartbeats } from '../../heartbeats.ts'
import { groupIfGiven } from './runs.ts'
import { groupRunType } from './run-type.ts'
import { eventIdIn, sessionEvent } from '../sessions/events.ts'
import { chunkTypes, type ChunkType } from '#src/resources/agents/tasks/chunks.ts'
import { followGroupRun, type RunChunk } from '#src/resources/agents/groups/streams.ts'

const chunkType = enumOf<ChunkType>('GroupRunChunkType', 'The kind of a chunk of a run’s reply.', chunkTypes)

const runChunk = builder.objectRef<RunChunk>('GroupRunChunk').implement({
  description: 'A piece of what a member does for a run, as the AI SDK’s UI message stream has it.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'chunk' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this; counts from 1.',
      resolve: ({ number }) => String(number),
    }),
    ...linkTo(t, 'run', { type: groupRunType, description: 'The run as it is now.', id: ({ runId }) => runId }),
    type: t.field({ type: chunkType, description: 'What it tells.', resolve: ({ chunk }) => chunk.type }),
    text: t.string({
      nullable: true,
      description: 'The text to append; null unless it is a `TEXT_DELTA`.',
      resolve: ({ chunk: { type, delta } }) => (type === 'text-delta' ? String(delta) : null),
    }),
    toolUse: t.field({
      type: sessionEvent,
      nullable: true,
      description: 'The tool use that it is about; null when it is about none, or the session is gone.',
      resolve: ({ chunk: { toolCallId } }) => eventIdIn(toolCallId),
    }),
    wire: t.field({
      type: 'RestObject',
      description: 'The chunk, `{type, …}`, as REST shows it and the AI SDK reads it.',
      resolve: ({ chunk }) => chunk,
    }),
  }),
})
const chunkOrHeartbeat = builder.unionType('GroupRunChunkOrHeartbeat', {
  description: 'A piece of a run’s reply, or a heartbeat.',
  types: [runChunk, heartbeat],
})

builder.subscriptionFields((t) => ({
  groupRunChunkEvents: t.field({
    type: chunkOrHeartbeat,
    description:
      'A run’s reply while it is written: from its beginning or from after a cursor, until its last chunk, `FINISH` or `ABORT`. Errors: NOT_FOUND, INVALID_REQUEST, REPLAY_RETENTION_EXCEEDED, and LOG_OVER when nothing follows.',
    args: {
      groupRunId: t.arg.id({ required: true, description: 'The run.' }),
      groupId: t.arg.id(groupIfGiven),
      after: t.arg.string({ description: 'The cursor of the last chunk seen.' }),
    },
    subscribe: async (_, { groupRunId, groupId, after }, call) =>
      withHeartbeats(await followGroupRun(call, groupId, groupRunId, after)),
    resolve: (chunk) => chunk as never, // isTypeOf of the union's members tells them apart
  }),
}))
