/** Environments in real VMs: prepared once, stopped when idle with all that was made in them kept, torn down; all at once. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { ensureEnvironmentVm } from '#src/resources/agents/environments/vms.ts'
import { findVmRow } from '#src/resources/infra/vms/rows.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { until } from '../support/until.ts'

type Environment = { id: string; status: string; status_reason: string | null; vm_id: string | null }

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth({ worker: true, pool: 1, settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
}, 180_000)
afterAll(() => berth?.stop())

const vmLimitMs = 120_000
async function make(name: string, config: object): Promise<Environment & { uuid: string }> {
  const made = await berth.call<Environment>('POST', '/agents/v1/environments', { token, body: { name, config } })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return { ...made.body, uuid: decodeId('environment', made.body.id) ?? '' }
}
const read = async (id: string): Promise<Environment> =>
  (await berth.call<Environment>('GET', `/agents/v1/environments/${id}`, { token })).body
async function run(vm: { id: string }, command: string): Promise<string> {
  const { body } = await berth.call<{ stdout: string; stderr: string }>(
    'POST',
    `/api/v1/vms/${encodeId('vm', vm.id)}/envd/exec`,
    { token, body: { command } },
  )
  return body.stdout + body.stderr
}

test.concurrent('the VM is prepared once, also for concurrent uses; it is stopped when idle, and comes back with its content', async () => {
  const { id, uuid } = await make('kept', {
    memory_mb: 1024,
    setup_script: 'echo prepared >> ~/log; sudo -n true && id -un >> ~/log',
    idle_timeout_seconds: 10,
  })
  const { workerServices } = berth
  if (!workerServices) throw new Error('this test has a worker')
  const [one, two] = await Promise.all([
    ensureEnvironmentVm(berth.services, uuid),
    ensureEnvironmentVm(workerServices, uuid),
  ])
  expect(two.id).toBe(one.id)
  expect(await read(id)).toMatchObject({ status: 'ready', vm_id: encodeId('vm', one.id) })
  expect(await run(one, 'cat ~/log; echo mine > ~/mine')).toBe('prepared\nuser\n')
  await until(
    'it is stopped when idle',
    async () => (await findVmRow(berth.services.db, one.id))?.status === 'stopped',
    vmLimitMs,
  )
  expect((await read(id)).status).toBe('ready')
  const again = await ensureEnvironmentVm(berth.services, uuid)
  expect(again.id).toBe(one.id)
  expect(await run(again, 'cat ~/log ~/mine')).toBe('prepared\nuser\nmine\n')
  expect((await berth.call('DELETE', `/agents/v1/environments/${id}`, { token })).status).toBe(204)
  await until(
    'its machine is gone',
    async () => (await findVmRow(berth.services.db, one.id))?.status === 'deleted',
    vmLimitMs,
  )
}, 300_000)

test.concurrent('a setup script that fails leaves the environment in error, with the script’s output as the reason', async () => {
  const { id, uuid } = await make('broken', { memory_mb: 1024, setup_script: 'echo no such luck >&2; exit 7' })
  await expect(ensureEnvironmentVm(berth.services, uuid)).rejects.toMatchObject({
    code: 'vm_unreachable',
    message: expect.stringMatching(/setup script ended with exit code 7, and printed: no such luck/),
  })
  const { vm_id: vmId, status_reason: reason } = await read(id)
  expect(reason).toContain('exit code 7')
  expect((await berth.call('POST', `/agents/v1/environments/${id}/archive`, { token })).body).toMatchObject({
    status: 'archived',
    vm_id: null,
  })
  await until(
    'its machine is gone',
    async () => (await findVmRow(berth.services.db, decodeId('vm', vmId ?? '') ?? ''))?.status === 'deleted',
    vmLimitMs,
  )
}, 300_000)

test.concurrent('packages that cannot be installed are reported with the package manager’s name', async () => {
  const { uuid } = await make('unpackaged', {
    memory_mb: 1024,
    packages: { pip: ['berth-no-such-package-83'] },
    networking: { type: 'limited', allow_package_managers: true },
  })
  await expect(ensureEnvironmentVm(berth.services, uuid)).rejects.toMatchObject({
    code: 'vm_unreachable',
    message: expect.stringContaining('installing packages with pip ended with exit code'),
  })
}, 300_000)
