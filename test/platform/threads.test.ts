/** Work in a thread: answered in order, killed at its limits, and replaced. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createThread, type Thread } from '#src/platform/threads.ts'

let folder: string
const file = (): URL => pathToFileURL(join(folder, 'thread.mjs'))
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-threads-'))
  writeFileSync(
    join(folder, 'thread.mjs'),
    `
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', (question) => {
      if (question === 'for ever') for (;;);
      if (question === 'memory') { const all = []; for (;;) all.push(new Array(1e5).fill({})) }
      if (question === 'later') return void setTimeout(() => parentPort.postMessage('answer to later'), 800)
      if (question === 'wait for ever') return
      if (question === 'throw') throw new Error('wrong')
      if (question === 'leave') process.exit(0)
      parentPort.postMessage(question === 'environment' ? Object.keys(process.env).length : 'answer to ' + question)
    })`,
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const made = (answerMs: number, waitingMax = 10): Thread<string, unknown> =>
  createThread(file(), { memoryMegabytes: 32, answerMs, waitingMax })

test('a thread answers each question, and sees no secret of the environment', async () => {
  const thread = made(30_000)
  expect(await Promise.all(['a', 'b', 'c', 'environment'].map((one) => thread.ask(one)))).toEqual([
    'answer to a',
    'answer to b',
    'answer to c',
    0,
  ])
})

test.each(['throw', 'leave', 'memory'])(
  'a thread that ends by "%s" is replaced, and those who wait are answered',
  async (how) => {
    const thread = made(30_000)
    const outcomes = await Promise.allSettled([thread.ask('a'), thread.ask(how), thread.ask('b')])
    expect(
      outcomes.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as { reason: string }).reason)),
    ).toEqual(['answer to a', 'failed', 'answer to b'])
  },
)

test('a thread that does not end in time is killed, and the next question has its own time', async () => {
  const thread = made(3_000)
  await thread.ask('warm')
  const outcomes = await Promise.allSettled([thread.ask('for ever'), thread.ask('b')])
  expect(outcomes.map((one) => one.status)).toEqual(['rejected', 'fulfilled'])
})

test('time is the thread’s own: one that waits for a processor, or for anything else, has longer', async () => {
  const thread = made(200)
  expect(await thread.ask('later')).toBe('answer to later')
  const forEver = made(200)
  await expect(forEver.ask('wait for ever')).rejects.toMatchObject({ reason: 'failed' })
})

test('a question is refused when the queue is full', async () => {
  const thread = made(30_000, 2)
  const outcomes = await Promise.allSettled(['a', 'b', 'c', 'd'].map((one) => thread.ask(one)))
  expect(
    outcomes.map((one) => (one.status === 'fulfilled' ? 'answered' : (one.reason as { reason: string }).reason)),
  ).toEqual(['answered', 'answered', 'answered', 'busy'])
})
