/** The format of models.yaml, ours and the operator's, with a sentence for every problem. */
import { z } from 'zod'
import { reasoningLevels, upstreamKinds } from '#src/drivers/models/model.ts'
import { embeddingLimits } from '#src/platform/limits/embeddings.ts'
import type { FileKind } from '#src/platform/settings/files.ts'
import { modelKinds } from './rows.ts'

/** The capabilities that a model may have, besides streaming, which all have. */
export const modelAbilities = ['tools', 'vision', 'pdf', 'structured_outputs'] as const

const upstreamsMax = 100
const modelsMax = 1000
const upstreamsPerModelMax = 10
const tokensMax = 1_000_000_000
const patienceSecondsMax = 3_600

const slug = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'a short name: lower-case letters, digits, - and _')
const modelId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}\/[A-Za-z0-9][A-Za-z0-9._:/@-]{0,190}$/, 'a name of the form <provider>/<model>')
const text = z.string('text').min(1, 'text').max(255, 'at most 255 characters')
const variable = z
  .string('the name of an environment variable')
  .regex(
    /^[A-Z][A-Z0-9_]{0,63}$/,
    'the name of an environment variable, such as MY_KEY: the key itself does not belong in this file',
  )
const tokens = z.int('a whole number of tokens').min(1, 'at least 1').max(tokensMax, `at most ${tokensMax}`)
const price = z
  .string('US dollars per million tokens, as text: "2.50"')
  .regex(/^\d{1,6}(\.\d{1,3})?$/, 'US dollars per million tokens with three decimals at most: "2.50"')
const day = z
  .string('a day such as 2026-01-31')
  .regex(/^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/, 'a day such as 2026-01-31')
const baseUrl = z
  .url({ protocol: /^https?$/, error: 'an http(s) address' })
  .max(2048, 'at most 2048 characters')
  .refine((url) => !/[?#]|:\/\/[^/]*@/.test(url), 'a URL without credentials, ? and #; name the key in api_key_env')
const patience = z
  .number('a number of seconds')
  .min(1, 'at least 1')
  .max(patienceSecondsMax, `at most ${patienceSecondsMax}`)
const dimensions = z
  .int('a whole number')
  .min(1, 'at least 1')
  .max(embeddingLimits.dimensionsMax, `at most ${embeddingLimits.dimensionsMax}`)
const level = z.enum(reasoningLevels, `one of ${reasoningLevels.join(', ')}`)

const upstream = z.strictObject(
  {
    kind: z.enum(upstreamKinds, `one of ${upstreamKinds.join(', ')}`),
    base_url: baseUrl,
    api_key_env: variable.nullable(),
    first_byte_seconds: patience,
    silence_seconds: patience,
  },
  'an object',
)
const served = z.union(
  [slug, z.strictObject({ upstream: slug, model: text })],
  'the name of an upstream, or {upstream, model}',
)
const model = z.strictObject(
  {
    kind: z.enum(modelKinds, `one of ${modelKinds.join(', ')}`),
    display_name: text,
    owned_by: text,
    created_at: day,
    context_window: tokens,
    max_output_tokens: tokens,
    dimensions,
    flexible_dimensions: z.boolean('true or false'),
    reasoning: z
      .strictObject(
        {
          levels: z.array(level, 'a list').min(1, 'at least one'),
          default: level,
          replay: z
            .enum(['none', 'signature', 'encrypted_content'], 'one of none, signature, encrypted_content')
            .optional(),
        },
        'an object',
      )
      .nullable(),
    capabilities: z.array(z.enum(modelAbilities, `one of ${modelAbilities.join(', ')}`), 'a list'),
    pricing: z.strictObject(
      { input: price, output: price.optional(), cache_read: price.optional(), cache_write: price.optional() },
      'an object',
    ),
    speed: z.enum(['standard', 'fast'], 'one of standard, fast'),
    status: z.enum(['available', 'deprecated'], 'one of available, deprecated'),
    deprecated_at: day,
    retires_at: day,
    line: slug,
    upstreams: z
      .array(served, 'a list')
      .min(1, 'at least one')
      .max(upstreamsPerModelMax, `at most ${upstreamsPerModelMax}`),
  },
  'an object',
)

const file = z.strictObject(
  {
    upstreams: z
      .record(slug, upstream.partial().nullable(), 'an object')
      .refine((all) => Object.keys(all).length <= upstreamsMax, `at most ${upstreamsMax}`)
      .nullish(),
    models: z
      .record(modelId, model.partial().nullable(), 'an object')
      .refine((all) => Object.keys(all).length <= modelsMax, `at most ${modelsMax}`)
      .nullish(),
  },
  'an object with upstreams and models',
)

/** The content of one file: a key may be missing if the other file has it; null removes the whole entry. */
export type ModelFile = z.output<typeof file>
export type UpstreamEntry = Partial<z.output<typeof upstream>>
export type ModelEntry = Partial<z.output<typeof model>>

/** What is known of both files; `name` is the operator's. */
export const modelFileKind: FileKind<ModelFile> = {
  name: 'BERTH_MODELS_FILE',
  shape: file,
  aboutSecrets: 'put the key into an environment variable, and the variable’s name into api_key_env',
}
