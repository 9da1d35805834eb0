/** The state of a session in GraphQL, followed. */
import { builder } from '../../builder.ts'
import { heartbeat, withHeartbeats } from '../../heartbeats.ts'
import { sessionType } from '../sessions.ts'
import { followSessionState, type SessionState } from '#src/resources/agents/sessions/streams.ts'

const sessionState = builder.objectRef<SessionState>('SessionState').implement({
  description: 'The state of a session after a change.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'session' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this state.',
      resolve: ({ position }) => String(position),
    }),
    session: t.field({ type: sessionType, description: 'The session.', resolve: (state) => state.session }),
  }),
})
const stateOrHeartbeat = builder.unionType('SessionStateOrHeartbeat', {
  description: 'A state of a session, or a heartbeat.',
  types: [sessionState, heartbeat],
})

builder.subscriptionFields((t) => ({
  sessionStateChanged: t.field({
    type: stateOrHeartbeat,
    description:
      'A session’s state at every change: first the current one, unless nothing has happened since the cursor, then live ones, until it ends. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: {
      sessionId: t.arg.id({ required: true, description: 'The session.' }),
      after: t.arg.string({ description: 'The cursor of the last state or event seen.' }),
    },
    subscribe: async (_, { sessionId, after }, call) =>
      withHeartbeats(await followSessionState(call, sessionId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))
