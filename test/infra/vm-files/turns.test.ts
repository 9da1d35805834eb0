/** How many transfers of files pass at once: the node's real agent, and machines whose commands end when the test says so. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { codes } from '#src/drivers/compute/guest/file-scripts.ts'
import type { Channel, Compute, Exit, Machine } from '#src/drivers/compute/machine.ts'
import { nodeClient, type NodeClient } from '#src/drivers/node.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { fileLimits } from '#src/platform/limits/files.ts'
import { createSealer } from '#src/platform/secrets.ts'
import type { Background } from '#src/platform/services.ts'
import { nodeTokenPurpose } from '#src/resources/infra/vms/access.ts'
import type { GuestEnv } from '#workers/infra/guest-env.ts'
import { openNodeAgent, type NodeAgent } from '#workers/infra/node-agent.ts'
import { unnotedUse } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

const sealer = createSealer([Buffer.alloc(32, 1)])
const retryAfterSeconds = 5
const manyBytes = 64 * 1024 * 1024

let folder: string
let agent: NodeAgent
let node: NodeClient
/** Ends the commands that run, in the order in which they began. */
let running: (() => void)[]
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-turns-'))
  running = []
  const machine = { run: async () => command() } as Pick<Machine, 'run'> as Machine // what transfers use of one
  agent = await openNodeAgent({
    services: { sealer } as Background, // no operation is called
    compute: { find: () => machine } as Pick<Compute, 'find'> as Compute,
    env: {} as GuestEnv,
    use: unnotedUse,
    socketPath: join(folder, 'node.sock'),
  })
  node = nodeClient(`unix:${join(folder, 'node.sock')}`, sealer.derive(nodeTokenPurpose))
})
afterEach(async () => {
  await agent.close()
  rmSync(folder, { recursive: true })
})

/** A command that runs until the test ends it; then nothing was at the path. */
function command(): Channel {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const { promise, resolve } = Promise.withResolvers<Exit>()
  const end = (): void => {
    stdout.end()
    stderr.end()
    resolve({ exitCode: codes.absent, timedOut: false })
  }
  running.push(end)
  return { stdin, stdout, stderr, exit: promise, close: end }
}

const placeOf = (vmId: string, organizationId: string) => ({
  vmId,
  organizationId,
  path: '/x',
  format: 'file' as const,
})
const get = (vmId: string, organizationId: string): Promise<unknown> =>
  node
    .openFile({
      ...placeOf(vmId, organizationId),
      range: null,
      ifRange: null,
      ifNoneMatch: null,
      headOnly: false,
      progressOnly: false,
    })
    .catch((error: unknown) => (error instanceof BerthError ? [error.code, error.details, error.message] : error))
/** Begins so many transfers, of as many VMs as that takes. */
async function begin(count: number, organizationId: string): Promise<void> {
  const before = running.length
  for (let at = 0, vmId = newUuid(); at < count; at++) {
    if (at % fileLimits.streamsPerVm === 0) vmId = newUuid()
    void get(vmId, organizationId)
  }
  await until('they run', () => running.length === before + count)
}

test('one more transfer than a VM or an organization may have is refused with when to come back, until one ends', async () => {
  const [vmId, organizationId] = [newUuid(), newUuid()]
  const first = get(vmId, organizationId)
  await until('the first runs', () => running.length === 1)
  for (let at = 1; at < fileLimits.streamsPerVm; at++) void get(vmId, organizationId)
  await until('they run', () => running.length === fileLimits.streamsPerVm)
  expect(await get(vmId, organizationId)).toEqual([
    'rate_limited',
    { retryAfterSeconds },
    expect.stringContaining('This VM has 8 transfers'),
  ])
  running[0]?.()
  expect(await first).toEqual(['not_found', {}, expect.any(String)])
  await begin(fileLimits.streamsPerOrganization - fileLimits.streamsPerVm + 1, organizationId)
  expect(await get(newUuid(), organizationId)).toEqual([
    'rate_limited',
    { retryAfterSeconds },
    expect.stringContaining('Your organization has 24 transfers'),
  ])
})

test('busy organizations leave room on a node for all others, and a full node says when to come back', async () => {
  const busy = [newUuid(), newUuid()]
  for (const one of busy) await begin(fileLimits.streamsPerOrganization, one)
  const full = ['capacity_unavailable', { retryAfterSeconds }, expect.any(String)]
  for (let left = fileLimits.streamsForMany; left > 0; left -= fileLimits.streamsWhenBusy) {
    const other = newUuid()
    await begin(fileLimits.streamsWhenBusy, other)
    expect(await get(newUuid(), other)).toEqual(full)
  }
  expect(running).toHaveLength(fileLimits.streamsPerNode)
  expect(await get(newUuid(), newUuid())).toEqual(full)
})

test('an upload that is refused while its body is on its way is answered with the reason, whatever its size', async () => {
  const [vmId, organizationId] = [newUuid(), newUuid()]
  await begin(fileLimits.streamsPerOrganization, organizationId)
  for (let at = 0; at < 5; at++) {
    const body = Readable.from(Array.from({ length: 64 }, () => Buffer.alloc(manyBytes / 64)))
    const upload = { offset: 0, lengthBytes: manyBytes, totalBytes: manyBytes, isLast: true }
    await expect(node.sendFile({ ...placeOf(vmId, organizationId), ...upload }, body)).rejects.toMatchObject({
      code: 'rate_limited',
      details: { retryAfterSeconds },
    })
  }
})
