/**
 * A hostile day: a whole `npm start`, VMs created, used and deleted all the time, and kill -9 of web, worker, QEMU and
 * Postgres in turn. What was acknowledged holds, and nothing is left over.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startInstallation, type Installation } from './support/installation.ts'
import { until } from './support/until.ts'

const steady = ['running', 'stopped', 'paused', 'error']
const recoveryMs = 30_000

let berth: Installation
let token: string

beforeAll(async () => {
  berth = await startInstallation()
  token = await berth.token()
  await until(
    'the node takes VMs',
    async () => (await call('POST', '/api/v1/vms', { name: 'first' })).status === 201,
    120_000,
  )
}, 400_000)
afterAll(() => berth?.stop(), 60_000)

type Answer = { status: number; body: { vm_id?: string; status?: string; message?: string } }

/** An answer, or status 0 when the connection was refused or cut. */
async function call(method: string, path: string, body?: unknown): Promise<Answer> {
  try {
    const answer = await fetch(berth.url + path, {
      method,
      signal: AbortSignal.timeout(45_000),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: (text ? JSON.parse(text) : {}) as Answer['body'] }
  } catch {
    return { status: 0, body: {} } // cut off: that is what this test does to the other side
  }
}

test('every acknowledged VM ends in a steady state, every acknowledged deletion holds, and nothing leaks', async () => {
  const created = new Set<string>()
  const deleted = new Set<string>()
  const statuses = new Map<number, number>()
  let going = true
  const count = (answer: Answer): Answer => (
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1), answer
  )

  async function useBerth(): Promise<void> {
    while (going) {
      const made = count(await call('POST', '/api/v1/vms', { skip_folder_create: false }))
      if (made.status === 201 && made.body.vm_id) {
        created.add(made.body.vm_id)
        count(await call('POST', `/api/v1/vms/${made.body.vm_id}/envd/exec`, { command: 'echo used' }))
        if (created.size % 2 === 0 && count(await call('DELETE', `/api/v1/vms/${made.body.vm_id}`)).status === 204)
          deleted.add(made.body.vm_id)
      } else {
        await until('Berth answers again', async () => (await call('GET', '/readyz')).status === 200, 60_000)
      }
      if (created.size - deleted.size > 6) {
        const [oldest] = [...created].filter((id) => !deleted.has(id))
        if (oldest && (await call('DELETE', `/api/v1/vms/${oldest}`)).status === 204) deleted.add(oldest)
      }
    }
  }
  const users = [useBerth(), useBerth()]

  for (const victim of ['worker', 'web', 'qemu', 'postgres', 'worker', 'qemu']) {
    const before = created.size
    await until(`a VM was made before the ${victim} is killed`, () => created.size > before, 60_000)
    expect(berth.kill(victim), `there is a ${victim}`).toBe(true)
  }
  going = false
  await Promise.all(users)

  await until('Berth is ready again', async () => (await call('GET', '/readyz')).status === 200, recoveryMs)
  const kept = [...created].filter((id) => !deleted.has(id))
  expect(kept.length).toBeGreaterThan(0)
  for (const id of kept) {
    await until(
      `${id} is steady`,
      async () => {
        const { status, body } = await call('GET', `/api/v1/vms/${id}`)
        return status === 200 && steady.includes(body.status ?? '')
      },
      recoveryMs,
    )
  }
  for (const id of deleted)
    await until(`${id} is gone`, async () => (await call('GET', `/api/v1/vms/${id}`)).status === 404, recoveryMs)

  // What runs, works.
  for (const id of kept) {
    const { body } = await call('GET', `/api/v1/vms/${id}`)
    if (body.status === 'running')
      await until(
        `${id} answers`,
        async () => (await call('POST', `/api/v1/vms/${id}/envd/exec`, { command: 'true' })).status === 200,
        recoveryMs,
      )
  }
  expect(
    [...statuses.keys()].filter((status) => ![0, 200, 201, 204, 400, 404, 500, 502, 503].includes(status)),
  ).toEqual([])

  const all = (await (
    await fetch(`${berth.url}/api/v1/vms`, { headers: { authorization: `Bearer ${token}` } })
  ).json()) as { vm_id: string }[]
  for (const vm of all)
    await until(
      `${vm.vm_id} is deleted`,
      async () => [204, 404].includes((await call('DELETE', `/api/v1/vms/${vm.vm_id}`)).status),
      recoveryMs,
    )
  await until(
    'no VM is left',
    async () => {
      const left = await (
        await fetch(`${berth.url}/api/v1/vms`, { headers: { authorization: `Bearer ${token}` } })
      ).json()
      return Array.isArray(left) && left.length === 0
    },
    recoveryMs,
  )
  // What may be left: the warm machine and one in the making, and the folders, which outlive their VMs on purpose.
  const poolMax = 2
  await until(
    'only the pool’s machines are left',
    () => berth.qemuPids().length <= poolMax && readdirSync(join(berth.dataDir, 'machines')).length <= poolMax,
    recoveryMs,
  )
  const { data } = (await (
    await fetch(`${berth.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: '{ folders(first: 100) { nodes { id } } }' }),
    })
  ).json()) as { data: { folders: { nodes: unknown[] } } }
  expect(data.folders.nodes.length).toBeLessThan(100)
  await until(
    'no disk is left that is nobody’s',
    () => readdirSync(join(berth.dataDir, 'folders')).length <= data.folders.nodes.length + poolMax,
    recoveryMs,
  )
}, 400_000)
