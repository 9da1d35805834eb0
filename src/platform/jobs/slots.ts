/**
 * Takes the jobs of one queue, as many at once as there are slots: one fetch for all free slots, so that a notice
 * costs one query however many slots wait. Knows nothing of the queue's tables.
 */
import { log } from '#src/platform/log.ts'

/** A job that was taken; `retryCount` names the attempt, so that a late answer cannot settle a newer one. */
export type TakenJob<Data> = { id: string; data: Data; retryCount: number }

/** The queue as the slots see it. */
export type JobSource<Data> = {
  /** Takes so many jobs at most. */
  fetch: (most: number) => Promise<TakenJob<Data>[]>
  /** Says that these are still worked on. */
  touch: (jobs: TakenJob<Data>[]) => Promise<void>
  complete: (jobs: TakenJob<Data>[]) => Promise<void>
  /** Gives the job back, to be tried again. */
  fail: (job: TakenJob<Data>, reason: string) => Promise<void>
}

/** Slots at work. */
export type Slots = {
  /** There may be a job. */
  wake: () => void
  /** Takes no more, waits so long for running handlers, and gives back what is left. */
  stop: (limitMs: number) => Promise<void>
}

// A retry and a job for later are not announced, so this is how late one may start.
const pollMs = 2_000

/** Starts taking jobs. */
export function startSlots<Data>(
  queue: string,
  source: JobSource<Data>,
  { concurrency, touchMs }: { concurrency: number; touchMs: number },
  handler: (job: TakenJob<Data>) => Promise<void>,
): Slots {
  const running = new Map<TakenJob<Data>, Promise<void>>()
  const complete = together(source.complete)
  let stopping = false
  let due = true // whether there may be a job that nobody has taken
  let rouse: (() => void) | null = null

  const wake = (): void => {
    due = true
    rouse?.()
  }

  function start(job: TakenJob<Data>): void {
    const working = work({ complete, fail: source.fail }, handler, job, (error) => {
      if (!stopping) log.error({ job: queue, data: job.data, err: error }, 'a job failed and will be tried again')
    })
      .catch((error: Error) =>
        log.warn({ job: queue, reason: error.message }, 'how a job ended could not be recorded; it will run again'),
      )
      .finally(() => {
        running.delete(job)
        rouse?.()
      })
    running.set(job, working)
  }

  async function take(): Promise<void> {
    const free = concurrency - running.size
    due = false
    const jobs = await source.fetch(free)
    if (jobs.length === free) due = true // there may be more
    for (const job of jobs) start(job)
  }

  const loop = async (): Promise<void> => {
    while (!stopping) {
      if (due && running.size < concurrency) {
        await take().catch((error: Error) =>
          log.warn({ job: queue, reason: error.message }, 'jobs could not be fetched; trying again soon'),
        )
        continue
      }
      await new Promise<void>((resolve) => {
        const poll = setTimeout(wake, pollMs)
        rouse = () => {
          clearTimeout(poll)
          resolve()
        }
      })
      rouse = null
    }
  }
  const looping = loop()
  const touching = setInterval(() => {
    if (running.size > 0)
      source
        .touch([...running.keys()])
        .catch((error: Error) =>
          log.warn({ job: queue, reason: error.message }, 'running jobs could not say that they run'),
        )
  }, touchMs)

  return {
    wake,
    async stop(limitMs) {
      stopping = true
      rouse?.()
      await looping
      let limit: NodeJS.Timeout | undefined
      await Promise.race([
        Promise.all(running.values()),
        new Promise<void>((resolve) => (limit = setTimeout(resolve, limitMs))),
      ])
      clearTimeout(limit)
      clearInterval(touching)
      await Promise.all([...running.keys()].map((job) => source.fail(job, 'its worker stopped'))).catch(
        (error: Error) =>
          log.warn(
            { job: queue, reason: error.message },
            'jobs could not be given back; they run again once their worker counts as silent',
          ),
      )
    },
  }
}

/** Handles one job and records how it ended. */
async function work<Data>(
  record: { complete: (job: TakenJob<Data>) => Promise<void>; fail: JobSource<Data>['fail'] },
  handler: (job: TakenJob<Data>) => Promise<void>,
  job: TakenJob<Data>,
  onFailure: (error: unknown) => void,
): Promise<void> {
  try {
    await handler(job)
    await record.complete(job)
  } catch (error) {
    onFailure(error)
    await record.fail(job, error instanceof Error ? error.message : String(error))
  }
}

/** Jobs that end while a completion is on its way are completed together with the next, so that a backlog of short ones costs few queries. */
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
    last = done.catch(() => undefined) // each of its jobs hears of it
    return done
  }
}
