/**
 * Limits of requests in the format of Anthropic's messages, each with its unit in its name. Those of chats hold too. In
 * the platform, because REST reads them too.
 */
export const messagesLimits = {
  stopSequencesMax: 64, // chats allow fewer; more of them go only to upstreams of the format
  toolInputLength: 1024 * 1024, // characters of the input of one tool call that a caller sends back
  toolInputsLength: 4 * 1024 * 1024, // of all of them in one conversation: they are written as text at once
  thinkingTokensMin: 1024, // of budget_tokens, as at Anthropic
} as const
