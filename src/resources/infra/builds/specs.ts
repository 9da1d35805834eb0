/** Build specs: `berth.build/v1`. Stored sealed, because their environment variables may contain secrets. */
import { posix } from 'node:path'
import { z } from 'zod'
import { BerthError } from '#src/platform/errors.ts'
import { parseJson } from '#src/platform/json/body.ts'
import { limits } from '#src/platform/limits.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { exact, sentenceOf } from '#src/platform/shapes.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import type { Build } from './rows.ts'
import { checkEnv } from '#src/platform/shapes/env.ts'

/**
 * A spec with every default filled in. Paths are relative to the checkout; `path` null means the checkout. The start command
 * and the port of a function's version are as in the version before when they are absent.
 */
export type BuildSpec = {
  version: 1
  builder: 'command' | 'static'
  template: string
  context: string
  commands: string[]
  env: Record<string, string>
  secrets: string[]
  output: {
    type: 'artifact' | 'template' | 'function'
    name: string
    path: string | null
    start_command?: string | undefined
    port?: number | undefined
  }
  cache: boolean
  resources: { vcpu: number; memory_mb: number }
  timeout_seconds: number
}

/** The size of the machines that are kept warm. */
const defaultResources = { vcpu: 2, memory_mb: 2048 }
const noNul = (text: string): boolean => !text.includes('\0')
/** A text that is too long is refused before further checks: normalizing a path takes quadratic time. */
const text = (most: number): z.ZodString => z.string().max(most, { abort: true }).refine(noNul)
const path = text(limits.buildPathLength).refine(
  (given) => !posix.isAbsolute(given) && !posix.normalize(given).split('/').includes('..'),
)
/** Whether it has a scheme, such as `file:`: no folder of a checkout is called so. */
const hasScheme = (given: string): boolean => /^[a-z][a-z\d+.-]*:/i.test(given)
const isUrl = (given: string): boolean => /^https?:\/\//.test(given)
const shape = exact({
  version: z.literal(1).default(1),
  builder: z.enum(['command', 'static']).default('command'),
  template: text(limits.nameLength).min(1).default('base'),
  context: z.union([path.refine((given) => !hasScheme(given)), text(limits.buildUrlLength).refine(isUrl)]).default('.'),
  commands: z.array(text(limits.buildCommandLength).min(1)).max(limits.buildCommandsMax).default([]),
  env: z.record(z.string(), z.string()).default({}),
  secrets: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/))
    .max(limits.buildSecretsMax)
    .default([]),
  output: exact({
    type: z.enum(['artifact', 'template', 'function']),
    name: z.string().regex(/^[a-z][a-z0-9-]{0,62}$/),
    path: path.nullish().transform((given) => given || null),
    start_command: text(functionLimits.commandLength)
      .refine((given) => given.isWellFormed())
      .nullish()
      .transform((given) => given ?? undefined),
    port: z
      .int()
      .min(1)
      .max(65_535)
      .nullish()
      .transform((given) => given ?? undefined),
  }).default({ type: 'artifact', name: 'build', path: null, start_command: undefined, port: undefined }),
  cache: z.boolean().default(true),
  resources: exact({
    vcpu: z.int().min(1).max(16).default(defaultResources.vcpu),
    memory_mb: z.int().min(256).max(65_536).default(defaultResources.memory_mb),
  }).default(defaultResources),
  timeout_seconds: z.int().min(1).max(limits.buildTimeoutSecondsMax).default(limits.buildTimeoutSecondsDefault),
})

const hints: Readonly<Record<string, string>> = {
  version: 'must be 1',
  builder: 'must be "command" or "static"',
  template: 'must name a template',
  context: 'must be a relative path inside the checkout, or the binary_url of an upload',
  commands: `must be a list of at most ${limits.buildCommandsMax} texts of 1 to ${limits.buildCommandLength} characters`,
  env: 'must be an object from text to text',
  secrets: `must be a list of at most ${limits.buildSecretsMax} names of build secrets`,
  output: `must be {"type": "artifact"|"template"|"function", "name", "path"?, "start_command"?, "port"?}: the name begins with a letter and has lower-case letters, digits and dashes, 63 at most; the path is relative and stays inside the checkout; of a function, the start command is text of at most ${functionLimits.commandLength} characters, and the port 1 to 65535`,
  cache: 'must be true or false',
  resources: 'must be {"vcpu": 1 to 16, "memory_mb": 256 to 65536}',
  timeout_seconds: `must be a whole number from 1 to ${limits.buildTimeoutSecondsMax}`,
}

