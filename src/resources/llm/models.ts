/** The models that callers may use: finding them by name, and listing them. */
import { allow } from '#src/platform/access.ts'
import type { Config } from '#src/platform/config.ts'
import { notFound } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { readPageBy, type Page, type PageReading, type PageWindow } from '#src/platform/pages.ts'
import type { Call } from '#src/platform/services.ts'
import type { Model, ModelKind } from './models/rows.ts'
import { modelTable } from './models/table.ts'
import { lifecycleOf, type Lifecycle } from './models/wire.ts'

/** The model with this name: its full id, or the id without its provider if that is unique. */
export function findModel(config: Config, name: string): Model | undefined {
  const { models, byBareName } = modelTable(config)
  return models.get(name) ?? byBareName.get(name) ?? undefined
}

/** Conditions of a list of models. */
export type ModelFilter = { lifecycle?: readonly Lifecycle[] | null; kind?: ModelKind | null }

/** The available models, in the order of the catalog. A cursor is a model's id. @throws BerthError invalid_request. */
export function pageModels(call: Call, window: PageWindow, filter?: ModelFilter | null): Promise<Page<Model>> {
  allow(call.caller, 'models:read')
  const all = [...modelTable(call.config).models.values()]
  const places = new Map(all.map(({ id }, place) => [id, place]))
  const { lifecycle, kind } = filter ?? {}
  const isShown = (model: Model): boolean =>
    (!lifecycle || lifecycle.includes(lifecycleOf(model))) && (!kind || model.kind === kind)
  const within = ({ after, before }: PageReading<number>): Model[] =>
    all.slice(after === null ? 0 : after + 1, before ?? all.length).filter(isShown)
  const read = async (reading: PageReading<number>): Promise<Model[]> => {
    const { most, fromEnd } = reading
    return fromEnd ? within(reading).reverse().slice(0, most) : within(reading).slice(0, most)
  }
  return readPageBy(
    { keyOf: (id) => places.get(id), cursorOf: ({ id }) => id },
    window,
    read,
    async (reading) => within(reading).length,
    limits.modelListMax,
  )
}

/** The models of these ids. */
export async function findModels(call: Call, ids: readonly string[]): Promise<Model[]> {
  allow(call.caller, 'models:read')
  const { models } = modelTable(call.config)
  return ids.flatMap((id) => models.get(id) ?? [])
}

/** One model. @throws BerthError not_found. */
export function getModel(call: Call, name: string): Model {
  allow(call.caller, 'models:read')
  const model = findModel(call.config, name)
  if (!model) throw notFound('model')
  return model
}
