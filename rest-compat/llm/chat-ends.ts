/** The ways in which a chat ends early: the caller leaves, Berth stops, or the caller's permission ends. The last two have a reason to tell. */
import type { ServerResponse } from 'node:http'
import { BerthError } from '#src/platform/errors.ts'

/** The chats of a route that run in this process: all of them are interrupted when it stops. */
export type RunningChats = Set<ChatEnd>

/** @param stopping fires when the process begins to stop. */
export function createRunningChats(stopping: AbortSignal): RunningChats {
  const running: RunningChats = new Set()
  stopping.addEventListener(
    'abort',
    () => {
      for (const chat of running) chat.interrupt(restarting)
    },
    { once: true },
  )
  return running
}

const restarting = new BerthError('service_unavailable', 'Berth is restarting. Send the request again.')

/** A chat that is being answered, and the ways it can end early. */
export class ChatEnd {
  /** Fires when nobody is waiting for the answer any more. */
  readonly gone = new AbortController()
  /** Why we ended it, if we did. */
  reason: BerthError | undefined
  readonly #running: RunningChats

  constructor(raw: ServerResponse, running: RunningChats, stopping: AbortSignal) {
    this.#running = running
    running.add(this)
    // 'close' of the answer, not of the connection, which may carry more requests. A complete answer needs no abort,
    // which is expensive.
    raw.once('close', () => {
      if (!raw.writableFinished) this.gone.abort()
    })
    if (raw.destroyed) this.gone.abort()
    if (stopping.aborted) this.interrupt(restarting)
  }

  /** Ends the chat from our side. */
  interrupt(reason: BerthError): void {
    this.reason = reason
    this.gone.abort()
  }

  /** Marks the chat as over, however it ended. */
  over(): void {
    this.#running.delete(this)
  }
}
