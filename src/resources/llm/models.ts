/** The models that callers may ask: found by name, listed. */
import { allow } from '#src/platform/access.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { wholeNumber } from '#src/platform/pages.ts'
import type { Call } from '#src/platform/services.ts'
import type { Model } from './models/rows.ts'
import { modelTable } from './models/table.ts'
import { lifecycleOf, type Lifecycle } from './models/wire.ts'

/** The model of this name: its whole id, or what stands behind the provider when only one model is called so. */
export function findModel(config: Config, name: string): Model | undefined {
  const { models, byBareName } = modelTable(config)
  return models.get(name) ?? byBareName.get(name) ?? undefined
}

/** Which models a list shows, in the order of the table: those behind `afterId`, or the last ones before `beforeId`. All without `limit`. */
export type ModelWindow = {
  lifecycle?: readonly Lifecycle[] | null
  limit?: number | null
  afterId?: string | null
  beforeId?: string | null
}
/** A part of the list of models; `hasMore` in the direction in which it is walked. */
export type ModelList = { data: Model[]; hasMore: boolean }

/** The models that are served. @throws BerthError invalid_request. */
export function listModels(call: Call, { lifecycle, limit, afterId, beforeId }: ModelWindow = {}): ModelList {
  allow(call.caller, 'models:read')
  if (afterId && beforeId)
    throw new BerthError('invalid_request', 'after_id and before_id do not go together; give one of them.')
  const all = [...modelTable(call.config).models.values()]
  const most = wholeNumber('limit', limit ?? limits.modelListMax, 1, limits.modelListMax)
  const from = afterId ? placeOf(all, afterId, 'after_id') + 1 : 0
  const until = beforeId ? placeOf(all, beforeId, 'before_id') : all.length
  const wanted = all.slice(from, until).filter((model) => !lifecycle || lifecycle.includes(lifecycleOf(model)))
  return { data: beforeId ? wanted.slice(-most) : wanted.slice(0, most), hasMore: wanted.length > most }
}

function placeOf(models: readonly Model[], id: string, name: string): number {
  const place = models.findIndex((model) => model.id === id)
  if (place < 0)
    throw new BerthError(
      'invalid_request',
      `${name} is the id of no model here; pass last_id or first_id of the page before.`,
    )
  return place
}

/** One of them. @throws BerthError not_found. */
export function getModel(call: Call, name: string): Model {
  allow(call.caller, 'models:read')
  const model = findModel(call.config, name)
  if (!model) throw notFound('model')
  return model
}
