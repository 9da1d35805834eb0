/**
 * Builds the events of one answer as a wire format delivers them: numbers blocks and calls, keeps the reported usage, and
 * estimates what was not reported. Each wire format has a reader that writes with it.
 */
import { isDeepStrictEqual } from 'node:util'
import { isLargeJson } from '#src/platform/json/text.ts'
import { limits } from '#src/platform/limits.ts'
import { newUuid } from '#src/platform/ids.ts'
import type {
  CallExtra,
  FinishReason,
  ModelEvent,
  ModelRequest,
  ReasoningBlock,
  UpstreamTarget,
  Usage,
} from './model.ts'
import { brokenAnswer } from './upstream-errors.ts'
import { UsageCount } from './usage-count.ts'

/** Reads one wire format into events. What it throws ends the answer. */
export type AnswerReader = {
  /** The data of one event of the stream. */
  event(data: string): void
  /** An answer that is not streamed. */
  whole(body: Readonly<Record<string, unknown>>): void
  /** Called at the end of the stream. Writes `end`, unless the answer was cut off. */
  close(): void
}

/** Makes a format's reader of one answer. */
export type MakeReader = (target: UpstreamTarget, events: AnswerEvents) => AnswerReader

/** A tool call that arrives in pieces. `number` is null until the call is in the events; `early` came before its name. */
export type OpenCall = {
  number: number | null
  id: string
  name: string
  hasArguments: boolean
  early: string
  extra?: CallExtra
}

/** Where the events of one answer are written. */
export class AnswerEvents {
  /** True as soon as `end` was written; nothing comes after it. */
  hasEnded = false
  readonly #target: UpstreamTarget
  readonly #count: UsageCount
  #batch: ModelEvent[] = []
  #hasText = false
  #reasoningBlocks = 0
  #calls = 0
  /** The ids of the calls that are in the events. */
  readonly #callIds = new Set<string>()
  #argumentsLeft: number = limits.answerArgumentsLength

  constructor(target: UpstreamTarget, request: ModelRequest) {
    this.#target = target
    this.#count = new UsageCount(request)
  }

  /** Takes the events written since the last time. */
  take(): ModelEvent[] {
    const batch = this.#batch
    this.#batch = []
    return batch
  }

  /** Whether the answer has called tools. */
  get hasCalls(): boolean {
    return this.#calls > 0
  }

  /** Whether there is an answer at all. */
  get hasContent(): boolean {
    return this.#hasText || this.#reasoningBlocks > 0 || this.#calls > 0
  }

  /**
   * A piece of the answer's text.
   * @param logprobs of its tokens; a token may be a part of a character, and have no text of its own.
   */
  text(text: string, logprobs?: readonly unknown[]): void {
    if (text === '' && !logprobs) return
    this.#hasText = true
    this.#count.addText(text)
    this.#batch.push(logprobs ? { type: 'text', text, logprobs } : { type: 'text', text })
  }

  /** A piece of the model's refusal. */
  refusal(text: string, logprobs?: readonly unknown[]): void {
    if (text === '' && !logprobs) return
    this.#hasText = true
    this.#count.addText(text)
    this.#batch.push({ type: 'text', text, refusal: true, ...(logprobs ? { logprobs } : {}) })
  }

  /** The number of a new block of reasoning. */
  openReasoning(): number {
    return this.#reasoningBlocks++
  }

  /** A piece of a block's text. */
  reasoning(index: number, text: string): void {
    if (text === '') return
    this.#count.addReasoning(text)
    this.#batch.push({ type: 'reasoning', index, text })
  }

  /** A block is complete. Empty values for its replay count as absent. */
  closeReasoning(index: number, { id, text, signature, encryptedContent, redacted }: Partial<ReasoningBlock>): void {
    const block = {
      id: id || null,
      text: text ?? '',
      model: this.#target.model,
      signature: signature || null,
      encryptedContent: encryptedContent || null,
      redacted: redacted ?? false,
    }
    this.#batch.push({ type: 'reasoning_end', index, block })
  }

  /** A new call. It is emitted when its name is complete: at its first argument after it, or when it is closed. */
  openCall(id: string | undefined, name: string): OpenCall {
    return { number: null, id: id || newCallId(), name, hasArguments: false, early: '' }
  }

  /** What the provider attaches to a call, with any of its pieces; the last counts. @throws BerthError upstream_error when it is too large. */
  extra(call: OpenCall, extra: CallExtra): void {
    if (isLargeJson(extra, this.#argumentsLeft))
      throw brokenAnswer(this.#target, 'attached more to a tool call than an answer may have')
    this.#argumentsLeft -= JSON.stringify(extra).length
    if (call.number !== null && !isDeepStrictEqual(extra, call.extra))
      this.#batch.push({ type: 'extra', index: call.number, extra })
    call.extra = extra
  }

  /** A piece of a call's arguments. @throws BerthError upstream_error when too much comes before the call's name. */
  arguments(call: OpenCall, text: string): void {
    if (text === '') return
    call.hasArguments = true
    this.#count.addText(text)
    if (call.number === null && call.name === '') {
      this.#argumentsLeft -= text.length
      if (this.#argumentsLeft < 0) throw brokenAnswer(this.#target, 'sent more tool arguments than an answer may have')
      call.early += text
      return
    }
    this.emitCall(call)
    this.#batch.push({ type: 'arguments', index: call.number!, text }) // it has just got its number
  }

  /**
   * Arguments that arrived as a value and not as text.
   * @throws BerthError upstream_error when they are too large, because they are written at once.
   */
  argumentValue(call: OpenCall, value: unknown): void {
    if (isLargeJson(value, this.#argumentsLeft))
      throw brokenAnswer(this.#target, 'sent more tool arguments than an answer may have')
    const text = JSON.stringify(value)
    this.#argumentsLeft -= text.length
    this.arguments(call, text)
  }

  /** A call is complete. One without arguments gets an empty object, as some providers leave it out. */
  closeCall(call: OpenCall): void {
    this.emitCall(call)
    if (!call.hasArguments) this.#batch.push({ type: 'arguments', index: call.number!, text: '{}' }) // it has its number
    call.hasArguments = true
  }

  /**
   * A call's name is complete: the call is emitted now, before later ones. One whose id another call has gets its own,
   * because no result could be told apart.
   * @throws BerthError upstream_error when it has none: nobody can run it, or send it back.
   */
  emitCall(call: OpenCall): void {
    if (call.number !== null) return
    if (call.name === '') throw brokenAnswer(this.#target, 'called a tool without a name')
    if (this.#callIds.has(call.id)) call.id = newCallId()
    this.#callIds.add(call.id)
    call.number = this.#calls++
    const { id, name, extra } = call
    this.#batch.push({ type: 'tool', index: call.number, id, name, ...(extra ? { extra } : {}) })
    if (call.early !== '') this.#batch.push({ type: 'arguments', index: call.number, text: call.early })
  }

  /** The usage so far as the provider reports it; undefined for what it does not report. */
  usage(usage: { [Key in keyof Usage]?: number | undefined }): void {
    const reported = this.#count.record(usage)
    if (reported) this.#batch.push({ type: 'usage', usage: reported })
  }

  /** The answer is complete. @param stopSequence the stop text that ended it, if the provider names it. */
  end(finishReason: FinishReason, stopSequence?: string): void {
    if (this.hasEnded) return
    this.hasEnded = true
    const usage = this.#count.whole()
    this.#batch.push({ type: 'end', finishReason, usage, ...(stopSequence === undefined ? {} : { stopSequence }) })
  }
}

function newCallId(): string {
  return `call_${newUuid().replaceAll('-', '')}`
}
