/** `thinking` and `output_config`: how hard the model thinks, and the form of its answer. */
import { thinkingTokens } from '#src/drivers/models/messages-bodies.ts'
import { reasoningLevels, type ModelRequest, type ReasoningLevel } from '#src/drivers/models/model.ts'
import { BerthError } from '#src/platform/errors.ts'
import { messagesLimits } from '#src/platform/limits/messages.ts'
import type { Fields } from '../chats/message-shapes.ts'
import { wrongParameter } from '../chats/parameters.ts'
import type { Model } from '../models/rows.ts'
import { checkKeys, isAbsent, isObject, needsAnthropic, objectFrom, type Reading } from './shapes.ts'

const thinkingKeys: ReadonlySet<string> = new Set(['type', 'budget_tokens', 'display'])
const outputKeys: ReadonlySet<string> = new Set(['effort', 'format'])
const formatKeys: ReadonlySet<string> = new Set(['type', 'schema'])

/**
 * The level that other formats are asked for, and the form of the answer; upstreams of Anthropic's format get the fields.
 * @param maxTokens the limit that a thinking budget must stay below; null where there is none.
 * @throws BerthError invalid_parameter, reasoning_effort_unsupported.
 */
export function readThinkingAndOutput(
  reading: Reading,
  fields: Fields,
  maxTokens: number | null,
): Pick<ModelRequest, 'reasoningEffort' | 'responseFormat'> {
  const output = objectFrom(fields, 'output_config') ?? {}
  checkKeys(output, outputKeys, 'output_config')
  const effort = readEffort(output['effort'], reading.model)
  return {
    reasoningEffort: readThinking(reading, objectFrom(fields, 'thinking'), effort, maxTokens),
    responseFormat: readFormat(output['format']),
  }
}

function readThinking(
  reading: Reading,
  thinking: Fields | null,
  effort: ReasoningLevel | null,
  maxTokens: number | null,
): ReasoningLevel | null {
  if (!thinking) return effort
  const { model } = reading
  checkKeys(thinking, thinkingKeys, 'thinking')
  const { type, budget_tokens: budget, display } = thinking
  if (!isAbsent(display) && display !== 'summarized' && display !== 'omitted')
    throw wrongParameter('thinking.display', 'must be summarized or omitted.')
  if (display === 'omitted') needsAnthropic(reading, 'thinking.display')
  if (type !== 'enabled' && !isAbsent(budget))
    throw wrongParameter('thinking.budget_tokens', 'is only allowed with the type enabled. Leave it out.')
  switch (type) {
    case 'disabled':
      return levelFor(model, 'none')
    case 'adaptive':
      return effort ?? usualLevel(model)
    case 'between_tools':
      needsAnthropic(reading, 'thinking.type')
      return usualLevel(model)
    case 'enabled':
      return levelOfBudget(model, readBudget(budget, maxTokens))
    default:
      throw wrongParameter('thinking.type', 'must be enabled, adaptive, between_tools or disabled.')
  }
}

function readBudget(budget: unknown, maxTokens: number | null): number {
  const least = messagesLimits.thinkingTokensMin
  if (typeof budget !== 'number' || !Number.isSafeInteger(budget) || budget < least)
    throw wrongParameter('thinking.budget_tokens', `must be a whole number from ${least}.`)
  if (maxTokens !== null && budget >= maxTokens)
    throw wrongParameter(
      'thinking.budget_tokens',
      'must be less than max_tokens and the model’s own maximum, which count thinking too.',
    )
  return budget
}

/** The model's highest level that thinks no longer than the budget, or else its lowest. */
function levelOfBudget(model: Model, budget: number): ReasoningLevel {
  const levels = levelsOf(model)
  return levels.findLast((level) => thinkingTokens[level] <= budget) ?? levels[0]
}

/** The level of a model that is to think and is not told how hard. */
function usualLevel(model: Model): ReasoningLevel {
  const levels = levelsOf(model)
  return levels.find((level) => level === model.defaultReasoningLevel || level === 'medium') ?? levels[0]
}

type Thinking = Exclude<ReasoningLevel, 'none'>

/** The levels at which the model thinks, least first. */
function levelsOf({ id, reasoningLevels: offered }: Model): [Thinking, ...Thinking[]] {
  const [first, ...rest] = reasoningLevels.filter(
    (level): level is Thinking => level !== 'none' && offered.includes(level),
  )
  if (first) return [first, ...rest]
  throw new BerthError(
    'reasoning_effort_unsupported',
    `thinking cannot be used: ${id} does not reason. Leave it out, or choose a model that has reasoning_levels.`,
  )
}

const efforts: readonly ReasoningLevel[] = ['low', 'medium', 'high', 'xhigh', 'max']

function readEffort(value: unknown, model: Model): ReasoningLevel | null {
  if (isAbsent(value)) return null
  const effort = efforts.find((one) => one === value)
  if (!effort) throw wrongParameter('output_config.effort', `must be one of ${efforts.join(', ')}.`)
  return levelFor(model, effort, 'output_config.effort')
}

/** The level, if the model offers it; `none` is what a model without levels does anyway. */
function levelFor(model: Model, level: ReasoningLevel, place = 'thinking'): ReasoningLevel | null {
  const { id, reasoningLevels: offered } = model
  if (offered.includes(level)) return level
  if (level === 'none' && offered.length === 0) return null
  throw new BerthError(
    'reasoning_effort_unsupported',
    `${place} cannot be ${level === 'none' ? 'disabled' : level}: ${id} ${offered.length > 0 ? `offers ${offered.join(', ')}` : 'does not reason'}.`,
  )
}

function readFormat(value: unknown): ModelRequest['responseFormat'] {
  if (isAbsent(value)) return null
  const format = isObject(value) ? value : {}
  checkKeys(format, formatKeys, 'output_config.format')
  if (format['type'] !== 'json_schema' || !isObject(format['schema']))
    throw wrongParameter('output_config.format', 'must be {"type": "json_schema", "schema": {…}}.')
  return { type: 'json_schema', json_schema: { name: 'output', schema: format['schema'], strict: true } }
}
