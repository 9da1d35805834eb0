/** Agents and sessions. */
import { actionOf, byId, listOf, mutationOf, streamOf, type Base } from '../calls.ts'
import type { CallOptions } from '../connection.ts'
import {
  AgentDocument,
  AgentsDocument,
  ArchiveAgentDocument,
  ArchiveSessionDocument,
  CreateAgentDocument,
  CreateSessionDocument,
  DeleteAgentDocument,
  DeleteSessionDocument,
  SendSessionEventsDocument,
  SessionDocument,
  SessionEventsDocument,
  SessionsDocument,
  SessionTranscriptDocument,
  UpdateAgentDocument,
  type SessionEventInput,
  type SessionEvents,
  type SessionPreviewType,
} from '../generated/documents.ts'
import type { StreamOptions } from '../streams.ts'

/** What a session's stream gives: an event, or a preview of one that is being written, which is never stored. */
export type SessionEmission = Extract<SessionEvents['sessionEvents'], { __typename: 'SessionEmission' }>

/** `berth.agents`. */
export function agentsOf(base: Base) {
  return {
    ...listOf(base, AgentsDocument, (data) => data.agents),
    get: byId(base, AgentDocument, (data) => data.agent),
    create: mutationOf(base, CreateAgentDocument, (data) => data.createAgent?.agent),
    update: mutationOf(base, UpdateAgentDocument, (data) => data.updateAgent?.agent),
    archive: actionOf(base, ArchiveAgentDocument, (data) => data.archiveAgent?.agent),
    delete: actionOf(base, DeleteAgentDocument, (data) => data.deleteAgent?.deletedId),
  }
}

/** `berth.sessions`. */
export function sessionsOf(base: Base) {
  const send = mutationOf(base, SendSessionEventsDocument, (data) => data.sendSessionEvents?.sessionEvents)
  const transcript = listOf(base, SessionTranscriptDocument, (data) => data.sessionEvents)
  const events = streamOf(base, SessionEventsDocument, 'sessionId', ({ sessionEvents: emission }) =>
    emission.__typename === 'Heartbeat' ? undefined : { value: emission, cursor: emission.cursor },
  )
  const sendOne = (sessionId: string, event: SessionEventInput, options?: CallOptions) =>
    send({ sessionId, events: [event] }, options)
  return {
    ...listOf(base, SessionsDocument, (data) => data.sessions),
    get: byId(base, SessionDocument, (data) => data.session),
    create: mutationOf(base, CreateSessionDocument, (data) => data.createSession?.session),
    archive: actionOf(base, ArchiveSessionDocument, (data) => data.archiveSession?.session),
    delete: actionOf(base, DeleteSessionDocument, (data) => data.deleteSession?.deletedId),
    send,
    sendMessage: (sessionId: string, text: string, options?: CallOptions) =>
      sendOne(sessionId, { userMessage: { content: [{ text: { text } }] } }, options),
    /** Lets a tool that waits for permission run. */
    approve: (sessionId: string, toolUseId: string, options?: CallOptions) =>
      sendOne(sessionId, { userToolConfirmation: { toolUseId, result: 'ALLOW' } }, options),
    /** Refuses it; the agent reads the message. */
    deny: (sessionId: string, toolUseId: string, denyMessage?: string, options?: CallOptions) =>
      sendOne(
        sessionId,
        { userToolConfirmation: { toolUseId, result: 'DENY', ...(denyMessage === undefined ? {} : { denyMessage }) } },
        options,
      ),
    interrupt: (sessionId: string, options?: CallOptions) => sendOne(sessionId, { userInterrupt: true }, options),
    /** The stored events, oldest first. */
    transcript: (sessionId: string, options?: CallOptions) => transcript.all({ sessionId }, options),
    /**
     * What happens in a session, from its beginning or after a cursor until it ends. With `previews`, pieces of messages as
     * they are written; after a lost connection they begin again. To begin with what is new, pass the session's `eventCursor`.
     */
    events: (
      sessionId: string,
      { previews = false, ...options }: StreamOptions & { previews?: boolean | SessionPreviewType[] } = {},
    ): AsyncGenerator<SessionEmission, void, undefined> =>
      events(sessionId, {
        ...options,
        variables: { previews: previews === true ? ['AGENT_MESSAGE'] : previews || [] },
      }),
  }
}
