/** A client that is logged in: while it has a backend, bytes pass as they come; while it has none, its connection waits here. */
import type { Duplex } from 'node:stream'
import { limits } from '#src/platform/limits.ts'
import { acquireBackend } from './acquire.ts'
import type { Backend } from './backend.ts'
import type { Cancels } from './cancels.ts'
import type { Lessee } from './lessee.ts'
import { destroyAfter, inTime } from './in-time.ts'
import { isOwners, type LoggedIn } from './logins/logged-in.ts'
import { errorMessage, parameterStatus, welcome } from './protocol/messages.ts'
import { refusalsSent } from './metrics.ts'
import type { Pool } from './pool.ts'
import { PostgresRefusal, refusalOf } from './refusals.ts'
import { ServerRefused } from './server-refusals.ts'
import { findState } from './sessions/session-state.ts'
import { leaves } from './sessions/statements.ts'
import { followAnswers, followRequests, isAsked, isIdle, newProtocol, noteSettings } from './sessions/protocol-state.ts'
import { followToSync, noteFound, restoreUnnamed } from './sessions/unnamed-statement.ts'
import { limitWork, type WorkLimit } from './work-limit.ts'

/** A client. */
export class Client implements Lessee {
  readonly admission
  readonly #loggedIn: LoggedIn
  readonly #stream: Duplex
  readonly #pool: Pool
  readonly #cancelKey: ReturnType<Cancels['add']>
  readonly #limit: WorkLimit
  readonly #protocol = newProtocol()
  readonly #requests = followRequests(this.#protocol)
  readonly #answers = followAnswers(this.#protocol, () => this.#onReady())
  /** It has a backend; it has none; one of the two is changing; it has left. */
  #phase: 'attached' | 'detached' | 'changing' | 'gone' = 'changing'
  #backend: Backend | null = null
  /** The bytes buffered while it is detached, and whether what they ask is to be cancelled. */
  #held: Buffer[]
  #cancelled = false
  #idleSinceMs = performance.now()
  /** Something of its session was found in its backend. Until it says more, looking again is of no use. */
  #holds = false
  /** Follows what is dropped up to the next Sync, behind an error of our own. */
  #dropping: ReturnType<typeof followToSync> | null = null
  #spoke = true
  #stalled: NodeJS.Timeout | undefined

