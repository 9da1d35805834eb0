/** The model by which memories are found by their meaning, where the operator has chosen one. */
import { ConfigError, type Config } from '#src/platform/config.ts'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { findModel } from '#src/resources/llm/models.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'
import { modelTable } from '#src/resources/llm/models/table.ts'

/** The model, how many numbers its vectors have here, and the digest of both by which they are known. */
export type MemoryModel = { model: Model; dimensions: number; madeBy: number }

const known = new WeakMap<Config, MemoryModel | null>()

/** The model of this configuration; null when memories are found by their words only. @throws ConfigError for a name that is not one of a model for embeddings. */
export function memoryModel(config: Config): MemoryModel | null {
  let found = known.get(config)
  if (found === undefined) known.set(config, (found = readMemoryModel(config)))
  return found
}

function readMemoryModel(config: Config): MemoryModel | null {
  const { memoryModel: name } = config
  if (name === null) return null
  const model = findModel(config, name)
  if (!model) {
    const variable = modelTable(config).withoutKey.get(name)
    throw new ConfigError([
      variable === undefined
        ? 'BERTH_MEMORY_MODEL names a model that is not here. It must be the id of one whose kind is embeddings; npm run doctor lists where models come from.'
        : `BERTH_MEMORY_MODEL names a model whose provider is not set up: set ${variable}, too.`,
    ])
  }
  if (model.kind !== 'embeddings' || model.dimensions === null)
    throw new ConfigError([
      `BERTH_MEMORY_MODEL names ${model.id}, which makes no embeddings. Choose a model whose kind is embeddings.`,
    ])
  const dimensions = model.flexibleDimensions
    ? Math.min(model.dimensions, memoryLimits.vectorNumbers)
    : model.dimensions
  return { model, dimensions, madeBy: sha256(`${model.id} ${dimensions}`).readInt32BE() }
}
