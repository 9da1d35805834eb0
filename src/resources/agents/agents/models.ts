/** The model of an agent, checked against the catalog. */
import { z } from 'zod'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { findModel } from '#src/resources/llm/models.ts'
import type { AgentModel } from './rows.ts'
import { readShape, usually } from '#src/platform/shapes/fields.ts'
import { input } from '#src/platform/shapes/inputs.ts'

const levels = ['low', 'medium', 'high', 'xhigh', 'max'] as const
const noPlace: z.ZodType<null, unknown> = z.null(
  'it is not supported: a model runs where its upstream runs it. Leave it out, and choose the upstream in the models file',
)
const shape = input({
  id: z.string().min(1),
  effort: usually(
    input({ type: z.enum(levels) }).transform(({ type }) => type),
    null,
  ),
  speed: usually(z.enum(['standard', 'fast']), 'standard'),
  inference_geo: noPlace.optional(),
})

/** The model of an agent as callers give it. */
export type AgentModelInput = z.input<typeof shape>

/**
 * Reads an agent's `model`.
 * @returns it with the full id from the catalog, so that a short name keeps its meaning.
 * @throws BerthError unknown_model; invalid_request.
 */
export function readAgentModel(config: Config, given: AgentModelInput | null | undefined): AgentModel {
  const { inference_geo: _none, ...model } = readShape(shape, given, 'model')
  const known = findModel(config, model.id)
  if (!known)
    throw new BerthError(
      'unknown_model',
      'model is not available here; GET /agents/v1/models lists the available ones, as does `models` in GraphQL.',
    )
  if (known.kind !== 'chat')
    throw new BerthError(
      'unknown_model',
      'model makes embeddings, so no agent can use it. Choose one whose kind is chat: GET /agents/v1/models?kind=chat lists them.',
    )
  if (model.effort && !known.reasoningLevels.includes(model.effort)) {
    throw new BerthError(
      'invalid_request',
      `model.effort is not one of this model’s: ${known.reasoningLevels.join(', ') || 'it has none'}.`,
    )
  }
  return { ...model, id: known.id }
}
