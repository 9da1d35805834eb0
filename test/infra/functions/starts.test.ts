/** How long a function may take to start: as long as its `startSeconds` say, at each place that waits for it. */
import { expect, test } from 'vitest'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { ingressLimits } from '#src/edge/http/limits.ts'
import { reachLimitSeconds } from '#src/edge/http/reaching.ts'
import { BerthError } from '#src/platform/errors.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { probe } from '#workers/infra/functions/programs.ts'

/** A machine in which nothing listens. */
const deaf = {
  connectPort: () => Promise.reject(new BerthError('upstream_error', 'Nothing listens there.')),
} as unknown as Machine // what a probe asks of it

test('a program that does not listen is given up when its own time is over', async () => {
  const over = new AbortController()
  const longer = probe(deaf, 8080, functionLimits.startSecondsMax, over.signal).found
  const sinceMs = performance.now()
  expect(await probe(deaf, 8080, 0.2, over.signal).found).toBe(false)
  expect(performance.now() - sinceMs).toBeGreaterThan(190)
  expect(await Promise.race([longer, Promise.resolve('not yet')])).toBe('not yet')
  over.abort()
  expect(await longer).toBe(false)
})

test('a request for a function is not given up before the longest start, one for a VM as ever', () => {
  expect(reachLimitSeconds({ kind: 'function' }, ingressLimits)).toBeGreaterThan(functionLimits.startSecondsMax)
  expect(reachLimitSeconds({ kind: 'vm' }, ingressLimits)).toBe(ingressLimits.reachSeconds)
})
