/** Who goes away is seen at once, who reads slowly is waited for, and connections are used again. */
import { beforeEach, describe, expect, test } from 'vitest'
import { askUpstream } from '#src/drivers/models/ask.ts'
import { mockOfFile, startMockUpstream } from '../../support/mock-upstream.ts'
import { askAll, requestOf, targetOf, wireKinds } from '../../support/model-questions.ts'
import { until } from '../../support/until.ts'

const mock = await mockOfFile()
beforeEach(() => mock.forget())

/** Waits until the upstream, which would go on for ever, sees the caller of the first request go. */
async function seen(): Promise<void> {
  const request = await mock.request(0)
  await request.ended
  expect(request.outcome).toBe('aborted')
}

describe.each(wireKinds)('a caller of an upstream of kind %s', (kind) => {
  test('a client that leaves before the answer begins is noticed, and gets its own reason', async () => {
    mock.script({ before: 'never' })
    const abort = new AbortController()
    const asked = askUpstream(kind)(targetOf(mock), requestOf(), abort.signal)
    await mock.request(0)
    const reason = new Error('the caller has gone')
    abort.abort(reason)
    await expect(asked).rejects.toBe(reason)
    await seen()
  })

  test('a client that leaves in the middle is noticed, streaming or not', async () => {
    for (const stream of [true, false]) {
      mock.forget()
      mock.script({ parts: [{ text: 'so far' }, { hang: true }] })
      const abort = new AbortController()
      const asked = askAll(kind, targetOf(mock), requestOf({ stream }), abort.signal)
      const request = await mock.request(0)
      await until('the mock has spoken', () => request.characters > 0)
      const reason = new Error('the caller has gone')
      abort.abort(reason)
      await expect(asked).rejects.toBe(reason)
      await seen()
    }
  })

  test('a client that stops reading is noticed', async () => {
    mock.script({ parts: [{ text: 'so far' }, { hang: true }] })
    for await (const batch of await askUpstream(kind)(targetOf(mock), requestOf(), new AbortController().signal)) {
      if (batch.some(({ type }) => type === 'text')) break
    }
    await seen()
  })

  test('a request of a client that has already disconnected is never sent', async () => {
    const reason = new Error('gone')
    await expect(askAll(kind, targetOf(mock), requestOf(), AbortSignal.abort(reason))).rejects.toBe(reason)
    expect(mock.requests).toEqual([])
  })
})

test('a signal that outlives many answers keeps none of them in memory', async () => {
  const { signal } = new AbortController()
  let listening = 0
  const counted = new Proxy(signal, {
    get(target, name) {
      if (name === 'addEventListener')
        return (...rest: Parameters<AbortSignal['addEventListener']>) => {
          listening++
          target.addEventListener(...rest)
        }
      if (name === 'removeEventListener')
        return (...rest: Parameters<AbortSignal['removeEventListener']>) => {
          listening--
          target.removeEventListener(...rest)
        }
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  for (let n = 0; n < 10; n++)
    await askAll('openai-compatible', targetOf(mock), requestOf({ stream: n % 2 === 0 }), counted)
  expect(listening).toBe(0)
})

test('a slow reader puts backpressure on the upstream, and then gets everything', async () => {
  const chunks = 40_000
  const text = 'x'.repeat(1_000)
  mock.script({ parts: [{ text: Array.from({ length: chunks }, () => text) }] })
  const answer = (await askUpstream('openai-compatible')(targetOf(mock), requestOf(), new AbortController().signal))[
    Symbol.asyncIterator
  ]()
  let characters = 0
  const count = ({ value, done }: Awaited<ReturnType<typeof answer.next>>): boolean => {
    for (const event of done ? [] : value) if (event.type === 'text') characters += event.text.length
    return done !== true
  }
  count(await answer.next())
  const request = await mock.request(0)
  let before = -1
  await until('the mock waits', () => {
    const still = request.characters === before
    before = request.characters
    return still
  })
  expect(request.outcome).toBe(null)
  expect(request.characters).toBeLessThan((chunks * text.length) / 2)
  while (count(await answer.next()));
  expect(characters).toBe(chunks * text.length)
})

test('one connection serves one answer after the other', async () => {
  const other = await startMockUpstream()
  for (let n = 0; n < 30; n++)
    await askAll(wireKinds[n % wireKinds.length]!, targetOf(other), requestOf({ stream: n % 2 === 0 }))
  expect(other.connections).toBeLessThanOrEqual(2)
  await other.close()
})

test('an upstream that does not close after its last event is disconnected', async () => {
  mock.script({ parts: [{ text: 'done' }, { raw: 'data: [DONE]\n\n' }, { hang: true }] })
  const events = await askAll('openai-compatible', targetOf(mock))
  expect(events.at(-1)?.type).toBe('end')
  await seen()
})