  constructor(loggedIn: LoggedIn, pool: Pool, cancels: Cancels) {
    this.#loggedIn = loggedIn
    this.#stream = loggedIn.stream
    this.#pool = pool
    this.#held = loggedIn.early.length > 0 ? [loggedIn.early] : []
    this.admission = { ...loggedIn.admission } // as it is at its login
    this.#limit = limitWork(this.admission.workMs)
    this.#cancelKey = cancels.add(() => {
      this.#cancelled = this.#phase === 'changing' && this.#held.length > 0
      if (this.#phase === 'attached' && !this.#isDone()) this.#backend?.cancel()
    })
  }

  /** Greets it, and attaches its first backend. @throws PostgresRefusal; ServerRefused, which the client is still to be told */
  async start(): Promise<void> {
    const stream = this.#stream.on('close', () => this.#leave()).on('end', () => this.#leave())
    try {
      this.#pool.join(this)
      const given = await this.#acquire()
      if (!given) return
      noteSettings(this.#protocol, given.parameters)
      if (this.#loggedIn.startup.changesRole) this.#protocol.leaves = leaves.stuck // clearing the session would not bring the role back
      stream.write(welcome(this.#protocol.reported, this.#cancelKey.message))
      stream.on('data', (chunk: Buffer) => this.#onRequest(chunk)).on('drain', () => this.#onDrain())
      this.#attach(given)
    } catch (error) {
      this.#forget()
      throw error
    }
  }

  generation(): number | null {
    return this.#backend?.generation ?? null
  }

  isIdle(): boolean {
    return this.#phase === 'detached' || (this.#phase === 'attached' && this.#isDone())
  }

  idleSinceMs(): number | null {
    const { unsure, leaves: left } = this.#protocol
    if (this.#phase !== 'attached' || this.#holds || unsure || left !== leaves.nothing || !this.#isDone()) return null
    if (this.#stalled !== undefined || !this.#answers.atBoundary()) return null // a notification is on its way
    return this.#backend?.used ? this.#idleSinceMs : 0
  }

  async release(patienceMs: number): Promise<Backend | 'late' | null> {
    const backend = this.#backend
    if (this.idleSinceMs() === null || !backend) return null
    if (!backend.used) return this.#giveBack()
    this.#phase = 'changing'
    const looking = this.#look(backend)
    const looked = await inTime(looking, patienceMs)
    if (looked) return looked.value
    void looking.then((given) => given && this.#pool.release(given)) // the server is busy, which is none of its client's business
    return 'late'
  }

  /** Gives its backend back where nothing of its session is found in it. */
  async #look(backend: Backend): Promise<Backend | null> {
    await backend.cancelling // or it would be the question that is cancelled
    const mayAsk = this.#answers.atBoundary() // null: the session is gone with its backend
    const found = mayAsk ? await findState(backend, this.#protocol.unnamed !== null) : null
    if (this.#hasLeft()) return this.#detach()
    for (const aside of found?.asides ?? []) this.#stream.write(aside)
    this.#holds = mayAsk && !noteFound(this.#protocol, found)
    if (mayAsk && !this.#holds && this.#held.length === 0) return this.#giveBack()
    this.#resume(backend)
    return null
  }

  #giveBack(): Backend | null {
    this.#phase = 'detached'
    this.#stream.resume()
    return this.#detach()
  }

  end(refusal: PostgresRefusal): void {
    if (this.#hasLeft()) return
    if (!this.#isDone()) this.#backend?.cancel()
    refusalsSent.inc({ sqlstate: refusal.sqlState })
    if (this.#answers.atBoundary()) this.#stream.write(errorMessage(refusal))
    else this.#stream.destroy() // in the middle of a message of the server's nothing can be said
    this.#leave()
  }

  beat(): void {
    if (this.#spoke) this.#loggedIn.admission.onActivity()
    this.#spoke = false
    const stalls = this.#stalled !== undefined
    const late = this.#limit.look(!this.#isDone() || stalls, this.#idleSinceMs, isAsked(this.#protocol) || stalls)
    if (!late) return
    if (late.ends) return this.end(late.refusal)
    if (this.#answers.atBoundary()) this.#stream.write(errorMessage(late.refusal, 'WARNING'))
    this.#backend?.cancel()
  }

  /** Whether it has all its answers, and is in no transaction and in the middle of no message. */
  #isDone(): boolean {
    return isIdle(this.#protocol) && this.#requests.atBoundary()
  }

  #hasLeft(): boolean {
    return this.#phase === 'gone'
  }

  /** A backend from the pool; null when the client has left meanwhile. */
  async #acquire(): Promise<Backend | null> {
    const given = await acquireBackend(this.#loggedIn, this.#pool, () => this.#hasLeft())
    if (!this.#hasLeft()) return given
    this.#pool.release(given)
    return null
  }

  /** Bytes of the client. Hot. */
  #onRequest(chunk: Buffer): void {
    if (this.#phase === 'attached') return this.#pass(chunk)
    if (this.#phase === 'gone') return
    this.#held.push(chunk)
    this.#stream.pause()
    if (this.#phase === 'detached') void this.#reattach()
  }

  #pass(arrived: Buffer): void {
    let chunk = arrived
    let ends: number
    try {
      if (this.#dropping) chunk = chunk.subarray(this.#dropping.follow(chunk))
      if (chunk.length === 0) return
      this.#dropping = null
      ends = this.#requests.follow(chunk)
    } catch (error) {
      return this.#fail(error)
    }
    this.#spoke = true
    this.#holds = false
    if (this.#backend && ends > 0) {
      this.#backend.used = true
      if (!this.#backend.stream.write(ends === chunk.length ? chunk : chunk.subarray(0, ends))) this.#stream.pause()
    }
    if (ends < chunk.length) this.#leave()
  }

  /** Bytes of the server. Hot. */
  #onAnswer(chunk: Buffer): void {
    try {
      this.#answers.follow(chunk)
    } catch (error) {
      return this.#fail(error)
    }
    if (this.#stream.write(chunk)) return
    this.#backend?.stream.pause()
    this.#stalled ??= setTimeout(() => this.#stream.destroy(), limits.postgresStalledSeconds * 1000).unref()
  }

  #onDrain(): void {
    clearTimeout(this.#stalled)
    this.#stalled = undefined
    this.#backend?.stream.resume()
  }

  #onReady(): void {
    if (!this.#isDone()) return
    this.#idleSinceMs = performance.now()
    const { defaults } = this.#protocol
    if (defaults.changed && isOwners(this.admission)) this.#pool.age() // others change nothing with which anybody else begins
    defaults.changed = false
    this.#pool.becameIdle()
  }

  #attach(given: Backend): void {
    this.#backend = given
    given.receive = (chunk) => this.#onAnswer(chunk)
    given.atBoundary = () => this.#answers.atBoundary()
    given.ended = () => this.#onBackendEnded()
    given.drained = () => this.#stream.resume()
    this.#idleSinceMs = performance.now()
    this.#resume(given)
  }

  /** Lets bytes pass, first those that were held back. */
  #resume(given: Backend): void {
    this.#phase = 'attached'
    for (const chunk of this.#held.splice(0)) this.#onRequest(chunk)
    if (this.#cancelled) given.cancel()
    this.#cancelled = false
    if (given.closed) return this.#onBackendEnded()
    if (this.#stalled === undefined) given.stream.resume()
    if (!given.stream.writableNeedDrain) this.#stream.resume()
  }

  #detach(): Backend | null {
    const given = this.#backend
    this.#backend = null
    given?.leave()
    return given
  }

  async #reattach(): Promise<void> {
    this.#phase = 'changing'
    const protocol = this.#protocol
    try {
      const given = await this.#acquire()
      if (!given) return
      for (const changed of noteSettings(protocol, given.parameters)) this.#stream.write(parameterStatus(...changed))
      const failed = await restoreUnnamed(given, protocol, this.#held[0])
      if (this.#hasLeft()) return this.#pool.release(given)
      if (failed) this.#stream.write(failed)
      this.#dropping = failed ? followToSync() : null
      this.#attach(given)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** The client leaves, or is made to: what it has said before is still done. */
  #leave(): void {
    if (this.#hasLeft()) return
    this.#forget()
    this.#stream.end()
    destroyAfter(this.#stream, limits.postgresEndSeconds * 1000)
  }

  /** Gives back what it has, and says nothing more. */
  #forget(): void {
    if (this.#hasLeft()) return
    const changing = this.#phase === 'changing'
    this.#phase = 'gone'
    this.#held = []
    clearTimeout(this.#stalled)
    this.#pool.leave(this)
    this.#cancelKey.remove()
    if (changing) return // whoever looks into its backend, or gets it one, gives that back
    const given = this.#detach()
    if (!given) return
    const done = this.#isDone()
    given.stuck ||= this.#protocol.leaves === leaves.stuck || !done
    if (done) this.#pool.release(given)
    else given.close()
  }

  #onBackendEnded(): void {
    if (this.#phase !== 'attached') return
    if (this.idleSinceMs() === 0) return void this.#giveBack() // nothing of its session was in it
    this.#detach()
    if (this.#protocol.fatal) return this.#leave()
    this.end(new PostgresRefusal('crash_shutdown', 'the database ended the connection: connect again'))
  }

  #fail(error: unknown): void {
    if (this.#hasLeft() || !(error instanceof ServerRefused)) return this.end(refusalOf(error))
    this.#stream.write(error.whole)
    this.#leave()
  }
}
