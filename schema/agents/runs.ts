/** Runs in GraphQL. */
import { builder } from '../builder.ts'
import { encodeId } from '#src/platform/ids.ts'
import { createRun, type Run } from '#src/resources/agents/runs.ts'

const runType = builder.objectRef<Run>('Run').implement({
  description: 'What was begun: a session, and its VM.',
  fields: (t) => ({
    sessionId: t.id({ description: 'The session.', resolve: ({ session }) => encodeId('session', session.id) }),
    sandboxId: t.id({
      nullable: true,
      description: 'Its VM, which is on its way; null without one.',
      resolve: ({ sandboxId }) => sandboxId && encodeId('vm', sandboxId),
    }),
  }),
})

builder.mutationFields((t) => ({
  createRun: t.field({
    type: runType,
    description:
      'Begins a session in one request; exactly one of `agent`, `builtin` and `mode`. Errors: INVALID_REQUEST, NOT_FOUND, RESOURCE_ARCHIVED, VAULT_ARCHIVED, UNKNOWN_MODEL, CAPACITY_UNAVAILABLE, RATE_LIMITED.',
    args: {
      agent: t.arg({ type: 'JSON', description: 'An agent of the caller’s, as `createSession` takes it.' }),
      builtin: t.arg.string({ description: '`coder`, `reviewer` or `researcher`.' }),
      mode: t.arg.string({ description: '`chat`, or `computer` with a fresh VM.' }),
      input: t.arg.string({ description: 'What it is to do; it waits for a message without it.' }),
      vaultIds: t.arg.idList({ description: 'Vaults whose credentials it may use, 50 at most.' }),
      environmentId: t.arg.id({ description: 'Where it works.' }),
      metadata: t.arg({ type: 'JSON', description: 'Up to 16 pairs of text.' }),
    },
    resolve: (_, order, call) => createRun(call, order),
  }),
}))
