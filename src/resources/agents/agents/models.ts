/** The model of an agent: its name or `{id, effort, speed}`, checked against the catalog. */
import { z } from 'zod'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { exact } from '#src/platform/shapes.ts'
import { findModel } from '#src/resources/llm/models.ts'
import type { AgentModel } from './rows.ts'
import { readShape, usually } from '#src/platform/shapes/fields.ts'

const levels = ['low', 'medium', 'high', 'xhigh', 'max'] as const
const effort = z.enum(levels)
// Anthropic's client sends the effort as text or as {type}; an omitted speed is the standard one.
const shape = exact({
  id: z.string().min(1),
  effort: usually(z.union([effort, exact({ type: effort }).transform(({ type }) => type)]), null),
  speed: usually(z.enum(['standard', 'fast']), 'standard'),
  inference_geo: z
    .null(
      'it is not supported: a model runs where its upstream runs it. Leave it out, and choose the upstream in the models file',
    )
    .optional(),
})

/**
 * Reads an agent's `model`.
 * @returns it with the full id from the catalog, so that a short name keeps its meaning.
 * @throws BerthError unknown_model; invalid_request.
 */
export function readAgentModel(config: Config, given: unknown): AgentModel {
  const { inference_geo: _none, ...model } = readShape(
    shape,
    typeof given === 'string' ? { id: given } : given,
    'model',
  )
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
