/**
 * The catalog of models of this installation: our own file, the operator's file over it, and the keys in the
 * environment. Read once for a configuration; all problems are reported together, like those of the settings.
 */
import { readFileSync } from 'node:fs'
import { ConfigError, type Config } from '#src/platform/config.ts'
import { neverLog } from '#src/platform/log.ts'
import { parseSettingsFile, readSettingsFile, type FileContent } from '#src/platform/settings/files.ts'
import { withoutEnding } from '#src/platform/texts.ts'
import type { ReasoningReplay, UpstreamKind, UpstreamTarget } from '#src/drivers/models/model.ts'
import { modelAbilities, modelFileKind, type ModelEntry, type ModelFile, type UpstreamEntry } from './file.ts'
import { kindProblems } from './kinds.ts'
import type { Model, ModelUpstream, Pricing } from './rows.ts'

const ours = new URL('models.yaml', import.meta.url)
const fileBytesMax = 1024 * 1024

/** How a kind of upstream takes its own reasoning back; OpenAI's blocks are known by their id. */
const replayOf: Readonly<Record<UpstreamKind, ReasoningReplay>> = {
  openai: 'encrypted_content',
  'openai-compatible': 'none',
  anthropic: 'signature',
  demo: 'signature',
}

/** An upstream as the doctor shows it; `missing` is the environment variable without which it is not used. */
export type KnownUpstream = { slug: string; kind: UpstreamKind; baseUrl: string; missing: string | null }

/** Models by id, in the order of the files, and every upstream, including those without a key. */
export type ModelTable = {
  models: ReadonlyMap<string, Model>
  byBareName: ReadonlyMap<string, Model | null>
  /** The environment variable without which a model of Berth's own table is not available, by its id. */
  withoutKey: ReadonlyMap<string, string>
  upstreams: readonly KnownUpstream[]
}

const tables = new WeakMap<Config, ModelTable>()

/** The catalog of this configuration. @throws ConfigError naming every problem with the operator's file. */
export function modelTable(config: Config): ModelTable {
  let table = tables.get(config)
  if (!table) tables.set(config, (table = readModelTable(config)))
  return table
}

