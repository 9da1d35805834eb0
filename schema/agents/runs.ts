/** Runs in GraphQL. */
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { wiredInput } from '../mutations.ts'
import { sessionAgentInput } from './sessions/inputs.ts'
import { sessionType } from './sessions.ts'
import { vmType } from '../infra/vms.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import type { BuiltinName, ModeName } from '#src/resources/agents/agents/builtin-agents.ts'
import { createRun } from '#src/resources/agents/runs.ts'

const builtinAgent = enumOf('BuiltinAgent', 'An agent of Berth’s own.', {
  coder: 'Writes and mends programs, in a VM.',
  reviewer: 'Reads changes and says what is wrong with them, in a VM.',
  researcher: 'Looks things up and writes what it found.',
} satisfies Record<BuiltinName, string>)
const runMode = enumOf('RunMode', 'What a run without an agent works with.', {
  chat: 'Words alone.',
  computer: 'A fresh VM.',
} satisfies Record<ModeName, string>)

builder.relayMutationField(
  'createRun',
  {
    description: 'What `createRun` takes: exactly one of `agent`, `builtin` and `mode`.',
    inputFields: (t) => ({
      agent: t.field({ type: sessionAgentInput, description: 'An agent of the caller’s.' }),
      builtin: t.field({ type: builtinAgent, description: 'An agent of Berth’s own.' }),
      mode: t.field({ type: runMode, description: 'No agent in particular.' }),
      input: t.string({ description: 'What it is to do; it waits for a message without it.' }),
      vaultIds: t.idList({ description: `Vaults whose credentials it may use, ${limits.sessionVaultsMax} at most.` }),
      environmentId: t.id({ description: 'Where it works.' }),
      metadata: t.field({ type: 'TextMap', description: 'Up to 16 pairs of text.' }),
    }),
  },
  {
    description:
      'Begins a session in one request. Errors: INVALID_REQUEST, NOT_FOUND, RESOURCE_ARCHIVED, VAULT_ARCHIVED, UNKNOWN_MODEL, CAPACITY_UNAVAILABLE, RATE_LIMITED.',
    resolve: (_, { input }, call, info) => createRun(call, wiredInput(input, info) as Parameters<typeof createRun>[1]), // its ids are texts by their types
  },
  {
    description: 'What `createRun` answers.',
    outputFields: (t) => ({
      sessionId: t.id({ description: 'The session.', resolve: ({ session }) => encodeId('session', session.id) }),
      session: t.field({
        type: sessionType,
        nullable: true,
        description: 'The session itself.',
        resolve: ({ session }) => session,
      }),
      vmId: t.id({
        nullable: true,
        description: 'Its VM, which is on its way; null without one.',
        resolve: ({ sandboxId }) => sandboxId && encodeId('vm', sandboxId),
      }),
      vm: t.field({
        type: vmType,
        nullable: true,
        description: 'The same VM.',
        resolve: ({ sandboxId }) => sandboxId,
      }),
    }),
  },
)