/**
 * Reads a spec sent as bytes, an array of 0 to 255 that is UTF-8 JSON, or as the object itself.
 * @throws BerthError as readSpec.
 */
export function readSpecBytes(given: unknown): BuildSpec {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return readSpec(given)
  if (!Array.isArray(given) || given.length === 0)
    throw new BerthError(
      'invalid_spec',
      'spec must be a JSON object, such as {"commands": ["make"]}, or the list of its UTF-8 bytes.',
    )
  if (given.length > limits.buildSpecBytes) throw tooLong()
  if (!given.every((byte) => typeof byte === 'number' && Number.isInteger(byte) && byte >= 0 && byte <= 255))
    throw new BerthError('invalid_spec', 'spec must be a list of bytes: whole numbers from 0 to 255.')
  let object: unknown
  try {
    object = parseJson(Buffer.from(given as number[]), true) // checked just above
  } catch (error) {
    throw error instanceof BerthError ? new BerthError('invalid_spec', `spec: ${error.message}`) : error
  }
  return readSpec(object)
}

/**
 * Reads a spec sent as an object.
 * @throws BerthError invalid_spec naming the wrong key, never its value, which may be a secret; invalid_env_key,
 * invalid_env_value.
 */
export function readSpec(object: unknown): BuildSpec {
  if (typeof object !== 'object' || object === null || Array.isArray(object))
    throw new BerthError('invalid_spec', 'spec must contain a JSON object; `{}` is one.')
  if (Buffer.byteLength(JSON.stringify(object)) > limits.buildSpecBytes) throw tooLong()
  const outcome = shape.safeParse(object)
  if (!outcome.success) {
    if (outcome.error.issues[0]?.code === 'unrecognized_keys')
      throw new BerthError('invalid_spec', sentenceOf(outcome.error, 'spec'))
    const key = String(outcome.error.issues[0]?.path[0] ?? '')
    throw new BerthError('invalid_spec', `spec.${key} ${hints[key] ?? 'is not valid'}.`)
  }
  const spec = outcome.data
  checkEnv(spec.env, 'secret')
  checkEnv(Object.fromEntries(spec.secrets.map((name) => [name, ''])), 'secret')
  const twice = spec.secrets.find((name) => Object.hasOwn(spec.env, name))
  if (twice) throw new BerthError('invalid_spec', `spec.secrets and spec.env both have ${twice}; keep one.`)
  const { type, start_command, port } = spec.output
  if (type !== 'function' && (start_command !== undefined || port !== undefined))
    throw new BerthError(
      'invalid_spec',
      `spec.output has a start_command or a port, which only a function has, and its type is "${type}". Leave them out, or set the type to "function".`,
    )
  if (spec.builder === 'static' && spec.commands.length > 0)
    throw new BerthError(
      'invalid_spec',
      'spec.commands cannot be used with the builder "static", which publishes the path as it is.',
    )
  return spec
}

function tooLong(): BerthError {
  return new BerthError('invalid_spec', `spec must have at most ${limits.buildSpecBytes} bytes.`)
}

/** Seals a spec for its build. */
export function sealSpec(sealer: Sealer, buildId: string, spec: BuildSpec): Buffer {
  return sealer.seal(JSON.stringify(spec), `build_jobs.spec:${buildId}`)
}

/** A build's spec. */
export function openSpec(sealer: Sealer, build: Pick<Build, 'id' | 'sealedSpec'>): BuildSpec {
  if (!build.sealedSpec) throw new Error('a build that has ended has no order any more')
  return JSON.parse(sealer.open(build.sealedSpec, `build_jobs.spec:${build.id}`)) as BuildSpec // sealed by sealSpec
}
