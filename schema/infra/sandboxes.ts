/** Sandboxes in GraphQL. */
import { builder } from '../builder.ts'
import { mutationOf } from '../mutations.ts'
import { runSandbox, type SandboxResult } from '#src/resources/infra/sandboxes.ts'
import { optionFields } from './vm-commands.ts'
import { vmType } from './vms.ts'

const sandboxCommand = builder.objectRef<SandboxResult['command']>('SandboxCommand').implement({
  description: 'The result of what ran in a sandbox.',
  fields: (t) => ({
    exitCode: t.exposeInt('exitCode', { description: 'The exit code; 124 when it timed out.' }),
    stdout: t.exposeString('stdout', { description: 'The last MiB of its standard output.' }),
    stderr: t.exposeString('stderr', { description: 'The last MiB of its standard error.' }),
  }),
})
const sandbox = builder.objectRef<SandboxResult>('Sandbox').implement({
  description: 'A VM that runs one program and then deletes itself.',
  fields: (t) => ({
    vm: t.field({
      type: vmType,
      description: 'The VM, which exists until its `expiresAt`.',
      resolve: (result) => result.vm,
    }),
    command: t.field({
      type: sandboxCommand,
      description: 'The result of what ran.',
      resolve: (result) => result.command,
    }),
    ttlSeconds: t.exposeInt('ttl', { description: 'Seconds from creation to deletion.' }),
  }),
})

mutationOf(
  'runSandbox',
  { field: 'sandbox', type: sandbox, description: 'The VM that was made, and what ran in it.' },
  'Runs code or a command in a fresh VM and waits for it. A non-zero exit is a result, not an error. Errors: INVALID_REQUEST, INVALID_TEMPLATE, INVALID_ENV_KEY, INVALID_ENV_VALUE, CAPACITY_UNAVAILABLE, SERVICE_UNAVAILABLE, RATE_LIMITED.',
  (t) => ({
    language: t.string({
      description: 'The language of `code`: python, javascript, typescript, bash, go or ruby (py, js, node, ts, sh).',
    }),
    code: t.string({ description: 'The code to run. Give either this or `command`.' }),
    command: t.string({ description: 'A program when `args` is given; otherwise a command line for `/bin/bash -lc`.' }),
    args: t.stringList({ description: 'Arguments of the program or the code.' }),
    timeoutSeconds: t.int({
      description: 'A time limit in seconds: 60 by default, 3600 at most, and never more than `ttlSeconds`.',
      extensions: { word: 'timeout' },
    }),
    ttlSeconds: t.int({
      description: 'Seconds until the VM is deleted: 10 to 86400; 300 by default.',
      extensions: { word: 'ttl' },
    }),
    templateId: t.id({ description: 'A template’s id or name; `base` by default.' }),
    ...optionFields(t),
  }),
  (call, { timeoutSeconds, ttlSeconds, ...order }) =>
    runSandbox(call, { ...order, timeout: timeoutSeconds, ttl: ttlSeconds }),
)
