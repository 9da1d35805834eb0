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

/** The count of one answer. */
export class UsageCount {
  readonly #request: Pick<ModelRequest, 'messages' | 'tools'>
  readonly #told: Partial<Usage> = {}
  #characters = 0
  #reasoningCharacters = 0
  #inputTokens: number | null = null

  constructor(request: Pick<ModelRequest, 'messages' | 'tools'>) {
    this.#request = request
  }

  /** So much of the answer, or of the arguments of its calls. */
  addText(text: string): void {
    this.#characters += text.length
  }

  /** So much of its reasoning. */
  addReasoning(text: string): void {
    this.#reasoningCharacters += text.length
  }

  /** What the provider says; what it does not say, or undefined, stays as it was. @returns what was new, null for nothing. */
  tell(usage: { [Name in keyof Usage]?: number | undefined }): Partial<Usage> | null {
    let told: Partial<Usage> | null = null
    for (const name of usageNames) {
      const count = usage[name]
      if (count === undefined) continue
      told ??= {}
      told[name] = this.#told[name] = count
    }
    return told
  }

  /** The same, out of an event. */
  add(event: ModelEvent): void {
    if (event.type === 'text' || event.type === 'arguments') this.addText(event.text)
    else if (event.type === 'reasoning') this.addReasoning(event.text)
    else if (event.type === 'usage') this.tell(event.usage)
  }

  /** Of an answer that goes on, or was cut: what the provider told goes before what we estimate, but is never less than what has arrived. */
  readonly soFar = (): Usage => {
    const reasoningTokens = Math.max(this.#told.reasoningTokens ?? 0, tokensOf(this.#reasoningCharacters))
    return {
      inputTokens: this.#input(),
      outputTokens: Math.max(this.#told.outputTokens ?? 0, tokensOf(this.#characters) + reasoningTokens),
      cacheReadTokens: this.#told.cacheReadTokens ?? 0,
      cacheWriteTokens: this.#told.cacheWriteTokens ?? 0,
      reasoningTokens,
    }
  }

  /** Of an answer that is complete: what was told goes before what we estimate; parts are never more than their whole. */
  whole(): Usage {
    const told = this.#told
    const reasoningEstimate = tokensOf(this.#reasoningCharacters)
    const inputTokens = this.#input()
    const outputTokens = told.outputTokens ?? tokensOf(this.#characters) + reasoningEstimate
    const cacheReadTokens = Math.min(told.cacheReadTokens ?? 0, inputTokens)
    return {
      inputTokens,
      outputTokens,
      cacheReadTokens,
      cacheWriteTokens: Math.min(told.cacheWriteTokens ?? 0, inputTokens - cacheReadTokens),
      reasoningTokens: Math.min(told.reasoningTokens ?? reasoningEstimate, outputTokens),
    }
  }

  #input(): number {
    return this.#told.inputTokens ?? (this.#inputTokens ??= requestTokens(this.#request))
  }
}