function readModelTable(config: Config): ModelTable {
  const own = parseSettingsFile({ ...modelFileKind, name: 'models.yaml' }, readFileSync(ours, 'utf8'))
  const operators: FileContent<ModelFile> =
    config.modelsFile === null
      ? { value: null, problems: [] }
      : readSettingsFile(modelFileKind, config.modelsFile, { bytesMax: fileBytesMax })
  const problems = [...own.problems, ...operators.problems]
  const upstreams = makeUpstreams(config, own.value ?? {}, operators.value ?? {}, problems)
  const entries = merge(own.value?.models, operators.value?.models)
  const models = makeModels(entries, upstreams, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  const byBareName = new Map<string, Model | null>()
  for (const model of models.values()) {
    const name = bareName(model.id)
    byBareName.set(name, byBareName.has(name) ? null : model)
  }
  const withoutKey = findWithoutKey(own.value ?? {}, entries, upstreams)
  return { models, byBareName, withoutKey, upstreams: [...upstreams.values()].map(({ known }) => known) }
}

/** Entries of both files: the operator's keys override ours, and null removes an entry. */
function merge<Entry extends object>(
  ours: Record<string, Entry | null> | null | undefined,
  theirs: Record<string, Entry | null> | null | undefined,
): Map<string, Entry> {
  const merged = new Map<string, Entry>()
  for (const [name, entry] of Object.entries(ours ?? {})) if (entry) merged.set(name, entry)
  for (const [name, entry] of Object.entries(theirs ?? {})) {
    if (entry) merged.set(name, { ...merged.get(name), ...entry })
    else merged.delete(name)
  }
  return merged
}

type Patience = Pick<UpstreamTarget, 'firstByteSeconds' | 'silenceSeconds'>
type Upstream = { known: KnownUpstream; apiKey: string | null; patience: Patience }

function makeUpstreams(
  config: Config,
  own: ModelFile,
  operators: ModelFile,
  problems: string[],
): Map<string, Upstream> {
  const upstreams = new Map<string, Upstream>()
  for (const [
    slug,
    {
      kind,
      base_url: url,
      api_key_env: variable,
      first_byte_seconds: firstByteSeconds,
      silence_seconds: silenceSeconds,
    },
  ] of merge<UpstreamEntry>(own.upstreams, operators.upstreams)) {
    if (!kind) {
      problems.push(`BERTH_MODELS_FILE: upstreams.${slug}.kind is needed.`)
      continue
    }
    if (kind !== 'demo' && !url) problems.push(`BERTH_MODELS_FILE: upstreams.${slug}.base_url is needed.`)
    const apiKey = variable ? config.upstreamKey(variable) : null
    const missing = variable && !apiKey ? variable : null
    // A missing key of the operator's upstream is an error; our own two upstreams are just not used without keys.
    if (missing && operators.upstreams?.[slug]?.api_key_env)
      problems.push(
        `BERTH_MODELS_FILE: upstreams.${slug}.api_key_env names ${variable}, which is not set in the environment.`,
      )
    if (apiKey) neverLog(apiKey)
    upstreams.set(slug, {
      known: { slug, kind, baseUrl: withoutEnding(url ?? '', '/'), missing },
      apiKey,
      patience: { ...(firstByteSeconds && { firstByteSeconds }), ...(silenceSeconds && { silenceSeconds }) },
    })
  }
  return upstreams
}

/** The models that have an upstream; the others are known but not available. */
function makeModels(
  entries: Map<string, ModelEntry>,
  upstreams: ReadonlyMap<string, Upstream>,
  problems: string[],
): Map<string, Model> {
  const models = new Map<string, Model>()
  for (const [id, entry] of entries) {
    const place = `BERTH_MODELS_FILE: models.${id}`
    const { context_window: contextWindow, upstreams: named } = entry
    if (!contextWindow) problems.push(`${place}.context_window is needed.`)
    if (!named) problems.push(`${place}.upstreams is needed.`)
    if (!contextWindow || !named) continue
    const isForChats = entry.kind !== 'embeddings'
    const maxOutputTokens = isForChats ? (entry.max_output_tokens ?? contextWindow) : 0
    if (maxOutputTokens > contextWindow)
      problems.push(`${place}.max_output_tokens must not be more than its context_window.`)
    if (entry.reasoning && !entry.reasoning.levels.includes(entry.reasoning.default))
      problems.push(`${place}.reasoning.default must be one of its levels.`)
    const ways = named.map((one) => (typeof one === 'string' ? { upstream: one, model: bareName(id) } : one))
    for (const way of ways)
      if (!upstreams.has(way.upstream))
        problems.push(`${place}.upstreams names ${way.upstream}, which is not among the upstreams.`)
    const kinds = ways.map(({ upstream }) => ({ upstream, kind: upstreams.get(upstream)?.known.kind }))
    problems.push(...kindProblems(entry, kinds).map((problem) => `${place}.${problem}`))
    const first = upstreams.get(ways[0]?.upstream ?? '')
    const replay = entry.reasoning ? (entry.reasoning.replay ?? (first ? replayOf[first.known.kind] : 'none')) : 'none'
    const usable = ways.flatMap((way): ModelUpstream[] => {
      const found = upstreams.get(way.upstream)
      if (!found || found.known.missing) return []
      const { kind, slug, baseUrl } = found.known
      // Reasoning belongs to one kind of provider: it is not replayed to an upstream of another kind.
      const reasoningReplay = kind === first?.known.kind ? replay : 'none'
      const target: UpstreamTarget = {
        slug,
        baseUrl,
        apiKey: found.apiKey,
        upstreamModel: way.model,
        model: id,
        maxOutputTokens,
        reasoningReplay,
        ...found.patience,
      }
      return [{ kind, target }]
    })
    const [head, ...rest] = usable
    if (head)
      models.set(id, {
        ...describe(id, entry),
        contextWindow,
        maxOutputTokens,
        reasoningReplay: replay,
        reasoningNeedsId: replay === 'encrypted_content',
        upstreams: [head, ...rest],
      })
  }
  return models
}

/** Those of our own file only: what an operator keeps to themselves stays so. */
function findWithoutKey(
  own: ModelFile,
  entries: ReadonlyMap<string, ModelEntry>,
  upstreams: ReadonlyMap<string, Upstream>,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const id of Object.keys(own.models ?? {})) {
    const ways = (entries.get(id)?.upstreams ?? []).map((one) => (typeof one === 'string' ? one : one.upstream))
    const missing = ways.map((slug) => upstreams.get(slug)?.known.missing ?? null)
    if (missing[0] && missing.every((one) => one !== null)) found.set(id, missing[0])
  }
  return found
}

