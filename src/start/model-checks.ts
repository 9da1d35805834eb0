/** The doctor's checks of models: which upstreams are set up, and whether they can be reached from here. */
import type { Config } from '../platform/config.ts'
import { memoryModel } from '#src/resources/agents/memories/model.ts'
import { modelTable, type KnownUpstream } from '#src/resources/llm/models/table.ts'
import type { Check } from './checks.ts'

const reachTimeoutMs = 3_000

/**
 * Every check of models. No key is sent and none is shown; an upstream that cannot be reached does not fail the check.
 * @throws ConfigError for an invalid models file.
 */
export async function checkModels(config: Config): Promise<Check[]> {
  const { models, upstreams } = modelTable(config)
  const served = (slug: string): number =>
    [...models.values()].filter((model) => model.upstreams.some(({ target }) => target.slug === slug)).length
  return [
    ...(await Promise.all(upstreams.map((upstream) => checkUpstream(upstream, served(upstream.slug))))),
    checkMemories(config),
  ]
}

function checkMemories(config: Config): Check {
  const chosen = memoryModel(config)
  return chosen
    ? { verdict: 'works', what: `memories: found by their words, and by their meaning with ${chosen.model.id}` }
    : {
        verdict: 'neither',
        what: 'memories: found by their words only',
        remedy: 'Set BERTH_MEMORY_MODEL to a model for embeddings to find them by their meaning, too.',
      }
}

async function checkUpstream({ slug, kind, baseUrl, missing }: KnownUpstream, models: number): Promise<Check> {
  if (missing)
    return { verdict: 'neither', what: `models of ${slug}: not set up`, remedy: `Set ${missing} to use them.` }
  const what = `models of ${slug}: ${models}, ${kind === 'demo' ? 'built in' : `at ${baseUrl}`}`
  const reason = kind === 'demo' ? null : await whyNotReached(baseUrl)
  return reason === null
    ? { verdict: 'works', what }
    : {
        verdict: 'neither',
        what: `${what}, which does not answer (${reason})`,
        remedy: 'Start it, or correct base_url in BERTH_MODELS_FILE; requests for these models fail until then.',
      }
}

/** Any response counts: without a key it will be a refusal. */
async function whyNotReached(url: string): Promise<string | null> {
  try {
    await (
      await fetch(url, { method: 'GET', redirect: 'manual', signal: AbortSignal.timeout(reachTimeoutMs) })
    ).body?.cancel()
    return null
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined
    if (cause instanceof Error && 'code' in cause) return String(cause.code)
    return error instanceof Error ? error.name : 'unknown'
  }
}
