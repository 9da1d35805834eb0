/** Build specs in GraphQL: the schema `berth.build/v1`, typed. */
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import type { OutputType } from '#src/resources/infra/builds/rows.ts'

/** What a build produces. */
export const outputType = enumOf('BuildOutputType', 'What a build produces.', {
  artifact: 'A tar.gz file, stored for some weeks.',
  template: 'A template for VMs.',
  function: 'A version of a function, which is deployed when the build succeeds.',
} satisfies Record<OutputType, string>)

const builderKind = enumOf('BuildBuilder', 'How a build makes its output.', {
  command: 'It runs the commands of the spec.',
  static: 'It publishes the output path as it is.',
})
const outputInput = builder.inputType('BuildOutputInput', {
  description: 'What a build produces.',
  fields: (t) => ({
    type: t.field({ type: outputType, required: true, description: 'As what to publish the output.' }),
    name: t.string({
      required: true,
      description: 'Its name: lower-case letters, digits and dashes, beginning with a letter, 63 at most.',
    }),
    path: t.string({ description: 'A relative path inside the checkout; the whole checkout by default.' }),
    startCommand: t.string({
      description:
        'Of a function: what starts it, at most 4096 characters. By default as in its version before; at first, and if empty, what the files say.',
    }),
    port: t.int({
      description: 'Of a function: where it listens. By default as in its version before; at first 8080.',
    }),
  }),
})
const resourcesInput = builder.inputType('BuildResourcesInput', {
  description: 'The size of a build’s VM.',
  fields: (t) => ({
    vcpuCount: t.int({
      description: 'Virtual processors, 1 to 16; 2 by default.',
      extensions: { word: 'vcpu' },
    }),
    memoryMb: t.int({ description: 'Memory in MB, 256 to 65536; 2048 by default.' }),
  }),
})

/** A spec. */
export const buildSpecInput = builder.inputType('BuildSpecInput', {
  description: 'What a build does. Every field is optional, so `{}` is a valid spec.',
  fields: (t) => ({
    version: t.int({ description: 'Always 1.' }),
    builder: t.field({ type: builderKind, description: '`COMMAND` by default.' }),
    template: t.string({ description: 'The id or name of the template it starts from; `base` by default.' }),
    context: t.string({
      description: 'A folder of the repository, `.` by default. Without a repository: the `binaryUrl` of an upload.',
    }),
    commands: t.stringList({ description: 'The commands to run, one after the other.' }),
    env: t.field({ type: 'TextMap', description: 'Environment variables for the commands.' }),
    secrets: t.stringList({ description: 'Names of build secrets to pass to the commands as environment variables.' }),
    output: t.field({ type: outputInput, description: 'What it produces; by default an artifact called `build`.' }),
    cache: t.boolean({ description: 'Whether it may use the cache of earlier builds; true by default.' }),
    resources: t.field({ type: resourcesInput, description: 'The size of its VM.' }),
    timeoutSeconds: t.int({
      description: 'How many seconds its commands may take together, 1 to 7200; 1800 by default.',
    }),
  }),
})

/** A spec as REST spells it; null fields are left out. */
export function wireSpec(sent: typeof buildSpecInput.$inferInput | null | undefined): object | null | undefined {
  if (!sent) return sent
  const { resources, timeoutSeconds, output, ...same } = sent
  return {
    ...withoutNulls(same),
    ...withoutNulls({
      output: output && wireOutput(output),
      resources: resources && withoutNulls({ vcpu: resources.vcpuCount, memory_mb: resources.memoryMb }),
      timeout_seconds: timeoutSeconds,
    }),
  }
}

function wireOutput({ startCommand, ...same }: typeof outputInput.$inferInput): object {
  return withoutNulls({ ...same, start_command: startCommand })
}

function withoutNulls(object: object): object {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null && value !== undefined))
}
