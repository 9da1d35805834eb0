/**
 * An answer as the content blocks of Anthropic's format: one is open at a time, and each is complete before the next
 * begins. Models behind other formats may write the arguments of several calls in turns, or words or thoughts among them; then
 * what comes later waits.
 */
import type { CallExtra, ModelEvent, ReasoningBlock } from '#src/drivers/models/model.ts'
import { signatureOf } from '#src/resources/llm/messages/thinking-blocks.ts'

/** What is done with the blocks. `start` opens one, `stop` closes it; what is between belongs to it. */
export type BlockSink = {
  start: (block: StartedBlock) => void
  text: (text: string) => void
  thinking: (text: string) => void
  /** Once in a thinking block, at its end; not for a block without a signature. */
  signature: (signature: string) => void
  input: (json: string) => void
  /** @param extra what came with a call after it was opened. */
  stop: (extra?: CallExtra) => void
}

/** A block as it begins. */
export type StartedBlock =
  | { type: 'text' }
  | { type: 'thinking' }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'tool_use'; id: string; name: string; extra_content?: CallExtra }

type Open = { type: 'text' } | { type: 'thinking'; index: number } | { type: 'call'; index: number; extra?: CallExtra }
type Call = { index: number; id: string; name: string; extra?: CallExtra }
type WaitingCall = Call & { pieces: string[] }
type WaitingText = { pieces: string[] }
/** `block`: with what it ended, once it has. */
type WaitingThinking = { thinking: number; pieces: string[]; block: ReasoningBlock | null }

/** Arranges the events of an answer into blocks. */
export class MessageBlocks {
  readonly #to: BlockSink
  #open: Open | null = null
  #input = new JsonEnd()
  readonly #waiting: (WaitingCall | WaitingText | WaitingThinking)[] = []
  #hasRefused = false

  constructor(to: BlockSink) {
    this.#to = to
  }

  /** Whether the model refused in words. */
  get hasRefused(): boolean {
    return this.#hasRefused
  }

  /** Takes an event; `end` and `usage` are not about blocks, except that `end` closes the last one. */
  add(event: ModelEvent): void {
    switch (event.type) {
      case 'text':
        return this.#text(event.text, event.refusal ?? false)
      case 'reasoning':
        if (this.#isInCall) return void this.#waitingThinking(event.index).pieces.push(event.text)
        return this.#think(event.index, event.text)
      case 'reasoning_end':
        if (this.#isInCall) return void (this.#waitingThinking(event.index).block = event.block)
        return this.#endThinking(event)
      case 'tool':
        return this.#call(event)
      case 'arguments':
        return this.#arguments(event.index, event.text)
      case 'extra':
        return this.#attach(event)
      case 'end':
        this.#closeAll()
    }
  }

  /** Whether a call is open whose arguments are not complete. */
  get #isInCall(): boolean {
    return this.#open?.type === 'call' && !this.#input.isOver
  }

  #text(text: string, isRefusal: boolean): void {
    this.#hasRefused ||= isRefusal
    if (text === '') return
    if (this.#isInCall) return this.#delay(text)
    this.#emitText(text)
  }

  #delay(text: string): void {
    const last = this.#waiting.at(-1)
    if (last && !('id' in last) && !('thinking' in last)) last.pieces.push(text)
    else this.#waiting.push({ pieces: [text] })
  }

  /** The thoughts with this index that wait and have not ended. */
  #waitingThinking(index: number): WaitingThinking {
    const known = this.#waiting.find((one) => 'thinking' in one && one.thinking === index && one.block === null)
    if (known && 'thinking' in known) return known
    const made: WaitingThinking = { thinking: index, pieces: [], block: null }
    this.#waiting.push(made)
    return made
  }

  #emitText(text: string): void {
    if (this.#open?.type !== 'text') {
      this.#close()
      this.#start({ type: 'text' }, { type: 'text' })
    }
    this.#to.text(text)
  }

  #think(index: number, text: string): void {
    this.#openThinking(index)
    this.#to.thinking(text)
  }

  #openThinking(index: number): void {
    if (this.#open?.type === 'thinking' && this.#open.index === index) return
    this.#close()
    this.#start({ type: 'thinking' }, { type: 'thinking', index })
  }

  #endThinking({ index, block }: Pick<Extract<ModelEvent, { type: 'reasoning_end' }>, 'index' | 'block'>): void {
    if (block.redacted && block.encryptedContent !== null) {
      this.#close()
      this.#to.start({ type: 'redacted_thinking', data: block.encryptedContent })
      return this.#to.stop()
    }
    const signature = signatureOf(block)
    const isOpen = this.#open?.type === 'thinking' && this.#open.index === index
    if (!isOpen && signature === '') return
    this.#openThinking(index)
    if (signature !== '') this.#to.signature(signature)
    this.#close()
  }

  #call(call: Call): void {
    if (this.#isInCall) {
      this.#waiting.push({ ...call, pieces: [] })
      return
    }
    this.#close()
    this.#startCall(call)
  }

  #startCall({ index, id, name, extra }: Call): void {
    this.#input = new JsonEnd()
    const block = { type: 'tool_use', id, name, ...(extra ? { extra_content: extra } : {}) } as const
    this.#start(block, { type: 'call', index })
  }

  #arguments(index: number, text: string): void {
    if (text === '') return
    if (this.#open?.type !== 'call' || this.#open.index !== index) {
      this.#waiting.find((one) => 'id' in one && one.index === index)?.pieces.push(text)
      return
    }
    this.#input.read(text)
    this.#to.input(text)
    if (this.#input.isOver && this.#waiting.length > 0) this.#writeWaiting()
  }

  /** Nothing is said of a call that is complete: its block is closed. */
  #attach({ index, extra }: Extract<ModelEvent, { type: 'extra' }>): void {
    const waiting = this.#waiting.find((one) => 'id' in one && one.index === index)
    if (waiting && 'id' in waiting) waiting.extra = extra
    else if (this.#open?.type === 'call' && this.#open.index === index) this.#open.extra = extra
  }

  /** Ends the open block and writes what waits, until a call that is not complete. */
  #writeWaiting(): void {
    this.#close()
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      if ('id' in next) {
        this.#close()
        this.#startCall(next)
        const input = next.pieces.join('')
        this.#input.read(input)
        if (input !== '') this.#to.input(input)
        if (!this.#input.isOver) return
      } else if ('thinking' in next) {
        const { thinking: index, pieces, block } = next
        if (pieces.length > 0) this.#think(index, pieces.join(''))
        if (block) this.#endThinking({ index, block })
      } else this.#emitText(next.pieces.join(''))
    }
  }

  #start(block: StartedBlock, open: Open): void {
    this.#open = open
    this.#to.start(block)
  }

  #close(): void {
    if (this.#open === null) return
    const extra = this.#open.type === 'call' ? this.#open.extra : undefined
    this.#open = null
    this.#to.stop(extra)
  }

  #closeAll(): void {
    while (this.#waiting.length > 0) this.#writeWaiting()
    this.#close()
  }
}

/** Finds the end of a JSON object that arrives in pieces. */
class JsonEnd {
  #depth = 0
  #isInText = false
  #isEscaped = false
  isOver = false

  read(piece: string): void {
    for (let at = 0; at < piece.length && !this.isOver; at++) this.#character(piece[at])
  }

  #character(character: string | undefined): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (character === '\\') this.#isEscaped = this.#isInText
    else if (character === '"') this.#isInText = !this.#isInText
    else if (this.#isInText) return
    else if (character === '{' || character === '[') this.#depth++
    else if (character === '}' || character === ']') this.isOver = --this.#depth <= 0
  }
}
