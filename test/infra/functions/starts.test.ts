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
  expect(await probe(deaf, 8080, 0.2, new AbortController().signal).found).toBe(false)
})

test('a request for a function is not given up before the longest start, one for a VM as ever', () => {
  expect(reachLimitSeconds({ kind: 'function' }, ingressLimits)).toBeGreaterThan(functionLimits.startSecondsMax)
  expect(reachLimitSeconds({ kind: 'vm' }, ingressLimits)).toBe(ingressLimits.reachSeconds)
})
