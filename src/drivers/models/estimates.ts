/** Estimates of tokens for when no provider has counted them: a fixed number of characters per token, rounded up. */
import { isLargeJson, roughLength } from '#src/platform/json/text.ts'
import { shownBy, type Message, type ModelRequest } from './model.ts'

/** OpenAI's rule of thumb. */
export const charactersPerToken = 4
/** The estimate for an image, a file or a sound, whatever its size; providers bill some hundreds to thousands. */
const mediaTokens = 1000

/** Tokens of so many characters. */
export function tokensOf(characters: number): number {
  return Math.ceil(characters / charactersPerToken)
}

/** Tokens of all that a request sends: its messages and its tools. */
export function requestTokens({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>): number {
  let tokens = messageTokens(messages)
  for (const tool of tools) tokens += tokensOf(isLargeJson(tool) ? roughLength(tool) : JSON.stringify(tool).length)
  return tokens
}

/** Tokens of a text. */
export function textTokens(text: string): number {
  return tokensOf(text.length)
}

/** Tokens of a conversation: its texts, each by itself. */
export function messageTokens(messages: readonly Message[]): number {
  let tokens = 0
  for (const message of messages) {
    if (message.role === 'user')
      for (const part of message.parts) tokens += part.type === 'text' ? textTokens(part.text) : mediaTokens
    else tokens += textTokens(message.text)
    if (message.role === 'tool') tokens += shownBy(message).length * mediaTokens
    if (message.role === 'assistant') for (const call of message.toolCalls) tokens += textTokens(call.arguments)
  }
  return tokens
}
