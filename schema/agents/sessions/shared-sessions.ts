/** Shared sessions in GraphQL: what anyone with the link may read. */
import { idArguments } from '../../arguments.ts'
import { builder } from '../../builder.ts'
import { readInTurn } from '../../large-reads.ts'
import { always } from '../../words.ts'
import { connectionOf, pageArgumentsUpTo } from '../../pages.ts'
import { blocksOf, contentBlock } from './content-blocks.ts'
import { sessionEventType } from './events.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import {
  getSharedSession,
  pageTranscript,
  wireTranscriptEntry,
  type SharedSession,
  type TranscriptEntry,
} from '#src/resources/agents/sessions/shared-sessions.ts'

const transcriptEntry = builder.objectRef<TranscriptEntry>('TranscriptEntry').implement({
  description: 'A message in full, or a tool use by name.',
  fields: (t) => ({
    id: t.exposeID('id', { nullable: true, description: 'The event’s id, for a message.' }),
    type: t.field({ type: sessionEventType, description: 'The kind of entry.', resolve: ({ type }) => type }),
    content: t.field({
      type: [contentBlock],
      nullable: true,
      description: 'The message, without attachments known by their URL only; null for a tool.',
      resolve: ({ content }) => content && blocksOf(content),
    }),
    toolName: t.exposeString('toolName', {
      nullable: true,
      description: 'The name of the tool that was used or that answered.',
    }),
    processedAt: t.expose('processedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was processed; null while it is queued.',
    }),
    wire: t.field({
      type: 'RestObject',
      description: 'The whole entry, in the form that REST shows.',
      resolve: (entry) => wireTranscriptEntry(entry),
    }),
  }),
})
const sharedAgent = builder.objectRef<SharedSession>('SharedAgent').implement({
  description: 'What anyone with the link may see of the agent.',
  fields: (t) => ({ name: t.exposeString('agentName', { description: 'Its name.' }) }),
})
const sharedSession = builder.objectRef<SharedSession>('SharedSession').implement({
  description: 'What anyone with the link may see of a session.',
  fields: (t) => ({
    type: t.string(always('shared_session')),
    id: t.id({ description: 'The session.', resolve: ({ id }) => encodeId('session', id) }),
    title: t.exposeString('title', { nullable: true, description: 'Its title.' }),
    agent: t.field({ type: sharedAgent, description: 'Its agent.', resolve: (session) => session }),
    sharedAt: t.expose('sharedAt', { type: 'DateTime', description: 'When it was shared.' }),
    transcript: t.field({
      type: connectionOf('Transcript', transcriptEntry),
      description: 'Its messages and the names of the tools it used, oldest first. Errors: INVALID_REQUEST.',
      args: pageArgumentsUpTo(limits.eventListMax),
      resolve: (session, window, call, info) =>
        readInTurn(call, info, (bytesMax) => pageTranscript(call, session, window, bytesMax)),
    }),
  }),
})

builder.queryFields((t) => ({
  sharedSession: t.field({
    type: sharedSession,
    description: 'The transcript of a shared session; needs no credentials. Errors: NOT_FOUND.',
    extensions: { open: true },
    args: idArguments,
    resolve: (_, { id }, call) => getSharedSession(call, id),
  }),
}))
