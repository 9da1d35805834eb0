/** The model that a request names. */
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { findModel } from '../models.ts'
import { checkKind } from './kinds.ts'
import type { Model, ModelKind } from './rows.ts'
import { modelTable } from './table.ts'

/**
 * The model of this kind with the name in a body's `model`.
 * @throws BerthError invalid_parameter when it is no name; unsupported_model for one that is not here, or of another
 * kind.
 */
export function readModel(config: Config, name: unknown, kind: ModelKind): Model {
  if (typeof name !== 'string' || name === '')
    throw new BerthError(
      'invalid_parameter',
      'model is required: the id of a model that GET /llm/v1/models lists, as does `models` in GraphQL.',
    )
  const model = findModel(config, name)
  if (!model)
    throw new BerthError(
      'unsupported_model',
      `${whyNone(config, name)} GET /llm/v1/models lists all of them, as does \`models\` in GraphQL${examples(config, kind)}.`,
    )
  checkKind(model, kind)
  return model
}

const modelsNamed = 3

function whyNone(config: Config, name: string): string {
  const { withoutKey } = modelTable(config)
  const id = withoutKey.has(name) ? name : [...withoutKey.keys()].find((one) => one.endsWith(`/${name}`))
  return id === undefined
    ? 'There is no such model here.'
    : `The provider of ${id} is not set up here: its operator has not set ${withoutKey.get(id)}.`
}

function examples(config: Config, kind: ModelKind): string {
  const some = [...modelTable(config).models.values()].filter((model) => model.kind === kind).slice(0, modelsNamed)
  return some.length === 0 ? '' : `; for example ${some.map(({ id }) => id).join(', ')}`
}
