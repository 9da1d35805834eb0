/** Runs in GraphQL. */
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { sessionAgentInput } from './sessions/inputs.ts'
import { sessionType } from './sessions.ts'
import { vmType } from '../infra/vms.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import type { BuiltinName, ModeName } from '#src/resources/agents/agents/builtin-agents.ts'
import { createRun } from '#src/resources/agents/runs.ts'

const builtinAgent = enumOf('BuiltinAgent', 'One of Berth’s own agents.', {
  coder: 'Writes and fixes programs, in a VM.',
  reviewer: 'Reviews changes, in a VM.',
  researcher: 'Researches a topic and reports.',
} satisfies Record<BuiltinName, string>)
const runMode = enumOf('RunMode', 'What a run without an agent has to work with.', {
  chat: 'Words alone.',
  computer: 'A fresh VM.',
} satisfies Record<ModeName, string>)

builder.relayMutationField(
  'createRun',
  {
    description: 'What `createRun` takes: exactly one of `agent`, `builtin` and `mode`.',
    inputFields: (t) => ({
      agent: t.field({ type: sessionAgentInput, description: 'One of the caller’s agents.' }),
      builtin: t.field({ type: builtinAgent, description: 'One of Berth’s own agents.' }),
      mode: t.field({ type: runMode, description: 'A default agent for this mode.' }),
      input: t.string({ description: 'The first message; if omitted, the session waits for one.' }),
      vaultIds: t.idList({
        description: `The vaults whose credentials it may use, ${limits.sessionVaultsMax} at most.`,
      }),
      environmentId: t.id({ description: 'The environment to work in.' }),
      metadata: t.field({ type: 'TextMap', description: 'Your own labels: up to 16 pairs of key and text.' }),
    }),
  },
  {
    description:
      'Starts a session in one request. Errors: INVALID_REQUEST, NOT_FOUND, RESOURCE_ARCHIVED, VAULT_ARCHIVED, UNKNOWN_MODEL, CAPACITY_UNAVAILABLE, RATE_LIMITED.',
    resolve: (_, { input }, call) => createRun(call, input),
  },
  {
    description: 'What `createRun` answers.',
    outputFields: (t) => ({
      sessionId: t.id({ description: 'The session.', resolve: ({ session }) => encodeId('session', session.id) }),
      session: t.field({
        type: sessionType,
        nullable: true,
        description: 'The session.',
        resolve: ({ session }) => session,
      }),
      vmId: t.id({
        nullable: true,
        description: 'The id of its VM, which may still be starting; null when it has none.',
        resolve: ({ sandboxId }) => sandboxId && encodeId('vm', sandboxId),
      }),
      vm: t.field({
        type: vmType,
        nullable: true,
        description: 'The VM, as an object.',
        resolve: ({ sandboxId }) => sandboxId,
      }),
    }),
  },
)
