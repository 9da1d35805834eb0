/**
 * The backends of one database. A client keeps the backend it has for as long as nobody else wants it: it is taken back
 * from whoever has been idle longest, when another client waits or some seconds have passed, and only if nothing of the
 * client's session is in it. Between two clients it is cleared; what cannot be cleared is closed.
 */
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import type { Backend } from './backend.ts'
import type { Lessee } from './lessee.ts'
import { isAmong, type ClientKind, type SomeClients } from './directory.ts'
import { PostgresRefusal } from './refusals.ts'
import { ServerRefused } from './server-refusals.ts'
import { roomOf, type OrganizationClients } from './shares.ts'
import { clearState } from './sessions/session-state.ts'

/** How many there are of what, for metrics and for whoever decides whether a database may sleep. */
export type PoolCounts = { clients: number; backends: number; free: number; waiting: number }

/** When a pool does what. */
export type PoolTimes = {
  idleMs: number // those whom nobody waits for give their backend back after so long
  pressMs: number // who has been idle for less is in the middle of something: another backend is opened before it is asked
  patienceMs: number // others wait no longer for a backend to say what it holds
  queueMs: number // whoever gets no backend for so long is refused
}

const usualTimes: PoolTimes = {
  idleMs: 2_000,
  pressMs: 200,
  patienceMs: 1_000,
  queueMs: limits.postgresQueueSeconds * 1000,
}
const beyondSharedMs = 5_000 // backends beyond the shared ones are kept so long for clients that come and go

/** Somebody in the queue. */
type Waiting = { kind: ClientKind; retry: () => void }

/** The pool of a database. */
export class Pool {
  #backendsMax = 0
  #shared = 0
  readonly #times: PoolTimes
  readonly #ofOrganization: OrganizationClients
  readonly #backends = new Set<Backend>()
  readonly #free: Backend[] = [] // the one that was used last is at the end
  readonly #clients = new Set<Lessee>()
  readonly #queue: Waiting[] = []
  #opening = 0
  #generation = 0
  /** Backends that are older than this are taken back from their clients as soon as those are idle. */
  #renewedGeneration = 0
  #sweeping = false

  /** @param ofOrganization the clients of all databases of its organization */
  constructor(ofOrganization: OrganizationClients, times: PoolTimes = usualTimes) {
    this.#ofOrganization = ofOrganization
    this.#times = times
  }

  /** Sets how many backends the server takes from us, and how many of them clients share before more are opened. */
  resize({ backendsMax, backendsShared }: { backendsMax: number; backendsShared: number }): void {
    this.#backendsMax = backendsMax
    this.#shared = Math.min(backendsShared, backendsMax)
  }

