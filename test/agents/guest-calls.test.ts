/** How long a call in a VM is held on to: a node that fails on request stands for the real one. */
import { afterEach, expect, test, vi } from 'vitest'
import type { NodeClient } from '#src/drivers/node.ts'
import { BerthError } from '#src/platform/errors.ts'
import { noMasker } from '#src/platform/masking.ts'
import { newUuid } from '#src/platform/ids.ts'
import { MachineLost, runInGuest, type GuestVm } from '#src/resources/agents/tools/guest-calls.ts'

afterEach(() => vi.restoreAllMocks())

type Follow = NodeClient['follow']

/** A call of a command with this limit, in a VM whose node follows it so. */
function callOf(
  follow: Follow,
  { timeoutMs = 600_000, vms = ['first'] }: { timeoutMs?: number; vms?: string[] },
): { run: () => Promise<unknown>; asked: string[] } {
  const asked: string[] = []
  const node = {
    follow,
    async call(name: string) {
      asked.push(name)
      if (name === 'readProcess') throw new BerthError('not_found', 'no such process')
      return { exitCode: 1 }
    },
  } as unknown as NodeClient // only what a call uses
  const id = newUuid()
  let looked = 0
  const vm = async (): Promise<GuestVm> => ({
    id,
    startedAt: vms[Math.min(looked++, vms.length - 1)] ?? null,
    envGeneration: 1,
    node,
  })
  const order = { argv: ['true'], timeoutMs } as unknown as Parameters<typeof runInGuest>[0]['order']
  return {
    asked,
    run: () =>
      runInGuest(
        { id: newUuid(), order, begunIn: null, vm, masker: async () => noMasker, begin: async () => undefined },
        new AbortController().signal,
      ),
  }
}

test('a VM that dies during a long command is looked up again, and found to have booted since', async () => {
  const began = performance.now()
  const { run, asked } = callOf(
    async function* () {
      vi.spyOn(performance, 'now').mockReturnValue(began + 3_600_000)
      throw new BerthError('vm_unreachable', 'it is gone')
    },
    { vms: ['first', 'second'] },
  )
  await expect(run()).rejects.toThrow(MachineLost)
  expect(asked).toEqual(['startProcess', 'readProcess', 'exec', 'readProcess'])
})

test('a command that its VM does not end at its time limit is given up, and not started again', async () => {
  const { run, asked } = callOf(
    async function* (_process, signal) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    },
    { timeoutMs: -29_990 },
  )
  await expect(run()).rejects.toMatchObject({
    code: 'timeout',
    message: expect.stringContaining('did not end the command'),
  })
  expect(asked).toEqual(['startProcess'])
})
