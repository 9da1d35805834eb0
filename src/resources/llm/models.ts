/** The models that callers may ask: found by name, listed. */
import { allow } from '#src/platform/access.ts'
import type { Config } from '#src/platform/config.ts'
import { notFound } from '#src/platform/errors.ts'
import type { Call } from '#src/platform/services.ts'
import type { Model } from './model-rows.ts'
import { modelTable } from './model-table.ts'

/** The model of this name: its whole id, or what stands behind the provider when only one model is called so. */
export function findModel(config: Config, name: string): Model | undefined {
  const { models, byBareName } = modelTable(config)
  return models.get(name) ?? byBareName.get(name) ?? undefined
}

/** Every model that is served, in the order of the table. */
export function listModels(call: Call): Model[] {
  allow(call.caller, 'models:read')
  return [...modelTable(call.config).models.values()]
}

/** One of them. @throws BerthError not_found. */
export function getModel(call: Call, name: string): Model {
  allow(call.caller, 'models:read')
  const model = findModel(call.config, name)
  if (!model) throw notFound('model')
  return model
}
