/**
 * Takes the jobs of one queue and handles as many at once as there are slots. One fetch serves all free slots, so that
 * a notice costs one query however many slots are free. Knows nothing about the queue's tables.
 */
import { log } from '#src/platform/log.ts'

/** A job that was taken; `retryCount` names the attempt, so that a late answer cannot settle a newer one. */
export type TakenJob<Data> = { id: string; data: Data; retryCount: number }

/** The queue as the slots see it. */
export type JobSource<Data> = {
  /** Takes at most so many jobs. */
  fetch: (most: number) => Promise<TakenJob<Data>[]>
  /** Sends a heartbeat for these jobs. */
  touch: (jobs: TakenJob<Data>[]) => Promise<void>
  complete: (jobs: TakenJob<Data>[]) => Promise<void>
  /** Returns jobs that were not started, as if they had not been taken. */
  giveBack: (jobs: TakenJob<Data>[]) => Promise<void>
  /** Fails the job, which will be retried. */
  fail: (job: TakenJob<Data>, reason: string) => Promise<void>
}

/** The running slots. */
export type Slots = {
  /** Tells that there may be a job. */
  wake: () => void
  /** Stops taking jobs, waits at most so long for running handlers, and returns the rest. */
  stop: (limitMs: number) => Promise<void>
}

// Retries and delayed jobs are not announced, so this is how late they may start.
const pollMs = 2_000

/**
 * While jobs end this soon after they were taken, more are fetched than there are slots, because a query for every few
 * would take longer than the jobs. The surplus waits here for at most as long; then it is returned, so that other
 * processes may take it.
 */
const surplusMs = 100
const surplusMax = 250
/** The maximum number of ends that are being recorded; with more, no jobs are taken. */
const endingMax = 1_000

/** Starts taking jobs. */
export function startSlots<Data>(
  queue: string,
  source: JobSource<Data>,
  options: { concurrency: number; touchMs: number },
  handler: (job: TakenJob<Data>) => Promise<void>,
): Slots {
  return new Taker(queue, source, options, handler)
}

class Taker<Data> implements Slots {
  readonly #queue: string
  readonly #source: JobSource<Data>
  readonly #concurrency: number
  readonly #handler: (job: TakenJob<Data>) => Promise<void>
  readonly #complete: (job: TakenJob<Data>) => Promise<void>
  readonly #running = new Set<TakenJob<Data>>()
  /** Running jobs, and those whose end is being recorded. */
  readonly #unsettled = new Map<TakenJob<Data>, Promise<void>>()
  readonly #looping: Promise<void>
  readonly #touching: NodeJS.Timeout
  #surplus: TakenJob<Data>[] = []
  #surplusWanted = 0
  #givingBack: NodeJS.Timeout | undefined
  #taken = { full: false, atMs: 0 }
  #stopping = false
  #due = true // whether there may be a job that is not taken
  #rouse: (() => void) | null = null

  constructor(
    queue: string,
    source: JobSource<Data>,
    { concurrency, touchMs }: { concurrency: number; touchMs: number },
    handler: (job: TakenJob<Data>) => Promise<void>,
  ) {
    this.#queue = queue
    this.#source = source
    this.#concurrency = concurrency
    this.#handler = handler
    this.#complete = together(source.complete)
    this.#looping = this.#loop()
    this.#touching = setInterval(() => this.#touch(), touchMs)
  }

  wake(): void {
    this.#due = true
    this.#rouse?.()
  }

