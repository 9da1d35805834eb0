/** Berth's tools on real machines: one is made, used and deleted, and code runs in a sandbox. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../support/berth.ts'
import { until } from '../support/until.ts'
import { connectTools, type ToolClient } from './world.ts'

const limitMs = 180_000
let berth: Berth
let tools: ToolClient
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  tools = await connectTools(berth, await berth.token())
}, limitMs)
afterAll(() => berth.stop(), limitMs)

test(
  'a VM is made, works, holds files, is paused and runs on, and is deleted',
  async () => {
    const { call, refused } = tools
    const vm = await call('create_vm', { name: 'worker', ttl_seconds: 3600 })
    const vm_id = vm['id']
    expect(vm).toMatchObject({ name: 'worker', status: 'RUNNING' })
    expect(await call('exec', { vm_id, command: 'tr a-z A-Z; echo oops >&2; exit 3', stdin: 'typed' })).toMatchObject({
      exitCode: 3,
      stdout: 'TYPED',
      stderr: 'oops\n',
    })
    const much = await call('exec', { vm_id, command: 'seq 100000' })
    expect(much['stdout']).toMatch(/^\[\d+ characters before this are left out\]\n[^]*\n100000\n$/)
    expect(await call('write_file', { vm_id, path: '/home/user/note', content: 'grüße\n' })).toMatchObject({
      sizeBytes: 8,
    })
    expect(await call('read_file', { vm_id, path: '/home/user/note' })).toMatchObject({
      encoding: 'text',
      content: 'grüße\n',
    })
    await call('write_file', { vm_id, path: '/home/user/bytes', content: '/wD+', encoding: 'base64' })
    expect(await call('read_file', { vm_id, path: '/home/user/bytes' })).toMatchObject({
      encoding: 'base64',
      content: '/wD+',
    })
    await call('exec', { vm_id, command: 'seq 20000 > /home/user/long' })
    let text = ''
    for (let offset: unknown = 0; offset !== undefined; ) {
      const piece: Record<string, unknown> = await call('read_file', { vm_id, path: '/home/user/long', offset })
      text += String(piece['content'])
      offset = piece['next_offset']
    }
    expect(text).toBe(`${Array.from({ length: 20_000 }, (_, at) => at + 1).join('\n')}\n`)
    const { entries } = await call('list_files', { vm_id })
    expect((entries as { name: string }[]).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['note', 'bytes', 'long']),
    )
    expect(await refused('read_file', { vm_id, path: '/home/user/nothing' })).toContain('There is nothing at')
    expect((await call('preview_url', { vm_id, port: 8080 }))['url']).toMatch(/^https?:\/\//)
    for (const state of ['paused', 'running', 'stopped', 'running']) {
      const wanted = state.toUpperCase()
      expect(await call('set_vm_state', { vm_id, state })).toMatchObject({ vm: { desiredStatus: wanted } })
      await until(`it is ${state}`, async () => {
        const { vms } = await call('list_vms')
        return (vms as { status: string }[])[0]?.status === wanted
      })
    }
    expect(await call('set_vm_state', { vm_id, state: 'deleted' })).toEqual({ deletedId: vm_id })
    await until('it is gone', async () => ((await call('list_vms'))['vms'] as unknown[]).length === 0)
    expect(await refused('exec', { vm_id, command: 'id' })).toMatch(/\(NOT_FOUND\)$/)
  },
  limitMs,
)

test(
  'code runs in a sandbox, and what fails says so',
  async () => {
    const { call } = tools
    expect(await call('run_code', { language: 'python', code: 'print(6 * 7)' })).toEqual({
      exitCode: 0,
      stdout: '42\n',
      stderr: '',
    })
    expect(await call('run_code', { language: 'bash', code: 'exit 4' })).toMatchObject({ exitCode: 4 })
  },
  limitMs,
)
