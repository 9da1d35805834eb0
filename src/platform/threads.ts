/**
 * Threads for work on untrusted input that may take much time or memory: the event loop is not blocked, and a thread
 * that does not finish in time is killed and replaced. Time is the thread's own on a processor, so that a busy host ends
 * no work that is done soon; on the clock it may take ten times as long. Questions and answers are copied between the threads.
 */
import { Worker } from 'node:worker_threads'
import { log } from './log.ts'

/** The limits of a thread. `answerMs` is processor time for a question; `waitingMax` questions may wait for it. */
export type ThreadLimits = { memoryMegabytes: number; answerMs: number; waitingMax: number }

/**
 * Why there is no answer: the work took too long or too much memory (`failed`), or too many are already waiting
 * (`busy`).
 */
export class ThreadError extends Error {
  readonly reason: 'failed' | 'busy'
  constructor(reason: ThreadError['reason'], sentence: string) {
    super(sentence)
    this.name = 'ThreadError'
    this.reason = reason
  }
}

/** One thread that answers one question after the other. */
export type Thread<Question, Answer> = {
  /** @throws ThreadError */
  ask(question: Question): Promise<Answer>
}

/** How many times `answerMs` a question may take on the clock. */
const clockFactor = 10

type Waiting<Question, Answer> = {
  question: Question
  resolve: (answer: Answer) => void
  reject: (error: Error) => void
}

/**
 * The thread of a file, which answers each message of its parent with one; it is started at the first question, and
 * does not keep the process alive.
 */
export function createThread<Question, Answer>(
  file: URL,
  { memoryMegabytes, answerMs, waitingMax }: ThreadLimits,
): Thread<Question, Answer> {
  const waiting: Waiting<Question, Answer>[] = []
  let worker: Worker | null = null
  let isBusy = false

  const start = (): Worker => {
    const started = new Worker(file, {
      resourceLimits: { maxOldGenerationSizeMb: memoryMegabytes },
      env: {},
      stdin: false,
    })
    started.unref()
    worker = started
    return started
  }
  const stop = (stopped: Worker): void => {
    if (worker === stopped) worker = null
    void stopped.terminate()
  }
  const next = (): void => {
    const one = isBusy ? undefined : waiting.shift()
    if (!one) return
    isBusy = true
    const used = worker ?? start()
    const over = (settle: () => void): void => {
      stopWatch()
      used.removeAllListeners()
      used.on('error', (error: Error) =>
        log.warn({ reason: error.message }, 'a thread failed while it had nothing to do'),
      )
      isBusy = false
      settle()
      next()
    }
    const fail = (reason: string): void => {
      log.warn({ thread: file.pathname.split('/').at(-1), reason }, 'a thread was ended')
      stop(used)
      over(() => one.reject(new ThreadError('failed', 'The work took more time or memory than allowed.')))
    }
    const stopWatch = limitTime(used, answerMs, (spent) => fail(`no answer within ${spent}`))
    used.removeAllListeners()
    used.once('message', (answer: Answer) => over(() => one.resolve(answer)))
    used.once('error', (error: Error) => fail(error.message))
    used.once('exit', (code) => fail(`exit ${code}`))
    used.postMessage(one.question)
  }
  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= waitingMax)
          return reject(
            new ThreadError('busy', 'Too many requests of this kind are running. Try again in a few seconds.'),
          )
        waiting.push({ question, resolve, reject })
        next()
      }),
  }
}

/** Calls back once a thread has used its time. @returns a function that stops watching. */
function limitTime(worker: Worker, limitMs: number, late: (spent: string) => void): () => void {
  let isOver = false
  const finish = (spent: string): void => {
    if (isOver) return
    stop()
    late(spent)
  }
  const before = usedMs(worker)
  const look = async (): Promise<void> => {
    const spentMs = (await usedMs(worker)) - ((await before) || 0) // it is not running yet when it is asked for the first time
    if (spentMs >= limitMs) return finish(`${limitMs} ms of its processor time`)
    if (!isOver && !Number.isNaN(spentMs)) timer = setTimeout(() => void look(), Math.max(1, limitMs - spentMs))
  }
  let timer = setTimeout(() => void look(), limitMs)
  const clock = setTimeout(() => finish(`${limitMs * clockFactor} ms`), limitMs * clockFactor)
  const stop = (): void => {
    isOver = true
    clearTimeout(timer)
    clearTimeout(clock)
  }
  return stop
}

/** How long a thread has been on a processor; not a number when it has ended, which it says itself. Unit: milliseconds. */
async function usedMs(worker: Worker): Promise<number> {
  try {
    const { user, system } = await worker.cpuUsage()
    return (user + system) / 1000
  } catch {
    return NaN
  }
}
