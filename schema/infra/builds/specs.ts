/** What a build is told to do, in GraphQL: the schema `berth.build/v1`, typed. */
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import type { OutputType } from '#src/resources/infra/builds/rows.ts'

/** What a build leaves behind. */
export const outputType = enumOf('BuildOutputType', 'What a build leaves behind.', {
  artifact: 'A tar.gz, kept for some weeks.',
  template: 'A template for VMs.',
  function: 'A tar.gz that a function runs from.',
} satisfies Record<OutputType, string>)

const builderKind = enumOf('BuildBuilder', 'How a build makes its output.', {
  command: 'It runs commands.',
  static: 'It publishes the path as it is.',
})
const outputInput = builder.inputType('BuildOutputInput', {
  description: 'What a build leaves behind.',
  fields: (t) => ({
    type: t.field({ type: outputType, required: true, description: 'As what.' }),
    name: t.string({
      required: true,
      description: 'Begins with a letter; lower-case letters, digits and dashes, 63 at most.',
    }),
    path: t.string({ description: 'A relative path inside the checkout; the checkout without it.' }),
  }),
})
const resourcesInput = builder.inputType('BuildResourcesInput', {
  description: 'How large the VM of a build is.',
  fields: (t) => ({
    vcpuCount: t.int({ description: 'Virtual processors, 1 to 16; 2 without it.' }),
    memoryMb: t.int({ description: 'Memory in MB, 256 to 65536; 2048 without it.' }),
  }),
})

/** A spec. */
export const buildSpecInput = builder.inputType('BuildSpecInput', {
  description: 'What a build is told to do. Every field may be left out, so `{}` is a spec.',
  fields: (t) => ({
    version: t.int({ description: 'Always 1.' }),
    builder: t.field({ type: builderKind, description: '`COMMAND` without it.' }),
    template: t.string({ description: 'The id or name of the template it starts from; `base` without it.' }),
    context: t.string({
      description: 'A folder of the repository; without a repository the `binaryUrl` of an upload. `.` without it.',
    }),
    commands: t.stringList({ description: 'What to run, one after the other.' }),
    env: t.field({ type: 'TextMap', description: 'Variables for the commands.' }),
    secrets: t.stringList({ description: 'Names of build secrets for the commands.' }),
    output: t.field({ type: outputInput, description: 'What it leaves behind; an artifact `build` without it.' }),
    cache: t.boolean({ description: 'Whether it may use what earlier builds kept; true without it.' }),
    resources: t.field({ type: resourcesInput, description: 'How large its VM is.' }),
    timeoutSeconds: t.int({ description: 'How long its commands may take, 1 to 7200; 1800 without it.' }),
  }),
})

/** A spec that was sent, in words of REST; what is null is left out. */
export function wireSpec(sent: typeof buildSpecInput.$inferInput | null | undefined): object | null | undefined {
  if (!sent) return sent
  const { resources, timeoutSeconds, output, ...same } = sent
  return {
    ...withoutNulls(same),
    ...withoutNulls({
      output: output && withoutNulls(output),
      resources: resources && withoutNulls({ vcpu: resources.vcpuCount, memory_mb: resources.memoryMb }),
      timeout_seconds: timeoutSeconds,
    }),
  }
}

function withoutNulls(object: object): object {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null && value !== undefined))
}
