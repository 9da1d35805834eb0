/**
 * Threads for work on untrusted input that may take much time or memory: the event loop is not blocked, and a thread
 * that does not finish in time is killed and replaced. Questions and answers are copied between the threads.
 */
import { Worker } from 'node:worker_threads'
import { log } from './log.ts'

/** The limits of a thread. `answerMs` counts from when it starts; `waitingMax` questions may wait for it. */
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
      clearTimeout(timer)
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
    const timer = setTimeout(() => fail(`no answer within ${answerMs} ms`), answerMs)
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