  /** Adds a client. @throws PostgresRefusal when there are too many */
  join(client: Lessee): void {
    if (this.#clients.size >= roomOf(client.admission.kind, limits.postgresClientsPerDatabase))
      throw new PostgresRefusal(
        'too_many_connections',
        'too many clients are connected to this database: close some of them',
      )
    this.#ofOrganization.join()
    this.#clients.add(client)
  }

  /** Takes a client away. */
  leave(client: Lessee): void {
    if (this.#clients.delete(client)) this.#ofOrganization.leave()
  }

  /** A backend for this key, which `open` makes where none is free. @throws PostgresRefusal; ServerRefused */
  async acquire(key: string, kind: ClientKind, open: () => Promise<Backend>): Promise<Backend> {
    const isNext = this.#queue.length === 0 || kind === 'owner'
    const backend = isNext ? await this.#tryAcquire(key, kind, open, false) : null
    return backend ?? this.#waitFor(key, kind, open)
  }

  /** Takes a backend back that its client has no use for, outside of a transaction. */
  release(backend: Backend): void {
    void this.#clear(backend).then((ready) => {
      if (!ready) return
      if (!this.#isFit(backend)) return this.#drop(backend) // it aged meanwhile
      backend.freeSinceMs = performance.now()
      this.#free.push(backend)
      this.#queue[0]?.retry()
    })
  }

  /** A client has become idle: for those who wait. Hot. */
  becameIdle(): void {
    this.#queue[0]?.retry()
  }

  /**
   * Sessions begin with other settings from now on: backends that are open are given to nobody else, and those who have one
   * keep it, because nobody could give them another that is as old.
   */
  age(): void {
    this.#generation++
    for (const backend of [...this.#free]) this.#drop(backend)
  }

  /** The same; and those who have one give theirs back when they are idle next, unless something of their session is in it. */
  renew(): void {
    this.age()
    this.#renewedGeneration = this.#generation
    void this.#takeBack(0, 'renewed')
  }

  /** Ends these clients. */
  close(clients: SomeClients, refusal: PostgresRefusal): void {
    this.age()
    for (const client of [...this.#clients]) if (isAmong(client.admission, clients)) client.end(refusal)
  }

  /** Ends those who are idle, even if their sessions hold something. */
  endIdle(refusal: PostgresRefusal): void {
    for (const client of [...this.#clients]) if (client.isIdle()) client.end(refusal)
  }

  /** Takes back what has been idle for long, closes what nobody needs; called every second. */
  async sweep(): Promise<void> {
    for (const client of this.#clients) client.beat()
    if (this.#sweeping) return
    this.#sweeping = true
    try {
      await this.#takeBack(0, 'renewed') // who worked, or was just given one, when that was asked for
      await this.#takeBack(this.#times.idleMs, 'current')
      const nowMs = performance.now()
      for (const backend of [...this.#free]) {
        const restedMs = nowMs - backend.freeSinceMs
        const beyond = this.#backends.size > this.#shared && restedMs > beyondSharedMs
        if (beyond || restedMs > limits.postgresBackendIdleSeconds * 1000 || !this.#isFit(backend)) this.#drop(backend)
      }
    } finally {
      this.#sweeping = false
    }
  }

  /** What there is now. */
  counts(): PoolCounts {
    return {
      clients: this.#clients.size,
      backends: this.#size(),
      free: this.#free.length,
      waiting: this.#queue.length,
    }
  }

  #size(): number {
    return this.#backends.size + this.#opening
  }

  #isFit(backend: Backend): boolean {
    return (
      !backend.closed &&
      !backend.stuck &&
      backend.atBoundary() &&
      backend.generation === this.#generation &&
      performance.now() - backend.openedAtMs < limits.postgresBackendMinutes * 60_000
    )
  }

  #drop(backend: Backend): void {
    backend.close()
    this.#forget(backend)
  }

  #forget(backend: Backend): void {
    this.#backends.delete(backend)
    const at = this.#free.indexOf(backend)
    if (at >= 0) this.#free.splice(at, 1)
    this.#queue[0]?.retry()
  }

  /** Opens another; null when the server has no room, and somebody may give theirs back. */
  async #openOne(open: () => Promise<Backend>): Promise<Backend | null> {
    const born = this.#generation
    this.#opening++
    try {
      const backend = await open()
      backend.generation = born
      this.#backends.add(backend)
      backend.stream.once('close', () => this.#forget(backend))
      return backend
    } catch (error) {
      if (error instanceof ServerRefused && error.isFull && this.#backends.size > 0) return null
      throw error
    } finally {
      this.#opening--
    }
  }

  /** Makes it ready for another client; closes it where that cannot be. */
  async #clear(backend: Backend): Promise<boolean> {
    try {
      await backend.cancelling
      if (this.#isFit(backend) && (!backend.used || (await clearState(backend))) && this.#isFit(backend)) {
        backend.used = false
        return true
      }
    } catch (error) {
      log.debug({ err: error }, 'a backend could not be cleared')
    }
    this.#drop(backend)
    return false
  }

  /** The client that has been idle longest, for at least so long, with a backend of the current generation or one that was renewed. */
  #longestIdle(atLeastMs: number, age: 'current' | 'renewed'): Lessee | null {
    let found: Lessee | null = null
    let sinceMs = performance.now() - atLeastMs
    for (const client of this.#clients) {
      const generation = client.generation() ?? this.#generation
      if (age === 'current' ? generation !== this.#generation : generation >= this.#renewedGeneration) continue
      const idleSinceMs = client.idleSinceMs()
      if (idleSinceMs !== null && idleSinceMs <= sinceMs) [found, sinceMs] = [client, idleSinceMs]
    }
    return found
  }

  /** A backend without waiting for anybody who works; null where there is none. */
  async #tryAcquire(
    key: string,
    kind: ClientKind,
    open: () => Promise<Backend>,
    pressed: boolean,
  ): Promise<Backend | null> {
    const most = roomOf(kind, this.#backendsMax)
    for (;;) {
      const at = this.#free.findLastIndex((backend) => backend.key === key)
      const [warm] = at < 0 ? [] : this.#free.splice(at, 1)
      if (warm && this.#isFit(warm)) return warm
      if (warm) this.#drop(warm)
      else if (this.#size() < Math.min(this.#shared, most)) return this.#openOne(open)
      else if (this.#free[0]) this.#drop(this.#free[0])
      else {
        const client = this.#longestIdle(pressed ? 0 : this.#times.pressMs, 'current')
        if (!client) return this.#size() < most ? this.#openOne(open) : null
        const given = await client.release(this.#times.patienceMs)
        if (given === 'late') return this.#size() < most ? this.#openOne(open) : null // the server is slow for all of them
        if (!given) continue
        if (given.key !== key || this.#size() > most) this.#drop(given)
        else if (await this.#clear(given)) return given
      }
    }
  }

  /** Waits in the queue; only the first in it tries. The owner waits for nobody but other owners' clients. */
  async #waitFor(key: string, kind: ClientKind, open: () => Promise<Backend>): Promise<Backend> {
    let isLate = false
    const turn: Waiting = { kind, retry: () => undefined }
    const timer = setTimeout(() => {
      isLate = true
      turn.retry()
    }, this.#times.queueMs)
    const ownersBefore = this.#queue.findIndex((one) => one.kind !== 'owner')
    this.#queue.splice(kind === 'owner' && ownersBefore >= 0 ? ownersBefore : this.#queue.length, 0, turn)
    try {
      for (;;) {
        const event = new Promise<void>((resolve) => (turn.retry = resolve))
        const backend = this.#queue[0] === turn ? await this.#tryAcquire(key, kind, open, true) : null
        if (backend) return backend
        if (isLate) throw tooMany()
        await event
      }
    } finally {
      clearTimeout(timer)
      this.#queue.splice(this.#queue.indexOf(turn), 1)
      this.#queue[0]?.retry()
    }
  }

  async #takeBack(atLeastMs: number, age: 'current' | 'renewed'): Promise<void> {
    for (;;) {
      const given = await this.#longestIdle(atLeastMs, age)?.release(this.#times.patienceMs)
      if (given === undefined || given === 'late') return
      if (given) this.release(given)
    }
  }
}

const tooMany = (): PostgresRefusal =>
  new PostgresRefusal(
    'too_many_connections',
    'every connection that this database has is in use: end transactions that are open for long, or close connections that hold prepared statements, temporary tables or locks',
  )
