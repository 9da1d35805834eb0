/** Asks an upstream that speaks Anthropic's format how many tokens a request has. Nothing is generated or charged. */
import { messagesHeaders } from './anthropic-messages.ts'
import { countOf } from './json-values.ts'
import type { NativeRequest, UpstreamTarget } from './model.ts'
import { askForJson } from './upstream-answers.ts'
import { brokenAnswer } from './upstream-errors.ts'

/**
 * The number of input tokens of a body in Anthropic's format.
 * @throws BerthError as AskUpstream.
 */
export async function countTokens(
  target: UpstreamTarget,
  body: NativeRequest['body'],
  signal: AbortSignal,
): Promise<number> {
  const { input_tokens: tokens } = await askForJson(
    target,
    {
      path: '/messages/count_tokens',
      headers: messagesHeaders(target),
      body: { ...body, model: target.upstreamModel },
    },
    signal,
  )
  const count = countOf(tokens)
  if (count === undefined) throw brokenAnswer(target, 'sent something that is not a count')
  return count
}
