/** `berth up` and `berth down` with VMs: they outlive the one, and end by the other. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../support/ports.ts'
import { endQemus, qemuProcesses } from '../support/qemu-processes.ts'
import { until } from '../support/until.ts'
import { makePerson, type Person } from './command.ts'

let folder: string
let person: Person
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-host-'))
  chmodSync(folder, 0o711) // QEMU runs as another user when we are root
  const port = String(await freePort())
  person = makePerson({
    PORT: port,
    BERTH_POSTGRES_PORT: String(await freePort()),
    BERTH_HTTP_PORT: String(await freePort()),
    BERTH_HTTPS_PORT: String(await freePort()),
    BERTH_DATA_DIR: join(folder, 'data'),
    BERTH_VM_POOL: '1',
    BERTH_URL: `http://127.0.0.1:${port}`,
  })
})
afterAll(async () => {
  await person.run(['down', '--vms'])
  await endQemus(folder)
  person.leave()
  rmSync(folder, { recursive: true, force: true })
}, 240_000)

const processOf = async (): Promise<string> =>
  (await person.run(['vm', 'exec', 'web', '--', 'sh', '-c', 'cat mark; pidof sleep || echo none'])).out

test('a VM and its programs outlive down; after down --vms nothing runs, and the next up starts it from its disk', async () => {
  const up = async (): Promise<void> => expect(await person.run(['up', '--detach'])).toMatchObject({ exit: 0, err: '' })
  await up()
  const { out: token } = await person.run(['token', '--user', 'alice', '--org', 'acme', '--ttl', '1h'])
  person.env['BERTH_TOKEN'] = token.trim()
  expect((await person.run(['vm', 'create', 'web'])).exit).toBe(0)
  const write = ['vm', 'exec', 'web', '--', 'sh', '-c', 'echo here > mark; sync']
  expect((await person.run(write)).exit).toBe(0)
  expect((await person.run(['vm', 'exec', 'web', '--background', '--', 'sleep', '3600'])).exit).toBe(0)
  const before = await processOf()
  expect(before).toMatch(/^here\n\d+\n$/)
  expect((await person.run(['down'])).exit).toBe(0)
  expect(qemuProcesses(folder)).toHaveLength(1) // the pool has ended
  await up()
  expect(await processOf()).toBe(before)
  expect(await person.run(['down', '--vms'])).toMatchObject({
    exit: 0,
    out: expect.stringMatching(/^Berth has ended.*\n1 VM was shut down\.\n$/),
  })
  expect(qemuProcesses(folder)).toEqual([])
  await up()
  await until('the VM has been started again', async () => (await processOf()).startsWith('here\n'), 240_000, 1_000)
  expect(await processOf()).toBe('here\nnone\n')
}, 1_200_000)
