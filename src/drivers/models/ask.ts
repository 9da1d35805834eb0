/** How an upstream is asked, by the wire format it speaks. */
import { askMessages } from './anthropic-messages.ts'
import { askChatCompletions } from './chat-completions.ts'
import { askDemo } from './demo.ts'
import type { AskUpstream, UpstreamKind } from './model.ts'
import { askResponses } from './openai-responses.ts'

const askers: Readonly<Record<UpstreamKind, AskUpstream>> = {
  openai: askResponses,
  'openai-compatible': askChatCompletions,
  anthropic: askMessages,
  demo: askDemo,
}

/** The function that asks upstreams of this kind. */
export function askUpstream(kind: UpstreamKind): AskUpstream {
  return askers[kind]
}
