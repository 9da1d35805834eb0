/** The result of a call of `ask_peer`, once its exchange has ended. */
import { answered, failed, type ToolResult } from '#src/resources/agents/tools/results.ts'
import type { PeerExchange } from './rows.ts'

/** What the requester is told. */
export function resultOf({ status, answer, error }: Pick<PeerExchange, 'status' | 'answer' | 'error'>): ToolResult {
  const because = error?.message ?? 'It could not go on.'
  switch (status) {
    case 'completed':
      return answer ? answered(answer) : answered('(It said nothing.)')
    case 'failed':
      return failed(`The other agent did not answer: ${because}`)
    case 'rejected':
      return failed(`Nobody was asked: ${because}`)
    case 'cancelled':
      return failed(
        'The request was cancelled before the other agent had answered, by the user or because a day had passed.',
      )
    default:
      throw new Error('an exchange that has not ended has no result')
  }
}
