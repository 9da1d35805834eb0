/** When the answer of a target is read: not while its client takes no more, nor while it waits because of its small chunks. */
import type { Duplex } from 'node:stream'
import type { PieceTurns, Waiting } from '#src/drivers/small-pieces.ts'
import type { AnswerReader } from './answers.ts'
import { ingressLimits } from './limits.ts'

/** Of one connection to a target. Small chunks cost as much as large ones: who answers in many is read as others get their turns. */
export class TargetFlow implements Waiting {
  readonly isNew = false
  readonly #stream: Duplex
  readonly #turns: Pick<PieceTurns, 'pay'>
  #isHeld = false
  #isPaying = false

  constructor(stream: Duplex, turns: Pick<PieceTurns, 'pay'>) {
    this.#stream = stream
    this.#turns = turns
  }

  get isGone(): boolean {
    return this.#stream.destroyed
  }

  /** Something was read. @param wantsMore whether the client takes more; of an answer that is done nothing more comes */
  took(wantsMore: boolean, { isDone, smallChunks }: Pick<AnswerReader, 'isDone' | 'smallChunks'>): void {
    this.#isHeld = !wantsMore && !isDone
    const pays = smallChunks > ingressLimits.smallPiecesAtOnce
    if (pays || this.#isHeld) this.#stream.pause()
    if (!pays) return
    this.#isPaying = true // also for an answer that is done: what comes next on this connection waits
    this.#turns.pay(smallChunks, this)
  }

  /** It has its turn. */
  onTurn(): void {
    this.#isPaying = false
    this.#readOn()
  }

  /** The client takes more again. */
  resume(): void {
    this.#isHeld = false
    this.#readOn()
  }

  #readOn(): void {
    if (!this.#isHeld && !this.#isPaying) this.#stream.resume()
  }
}