  async stop(limitMs: number): Promise<void> {
    this.#stopping = true
    this.#rouse?.()
    await this.#looping
    await this.#giveBackSurplus()
    let limit: NodeJS.Timeout | undefined
    await Promise.race([
      Promise.all(this.#unsettled.values()),
      new Promise<void>((resolve) => (limit = setTimeout(resolve, limitMs))),
    ])
    clearTimeout(limit)
    clearInterval(this.#touching)
    await Promise.all([...this.#running].map((job) => this.#source.fail(job, 'its worker stopped'))).catch(
      this.#warning('jobs could not be given back; they run again once their worker counts as silent'),
    )
  }

  async #loop(): Promise<void> {
    while (!this.#stopping) {
      const room = this.#running.size < this.#concurrency && this.#unsettled.size - this.#running.size < endingMax
      if (this.#due && room && this.#surplus.length === 0) {
        await this.#take().catch(this.#warning('jobs could not be fetched; trying again soon'))
        continue
      }
      await new Promise<void>((resolve) => {
        const poll = setTimeout(() => this.wake(), pollMs)
        this.#rouse = () => {
          clearTimeout(poll)
          resolve()
        }
      })
      this.#rouse = null
    }
  }

  async #take(): Promise<void> {
    const { full, atMs } = this.#taken
    const wereQuick = full && performance.now() - atMs < surplusMs
    this.#surplusWanted = wereQuick ? Math.min(surplusMax, (this.#surplusWanted + this.#concurrency) * 2) : 0
    const most = this.#concurrency - this.#running.size + this.#surplusWanted
    this.#due = false
    const jobs = await this.#source.fetch(most)
    this.#taken = { full: jobs.length === most, atMs: performance.now() }
    if (this.#taken.full) this.#due = true // there may be more
    this.#surplus = jobs
    this.#begin()
    if (this.#surplus.length > 0) this.#givingBack = setTimeout(() => void this.#giveBackSurplus(), surplusMs)
  }

  /** Starts waiting jobs, as far as there are slots. */
  #begin(): void {
    while (this.#running.size < this.#concurrency && !this.#stopping) {
      const job = this.#surplus.shift()
      if (!job) break
      this.#running.add(job)
      this.#unsettled.set(job, this.#work(job))
    }
    if (this.#surplus.length === 0) clearTimeout(this.#givingBack)
  }

  /** Handles one job and records its end. The slot is free before the end is recorded. */
  async #work(job: TakenJob<Data>): Promise<void> {
    const failed = (error: unknown): Promise<void> => {
      if (!this.#stopping)
        log.error({ job: this.#queue, data: job.data, err: error }, 'a job failed and will be tried again')
      return this.#source.fail(job, error instanceof Error ? error.message : String(error))
    }
    let record = (): Promise<void> => this.#complete(job).catch(failed)
    try {
      await this.#handler(job)
    } catch (error) {
      record = () => failed(error)
    }
    this.#running.delete(job)
    this.#begin()
    this.#rouse?.()
    await record().catch(this.#warning('how a job ended could not be recorded; it will run again'))
    this.#unsettled.delete(job)
    this.#rouse?.()
  }

  async #giveBackSurplus(): Promise<void> {
    clearTimeout(this.#givingBack)
    const jobs = this.#surplus
    if (jobs.length === 0) return
    this.#surplus = []
    this.#due = true
    await this.#source
      .giveBack(jobs)
      .catch(this.#warning('jobs could not be given back; they run once their worker counts as silent'))
  }

  #touch(): void {
    const jobs = [...this.#unsettled.keys(), ...this.#surplus]
    if (jobs.length > 0) this.#source.touch(jobs).catch(this.#warning('running jobs could not say that they run'))
  }

  #warning(sentence: string): (error: Error) => void {
    return (error) => log.warn({ job: this.#queue, reason: error.message }, sentence)
  }
}

/**
 * Jobs that end while a completion is being written are completed together in the next one, so that a backlog of short
 * jobs costs few queries.
 */
function together<Data>(complete: JobSource<Data>['complete']): (job: TakenJob<Data>) => Promise<void> {
  let next: { jobs: TakenJob<Data>[]; done: Promise<void> } | null = null
  let last: Promise<unknown> = Promise.resolve()
  return (job) => {
    if (next) {
      next.jobs.push(job)
      return next.done
    }
    const jobs = [job]
    const done = last.then(() => {
      next = null
      return complete(jobs)
    })
    next = { jobs, done }
    last = done.catch(() => undefined) // each of its jobs gets the error
    return done
  }
}
