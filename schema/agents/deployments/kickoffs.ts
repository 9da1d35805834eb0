/** Kickoffs in GraphQL: what a session that starts by itself is told first. */
import { builder } from '../../builder.ts'
import { limits } from '#src/platform/limits.ts'
import type { Kickoff, KickoffEvent } from '#src/resources/agents/kickoffs.ts'
import { blocksOf, contentBlock } from '../sessions/content-blocks.ts'
import { sessionEventInput } from '../sessions/inputs.ts'

const message = builder.objectRef<KickoffEvent>('KickoffMessage').implement({
  description: 'A message of the user.',
  fields: (t) => ({
    content: t.field({
      type: [contentBlock],
      description: 'Its content.',
      resolve: ({ content }) => blocksOf(content),
    }),
  }),
})
const systemMessage = builder.objectRef<KickoffEvent>('KickoffSystemMessage').implement({
  description: 'A system message for the model.',
  fields: (t) => ({
    content: t.field({
      type: [contentBlock],
      description: 'Its content.',
      resolve: ({ content }) => blocksOf(content),
    }),
  }),
})
const outcome = builder.objectRef<KickoffEvent>('KickoffOutcome').implement({
  description: 'An outcome for the agent to reach.',
  fields: (t) => ({
    description: t.string({ description: 'The desired outcome.', resolve: (event) => String(event['description']) }),
    rubric: t.string({
      description: 'How to grade it.',
      resolve: (event) => (event['rubric'] as { content?: string } | undefined)?.content ?? '', // validated before it was stored
    }),
    maxIterations: t.int({
      nullable: true,
      description: 'How often to grade it at most; null for the default.',
      resolve: (event) => (typeof event['max_iterations'] === 'number' ? event['max_iterations'] : null),
    }),
  }),
})

const names: Readonly<Record<string, string>> = {
  'user.message': 'KickoffMessage',
  'user.define_outcome': 'KickoffOutcome',
  'system.message': 'KickoffSystemMessage',
}
const kickoffEvent = builder.unionType('KickoffEvent', {
  description: 'An event that a session starts with.',
  types: [message, systemMessage, outcome],
  resolveType: ({ type }: KickoffEvent) => names[type],
})

/** A kickoff. */
export const kickoffType = builder.objectRef<Kickoff>('Kickoff').implement({
  description: 'What a session that starts by itself is told first.',
  fields: (t) => ({
    text: t.string({
      nullable: true,
      description: 'The text, where one text was sent; it is the message in `events`.',
      resolve: ({ text }) => text ?? null,
    }),
    events: t.field({ type: [kickoffEvent], description: 'The events.', resolve: ({ events }) => [...events] }),
    wireEvents: t.field({
      type: ['RestObject'],
      description: 'The events in the form that REST shows.',
      resolve: ({ events }) => [...events],
    }),
  }),
})

/** A kickoff as clients send it: in REST also a plain text. */
export const kickoffInput = builder.inputType('KickoffInput', {
  description: 'What a session that starts by itself is told first: a text, or events.',
  extensions: { text: 'text' },
  fields: (t) => ({
    text: t.string({ description: 'It is sent as one message.' }),
    events: t.field({
      type: [sessionEventInput],
      extensions: { most: limits.initialEventsMax },
      description: `1 to ${limits.initialEventsMax} messages and outcomes.`,
    }),
  }),
})
