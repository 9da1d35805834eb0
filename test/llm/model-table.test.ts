/** The table of models: ours, the operator's over it, what the environment switches on, and every way to get it wrong. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ConfigError, readConfig } from '#src/platform/config.ts'
import { redact } from '#src/platform/log.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'
import { modelTable, type ModelTable } from '#src/resources/llm/models/table.ts'
import { findModel } from '#src/resources/llm/models.ts'
import { readModel } from '#src/resources/llm/models/named.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-models-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const canary = 'sk-canary-5f0e"\\x'
let files = 0
const fileOf = (yaml: string): string => {
  const path = join(folder, `${files++}.yaml`)
  writeFileSync(path, yaml)
  return path
}
const read = (yaml: string | null, env: Record<string, string> = {}): ModelTable =>
  modelTable(readConfig({ ...env, ...(yaml === null ? {} : { BERTH_MODELS_FILE: fileOf(yaml) }) }))
const problemsOf = (yaml: string, env: Record<string, string> = {}): readonly string[] => {
  try {
    read(yaml, env)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}
const local = 'upstreams: { local: { kind: openai-compatible, base_url: "http://localhost:11434/v1/" } }\n'
const modelOf = (yaml: string, id: string, env: Record<string, string> = {}): Model => {
  const model = read(yaml, env).models.get(id)
  if (!model) throw new Error(`there is no ${id}`)
  return model
}

describe('without a file', () => {
  test('and without keys there is the built-in model, which costs nothing', () => {
    const { models } = read(null)
    expect([...models.keys()]).toEqual(['berth/demo', 'berth/demo-embeddings'])
    expect(models.get('berth/demo')).toMatchObject({
      reasoningLevels: ['none', 'low', 'medium', 'high'],
      defaultReasoningLevel: 'none',
      reasoningReplay: 'signature',
      reasoningNeedsId: false,
      pricing: { inputNanoUsd: 0, outputNanoUsd: 0, cacheReadNanoUsd: 0, cacheWriteNanoUsd: 0 },
      upstreams: [
        { kind: 'demo', target: { slug: 'berth', upstreamModel: 'demo', model: 'berth/demo', apiKey: null } },
      ],
    })
  })

  test('a key in the environment switches its provider on', () => {
    const openai = read(null, { OPENAI_API_KEY: canary })
    expect([...openai.models.keys()].every((id) => /^(?:berth|openai)\//.test(id))).toBe(true)
    expect(openai.models.get('openai/gpt-5')).toMatchObject({
      reasoningReplay: 'encrypted_content',
      reasoningNeedsId: true,
      pricing: { inputNanoUsd: 1250, outputNanoUsd: 10_000, cacheReadNanoUsd: 125 },
      upstreams: [
        { kind: 'openai', target: { baseUrl: 'https://api.openai.com/v1', apiKey: canary, upstreamModel: 'gpt-5' } },
      ],
    })
    expect(openai.models.get('openai/gpt-4o')).toMatchObject({
      reasoningLevels: [],
      defaultReasoningLevel: null,
      reasoningReplay: 'none',
      reasoningNeedsId: false,
    })
    const anthropic = read(null, { ANTHROPIC_API_KEY: canary })
    expect(anthropic.models.get('anthropic/claude-sonnet-4-5')).toMatchObject({
      reasoningReplay: 'signature',
      pricing: { inputNanoUsd: 3000, outputNanoUsd: 15_000, cacheReadNanoUsd: 300, cacheWriteNanoUsd: 3750 },
      upstreams: [{ kind: 'anthropic' }],
    })
    expect(anthropic.upstreams.map(({ slug, missing }) => [slug, missing])).toEqual([
      ['berth', null],
      ['openai', 'OPENAI_API_KEY'],
      ['anthropic', null],
    ])
  })

  test('says which key a model of its own table is missing, and nothing of models that the file takes away', () => {
    const refused = (file: string | null, name: string): string => {
      const config = readConfig(file === null ? {} : { BERTH_MODELS_FILE: fileOf(file) })
      try {
        readModel(config, name, 'chat')
        return ''
      } catch (error) {
        return String(error)
      }
    }
    expect(refused(null, 'openai/gpt-4o')).toContain('operator has not set OPENAI_API_KEY')
    expect(refused('models: { openai/gpt-4o: null }', 'openai/gpt-4o')).toContain('There is no such model here')
    expect(refused('models: { mine/own: { context_window: 10, upstreams: [openai] } }', 'mine/own')).toContain(
      'There is no such model here',
    )
  })

  test('is read once for a configuration', () => {
    const config = readConfig({})
    expect(modelTable(config)).toBe(modelTable(config))
  })
})

describe('the operator’s file', () => {
  test('adds a model with nothing but its context and its upstream', () => {
    expect(
      modelOf(`${local}models: { local/llama3.2: { context_window: 8192, upstreams: [local] } }`, 'local/llama3.2'),
    ).toEqual({
      id: 'local/llama3.2',
      kind: 'chat',
      displayName: 'llama3.2',
      ownedBy: 'local',
      createdAt: '1970-01-01T00:00:00.000Z',
      contextWindow: 8192,
      maxOutputTokens: 8192,
      dimensions: null,
      flexibleDimensions: false,
      reasoningLevels: [],
      defaultReasoningLevel: null,
      reasoningReplay: 'none',
      reasoningNeedsId: false,
      capabilities: { tools: true, vision: false, pdf: false, structuredOutputs: false, streaming: true },
      speed: 'standard',
      status: 'available',
      deprecatedAt: null,
      retiresAt: null,
      line: null,
      pricing: { inputNanoUsd: 0, outputNanoUsd: 0, cacheReadNanoUsd: 0, cacheWriteNanoUsd: 0 },
      upstreams: [
        {
          kind: 'openai-compatible',
          target: {
            slug: 'local',
            baseUrl: 'http://localhost:11434/v1',
            apiKey: null,
            upstreamModel: 'llama3.2',
            model: 'local/llama3.2',
            maxOutputTokens: 8192,
            reasoningReplay: 'none',
          },
        },
      ],
    })
  })

  test('changes one key of a model of ours, and keeps the others', () => {
    expect(
      modelOf('models: { openai/gpt-5: { pricing: { input: "0.001", output: "3" } } }', 'openai/gpt-5', {
        OPENAI_API_KEY: canary,
      }),
    ).toMatchObject({
      displayName: 'GPT-5',
      pricing: { inputNanoUsd: 1, outputNanoUsd: 3000, cacheReadNanoUsd: 1, cacheWriteNanoUsd: 1 },
    })
  })

  test('removes models, and changes a provider’s URL', () => {
    const { models } = read(
      'upstreams: { openai: { base_url: "http://proxy.internal:8080/v1" } }\nmodels: { openai/gpt-4o: null, berth/demo: null }',
      { OPENAI_API_KEY: canary },
    )
    expect([models.has('openai/gpt-4o'), models.has('berth/demo')]).toEqual([false, false])
    expect(models.get('openai/gpt-5')?.upstreams[0].target).toMatchObject({
      baseUrl: 'http://proxy.internal:8080/v1',
      apiKey: canary,
    })
  })

  test('names several upstreams, tried in its order, each with its own name of the model and its own key', () => {
    const yaml = `upstreams:\n  one: { kind: anthropic, base_url: "https://one.test", api_key_env: ONE_KEY }\n  two: { kind: openai-compatible, base_url: "https://two.test/v1" }
models:\n  mine/best:\n    context_window: 1000\n    reasoning: { levels: [low, high], default: high }\n    upstreams: [{ upstream: one, model: "best@1" }, openai, two]`
    const model = modelOf(yaml, 'mine/best', { ONE_KEY: canary })
    expect(
      model.upstreams.map(({ kind, target }) => [
        kind,
        target.slug,
        target.upstreamModel,
        target.apiKey,
        target.reasoningReplay,
      ]),
    ).toEqual([
      ['anthropic', 'one', 'best@1', canary, 'signature'],
      ['openai-compatible', 'two', 'best', null, 'none'],
    ])
    expect(model.reasoningReplay).toBe('signature')
  })

  test('says how long an upstream may take', () => {
    const { target } = modelOf(
      'upstreams: { slow: { kind: openai-compatible, base_url: "http://a", first_byte_seconds: 900, silence_seconds: 30.5 } }\nmodels: { local/x: { context_window: 10, upstreams: [slow] } }',
      'local/x',
    ).upstreams[0]
    expect(target).toMatchObject({ firstByteSeconds: 900, silenceSeconds: 30.5 })
  })

  test('may be empty', () => {
    for (const yaml of ['', '# nothing', 'models:\nupstreams:\n', '{}'])
      expect([...read(yaml).models.keys()]).toEqual(['berth/demo', 'berth/demo-embeddings'])
  })
})

test('a model is found by its id, and by the id without its provider if that is unique', () => {
  const config = readConfig({
    OPENAI_API_KEY: canary,
    BERTH_MODELS_FILE: fileOf(
      `${local}models: { local/gpt-4o: { context_window: 10, upstreams: [local] }, local/a/b: { context_window: 10, upstreams: [local] } }`,
    ),
  })
  expect(['berth/demo', 'demo', 'openai/gpt-4o', 'gpt-5', 'a/b'].map((name) => findModel(config, name)?.id)).toEqual([
    'berth/demo',
    'berth/demo',
    'openai/gpt-4o',
    'openai/gpt-5',
    'local/a/b',
  ])
  expect(
    ['gpt-4o', '', 'openai/', 'GPT-5', 'anthropic/claude-sonnet-4-5', 'toString', '__proto__'].map((name) =>
      findModel(config, name),
    ),
  ).toEqual(Array(7).fill(undefined))
})

describe('an invalid file', () => {
  const model = (entry: string): string =>
    `${local}models: { local/x: { context_window: 10, upstreams: [local], ${entry} } }`
  test.each<[string, string]>([
    ['[1]', 'the file must be an object'],
    ['models: 5', 'models must be an object'],
    ['modles: {}', 'modles is not known here'],
    ['a: [', 'is not YAML'],
    ['a: 1\na: 2', 'line 2 is not YAML'],
    ['a: &a [*a]', 'not known'],
    ['upstreams: { X!: { kind: demo } }', 'upstreams.X! must be a short name'],
    ['upstreams: { x: { base_url: "http://a" } }', 'upstreams.x.kind is needed'],
    ['upstreams: { x: { kind: magic } }', 'upstreams.x.kind must be one of'],
    ['upstreams: { x: { kind: openai-compatible } }', 'upstreams.x.base_url is needed'],
    ['upstreams: { x: { kind: openai, base_url: "ftp://a" } }', 'upstreams.x.base_url must be an http(s) address'],
    ['upstreams: { x: { kind: openai, base_url: "http://u:p@a" } }', 'without credentials'],
    ['upstreams: { x: { kind: openai, base_url: "http://a?k=1" } }', 'without credentials'],
    [
      'upstreams: { x: { kind: openai, base_url: "http://a", api_key_env: NOT_SET } }',
      'names NOT_SET, which is not set',
    ],
    ['upstreams: { openai: { first_byte_seconds: 0 } }', 'first_byte_seconds must be at least 1'],
    ['upstreams: { openai: { silence_seconds: 4000 } }', 'silence_seconds must be at most 3600'],
    ['upstreams: { openai: { silence_seconds: "5" } }', 'silence_seconds must be a number of seconds'],
    ['models: { x: {} }', 'models.x must be a name of the form'],
    ['models: { local/x: { upstreams: [berth] } }', 'models.local/x.context_window is needed'],
    ['models: { local/x: { context_window: 5 } }', 'models.local/x.upstreams is needed'],
    [
      'models: { local/x: { context_window: 5, upstreams: [nowhere] } }',
      'names nowhere, which is not among the upstreams',
    ],
    [model('upstreams: []'), 'YAML'],
    ['models: { local/x: { context_window: 5, upstreams: [] } }', 'upstreams must be at least one'],
    [model('max_output_tokens: 11'), 'max_output_tokens must not be more'],
    [model('max_output_tokens: 0'), 'max_output_tokens must be at least 1'],
    [model('max_output_tokens: 1.5'), 'max_output_tokens must be a whole number'],
    [model('pricing: { input: 3, output: "1" }'), 'pricing.input must be US dollars'],
    [model('pricing: { input: "3", output: "-1" }'), 'pricing.output must be US dollars'],
    [model('pricing: { input: "0.0001", output: "1" }'), 'three decimals'],
    [model('pricing: { input: "1" }'), 'pricing.output is needed'],
    [model('reasoning: { levels: [], default: low }'), 'levels must be at least one'],
    [model('reasoning: { levels: [low], default: high }'), 'reasoning.default must be one of its levels'],
    [model('reasoning: { levels: [hard], default: hard }'), 'levels.0 must be one of none'],
    [model('capabilities: [fly]'), 'capabilities.0 must be one of tools'],
    [model('created_at: yesterday'), 'created_at must be a day'],
    [model('status: gone'), 'status must be one of'],
    [model('speed: 5'), 'speed must be one of'],
    [model('colour: red'), 'models.local/x.colour is not known'],
  ])('says so: %j', (yaml, said) => {
    expect(problemsOf(yaml).join('\n')).toContain(said)
  })

  test('has all its problems named at once, and no value of it quoted', () => {
    const problems = problemsOf(
      `upstreams: { x: { kind: openai, base_url: ${canary.slice(0, 14)}, api_key: ${canary.slice(0, 14)}, api_key_env: ${canary.slice(0, 14)} } }\nmodels: { a/b: { context_window: ${canary.slice(0, 14)}, upstreams: ${canary.slice(0, 14)} } }`,
    )
    expect(problems).toHaveLength(5)
    expect(problems.join()).toContain('put the key into an environment variable')
    expect(problems.join()).not.toContain('canary')
    expect(problemsOf(`upstreams: {x: ${canary.slice(0, 14)}: ]`).join()).not.toContain('canary')
  })

  test('that does not exist, is a folder, or is too large is reported as such', () => {
    const said = (path: string): string => {
      try {
        modelTable(readConfig({ BERTH_MODELS_FILE: path }))
      } catch (error) {
        return String(error)
      }
      return ''
    }
    expect(said(join(folder, 'absent.yaml'))).toContain('BERTH_MODELS_FILE cannot be read (ENOENT)')
    expect(said(folder)).toContain('BERTH_MODELS_FILE cannot be read (EISDIR)')
    expect(said(fileOf(`#${'x'.repeat(1024 * 1024)}`))).toContain('larger than')
    expect(
      said(
        fileOf(
          `a: &a [x,x,x,x,x,x,x,x,x]\n${Array.from('bcdefghij', (name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[at]}`).join()}]`).join('\n')}`,
        ),
      ),
    ).toContain('aliases')
  })

  test('a provider’s key that is not valid in a header is refused without being shown', () => {
    expect(() => readConfig({ OPENAI_API_KEY: 'canary with spaces\n' })).toThrow(
      'OPENAI_API_KEY must be a key of the OpenAI API.',
    )
  })
})

test('a provider’s key is redacted in every line of the log', () => {
  read(null, { OPENAI_API_KEY: canary })
  expect(redact(`Bearer ${canary} and ${JSON.stringify({ deep: { key: canary } })}`)).not.toContain('canary')
})
