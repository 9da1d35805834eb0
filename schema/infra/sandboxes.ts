/** Sandboxes in GraphQL. */
import { builder } from '../builder.ts'
import { mutationOf } from '../mutations.ts'
import { runSandbox, type SandboxResult } from '#src/resources/infra/sandboxes.ts'
import { vmType } from './vms.ts'

const sandboxCommand = builder.objectRef<SandboxResult['command']>('SandboxCommand').implement({
  description: 'What ran in a sandbox, and how it went.',
  fields: (t) => ({
    exitCode: t.exposeInt('exitCode', { description: '124 when its time ran out.' }),
    stdout: t.exposeString('stdout', { description: 'The last MiB of its output.' }),
    stderr: t.exposeString('stderr', { description: 'The last MiB of its errors.' }),
  }),
})
const sandbox = builder.objectRef<SandboxResult>('Sandbox').implement({
  description: 'A VM that ran one thing and deletes itself.',
  fields: (t) => ({
    vm: t.field({
      type: vmType,
      description: 'The VM, which lives until its `expiresAt`.',
      resolve: (result) => result.vm,
    }),
    command: t.field({ type: sandboxCommand, description: 'What ran.', resolve: (result) => result.command }),
    ttlSeconds: t.exposeInt('ttl', { description: 'Seconds from creation to deletion.' }),
  }),
})

mutationOf(
  'runSandbox',
  { field: 'sandbox', type: sandbox },
  'Runs code or a command in a fresh VM and waits for it. A non-zero exit is a result, not an error. Errors: INVALID_REQUEST, CAPACITY_UNAVAILABLE, SERVICE_UNAVAILABLE, RATE_LIMITED.',
  (t) => ({
    language: t.string({
      description: 'With `code`: python, javascript, typescript, bash, go or ruby (py, js, node, ts, sh).',
    }),
    code: t.string({ description: 'What to run; either this or `command`.' }),
    command: t.string({ description: 'With `args` a program; without, text for `/bin/bash -lc`.' }),
    args: t.stringList({ description: 'Arguments of the program or the code.' }),
    timeoutSeconds: t.int({
      description: '60 without it, 3600 at most, and never beyond `ttlSeconds`.',
      extensions: { word: 'timeout' },
    }),
    ttlSeconds: t.int({
      description: 'Seconds until the VM is deleted: 10 to 86400; 300 without it.',
      extensions: { word: 'ttl' },
    }),
  }),
  (call, { timeoutSeconds, ttlSeconds, ...order }) =>
    runSandbox(call, { ...order, timeout: timeoutSeconds, ttl: ttlSeconds }),
)