function describe(
  id: string,
  entry: ModelEntry,
): Pick<
  Model,
  | 'id'
  | 'kind'
  | 'displayName'
  | 'ownedBy'
  | 'createdAt'
  | 'dimensions'
  | 'flexibleDimensions'
  | 'reasoningLevels'
  | 'defaultReasoningLevel'
  | 'capabilities'
  | 'pricing'
  | 'speed'
  | 'status'
  | 'deprecatedAt'
  | 'retiresAt'
  | 'line'
> {
  const kind = entry.kind ?? 'chat'
  const able = (ability: (typeof modelAbilities)[number]): boolean =>
    entry.capabilities?.includes(ability) ?? (kind === 'chat' && ability === 'tools') // most servers can
  return {
    id,
    kind,
    displayName: entry.display_name ?? bareName(id),
    ownedBy: entry.owned_by ?? id.slice(0, id.indexOf('/')),
    createdAt: beginOf(entry.created_at ?? '1970-01-01'), // not known
    dimensions: entry.dimensions ?? null,
    flexibleDimensions: entry.flexible_dimensions ?? false,
    reasoningLevels: entry.reasoning?.levels ?? [],
    defaultReasoningLevel: entry.reasoning?.default ?? null,
    capabilities: {
      tools: able('tools'),
      vision: able('vision'),
      pdf: able('pdf'),
      structuredOutputs: able('structured_outputs'),
      streaming: kind === 'chat',
    },
    pricing: readPricing(entry.pricing),
    speed: entry.speed ?? 'standard',
    status: entry.status ?? 'available',
    deprecatedAt: entry.deprecated_at ? beginOf(entry.deprecated_at) : null,
    retiresAt: entry.retires_at ? beginOf(entry.retires_at) : null,
    line: entry.line ?? null,
  }
}

/**
 * Without prices a model is free, like one on the operator's own machine; by default cached tokens cost as much as
 * input.
 */
function readPricing(pricing: ModelEntry['pricing']): Pricing {
  const input = pricing?.input ?? '0'
  return {
    inputNanoUsd: nanoUsd(input),
    outputNanoUsd: nanoUsd(pricing?.output ?? '0'),
    cacheReadNanoUsd: nanoUsd(pricing?.cache_read ?? input),
    cacheWriteNanoUsd: nanoUsd(pricing?.cache_write ?? input),
  }
}

/**
 * A dollar per million tokens is a thousand nano-dollars per token; with at most three decimals that is a whole number.
 */
function nanoUsd(dollarsPerMillion: string): number {
  const [whole = '0', decimals = ''] = dollarsPerMillion.split('.')
  return Number(whole) * 1000 + Number(decimals.padEnd(3, '0'))
}

function beginOf(day: string): string {
  return `${day}T00:00:00.000Z`
}

/** The id without its provider. */
function bareName(id: string): string {
  return id.slice(id.indexOf('/') + 1)
}
