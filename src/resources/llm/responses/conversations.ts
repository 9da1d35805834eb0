/**
 * Puts the items of OpenAI's responses together to messages: what a model said, thought and called in one turn is one
 * message, because other formats want it so.
 */
import type { ImagePart, Message, ReasoningBlock, ToolCall, UserPart } from '#src/drivers/models/model.ts'
import { limits } from '#src/platform/limits.ts'
import { wrongMessage } from '../chats/message-shapes.ts'

type Turn = { reasoning: ReasoningBlock[]; texts: string[]; toolCalls: ToolCall[] }

/** The messages so far. Each method adds an item; `place` is where it stands in the request, for errors. */
export class Conversation {
  readonly #messages: Message[] = []
  /** What the model does now, until it is somebody else's turn. */
  #turn: Turn | null = null
  /** The calls without an output: providers refuse a conversation that leaves one open. */
  readonly #waiting = new Set<string>()

  /** Instructions. @throws BerthError invalid_messages. */
  addSystem(text: string, place: string): void {
    this.#endTurn(place)
    this.#messages.push({ role: 'system', text })
  }

  /** What the user says. @throws BerthError invalid_messages. */
  addUser(parts: readonly UserPart[], place: string): void {
    this.#endTurn(place)
    this.#messages.push({ role: 'user', parts, name: null })
  }

  /** What the model said. @throws BerthError invalid_messages. */
  addText(text: string, place: string): void {
    const isNext = this.#turn !== null && (this.#turn.texts.length > 0 || this.#turn.toolCalls.length > 0)
    this.#turnFor(isNext, place).texts.push(text)
  }

  /** What the model thought. @throws BerthError invalid_messages. */
  addReasoning(block: ReasoningBlock, place: string): void {
    const isNext = this.#turn !== null && (this.#turn.texts.length > 0 || this.#turn.toolCalls.length > 0)
    this.#turnFor(isNext, place).reasoning.push(block)
  }

  /** What the model called. @throws BerthError invalid_messages. */
  addCall(call: ToolCall, place: string): void {
    const turn = this.#turnFor(false, place)
    if (this.#waiting.has(call.id)) throw wrongMessage(`${place}.call_id`, 'is that of another call, too.')
    if (turn.toolCalls.length >= limits.chatToolsMax)
      throw wrongMessage(place, `is one of more than ${limits.chatToolsMax} calls at once. Send fewer.`)
    this.#waiting.add(call.id)
    turn.toolCalls.push(call)
  }

  /** What a call returned. @throws BerthError invalid_messages. */
  addOutput(toolCallId: string, text: string, images: readonly ImagePart[], place: string): void {
    if (!this.#waiting.delete(toolCallId))
      throw wrongMessage(
        `${place}.call_id`,
        'is that of no function_call before it, or of one that already has an output. Send each call before its output.',
      )
    this.#closeTurn()
    this.#messages.push({ role: 'tool', toolCallId, text, isError: false, ...(images.length > 0 ? { images } : {}) })
  }

  /** All messages. @throws BerthError invalid_messages when a call has no output. */
  end(): Message[] {
    this.#endTurn('input')
    return this.#messages
  }

  /** The turn that an item belongs to; a new one when `isNext` and no call waits for its output. */
  #turnFor(isNext: boolean, place: string): Turn {
    if (this.#turn && isNext && this.#waiting.size === 0) this.#closeTurn()
    if (!this.#turn) {
      this.#mustBeAnswered(place)
      this.#turn = { reasoning: [], texts: [], toolCalls: [] }
    }
    return this.#turn
  }

  #endTurn(place: string): void {
    this.#mustBeAnswered(place)
    this.#closeTurn()
  }

  #mustBeAnswered(place: string): void {
    if (this.#waiting.size > 0)
      throw wrongMessage(
        place,
        'leaves a function_call without an output. Send a function_call_output for every call, directly after the calls.',
      )
  }

  #closeTurn(): void {
    if (!this.#turn) return
    const { reasoning, texts, toolCalls } = this.#turn
    this.#turn = null
    this.#messages.push({ role: 'assistant', reasoning, text: texts.join('\n'), toolCalls })
  }
}
