/** Answers in many small pieces, as undici has them: chunks of HTTP of a few bytes each. */
import { Agent, type Dispatcher } from 'undici'
import { JoinedWrites } from './joined-pieces.ts'

/** Hands on what comes within a turn of the event loop as one piece: an answer in chunks of one byte would cost a read for each. */
export class JoiningAgent extends Agent {
  override dispatch(options: Agent.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return super.dispatch(options, new JoinedAnswer(handler))
  }
}

class JoinedAnswer implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler
  readonly #pieces: JoinedWrites
  #controller: Dispatcher.DispatchController | null = null
  #isOver = false

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler
    this.#pieces = new JoinedWrites((joined) => {
      if (this.#controller && !this.#isOver) handler.onResponseData?.(this.#controller, joined)
    })
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#controller = controller
    this.#handler.onRequestStart?.(controller, context)
  }

  onRequestUpgrade(...args: Parameters<NonNullable<Dispatcher.DispatchHandler['onRequestUpgrade']>>): void {
    this.#handler.onRequestUpgrade?.(...args)
  }

  onResponseStart(...args: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>): void {
    this.#handler.onResponseStart?.(...args)
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#pieces.add(piece)
  }

  onResponseEnd(...args: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseEnd']>>): void {
    this.#pieces.flush()
    this.#isOver = true
    this.#handler.onResponseEnd?.(...args)
  }

  onResponseError(...args: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseError']>>): void {
    this.#isOver = true
    this.#handler.onResponseError?.(...args)
  }
}
