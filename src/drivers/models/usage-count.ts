/** Counts the usage of an answer while it streams, for providers that report none, or only at the end. */
import { requestTokens, tokensOf } from './estimates.ts'
import type { ModelEvent, ModelRequest, Usage } from './model.ts'

const usageNames: readonly (keyof Usage)[] = [
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'reasoningTokens',
]

/** The usage count of one answer. */
export class UsageCount {
  readonly #request: Pick<ModelRequest, 'messages' | 'tools'>
  readonly #reported: Partial<Usage> = {}
  #characters = 0
  #reasoningCharacters = 0
  #inputTokens: number | null = null

  constructor(request: Pick<ModelRequest, 'messages' | 'tools'>) {
    this.#request = request
  }

  /** Counts text of the answer, or of its calls' arguments. */
  addText(text: string): void {
    this.#characters += text.length
  }

  /** Counts text of its reasoning. */
  addReasoning(text: string): void {
    this.#reasoningCharacters += text.length
  }

  /** Records what the provider reports; undefined values stay as they were. @returns what was new, or null. */
  record(usage: { [Name in keyof Usage]?: number | undefined }): Partial<Usage> | null {
    let reported: Partial<Usage> | null = null
    for (const name of usageNames) {
      const count = usage[name]
      if (count === undefined) continue
      reported ??= {}
      reported[name] = this.#reported[name] = count
    }
    return reported
  }

  /** Counts an event. */
  add(event: ModelEvent): void {
    if (event.type === 'text' || event.type === 'arguments') this.addText(event.text)
    else if (event.type === 'reasoning') this.addReasoning(event.text)
    else if (event.type === 'usage') this.record(event.usage)
  }

  /**
   * The usage of an answer that is still running or was cut off: the provider's numbers take precedence over our
   * estimates, but are never less than what has arrived.
   */
  readonly soFar = (): Usage => {
    const reasoningTokens = Math.max(this.#reported.reasoningTokens ?? 0, tokensOf(this.#reasoningCharacters))
    return {
      inputTokens: this.#input(),
      outputTokens: Math.max(this.#reported.outputTokens ?? 0, tokensOf(this.#characters) + reasoningTokens),
      cacheReadTokens: this.#reported.cacheReadTokens ?? 0,
      cacheWriteTokens: this.#reported.cacheWriteTokens ?? 0,
      reasoningTokens,
    }
  }

  /**
   * The usage of a complete answer: the provider's numbers take precedence over our estimates; parts are never more
   * than their total.
   */
  whole(): Usage {
    const reported = this.#reported
    const reasoningEstimate = tokensOf(this.#reasoningCharacters)
    const inputTokens = this.#input()
    const outputTokens = reported.outputTokens ?? tokensOf(this.#characters) + reasoningEstimate
    const cacheReadTokens = Math.min(reported.cacheReadTokens ?? 0, inputTokens)
    return {
      inputTokens,
      outputTokens,
      cacheReadTokens,
      cacheWriteTokens: Math.min(reported.cacheWriteTokens ?? 0, inputTokens - cacheReadTokens),
      reasoningTokens: Math.min(reported.reasoningTokens ?? reasoningEstimate, outputTokens),
    }
  }

  #input(): number {
    return this.#reported.inputTokens ?? (this.#inputTokens ??= requestTokens(this.#request))
  }
}
