/** What goes on inside one VM stays inside: fork bombs, full disks, twins from one snapshot. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../support/berth.ts'
import { until } from '../support/until.ts'

let berth: Berth
let token: string
const ids: string[] = []
type Exec = { stdout: string; exit_code: number; timeout: boolean }
const exec = async (vmId: string, command: string, timeout = 30): Promise<{ status: number; body: Exec }> =>
  berth.call<Exec>('POST', `/api/v1/vms/${vmId}/envd/exec`, { token, body: { command, timeout } })

beforeAll(async () => {
  berth = await startBerth({ worker: true, pool: 1 })
  token = await berth.token()
  for (let i = 0; i < 2; i++)
    ids.push((await berth.call<{ vm_id: string }>('POST', '/api/v1/vms', { token, body: {} })).body.vm_id)
}, 180_000)
afterAll(() => berth.stop())

test('two VMs of one snapshot have their own random numbers, machine id, host key, clock and name', async () => {
  const look = async (vmId: string) =>
    (
      await exec(
        vmId,
        'cat /etc/machine-id; head -c 16 /dev/urandom | od -An -tx1; cat /proc/sys/kernel/random/uuid; hostname; sudo sha256sum /etc/dropbear/* /etc/ssh/*host*key 2>/dev/null | cut -c1-64 | sort | head -1',
      )
    ).body.stdout
      .split('\n')
      .map((line) => line.trim())
  const [one, other] = [await look(ids[0]!), await look(ids[1]!)]
  for (let i = 0; i < 4; i++) expect([i, one[i] !== other[i], Boolean(one[i])]).toEqual([i, true, true])
  const clock = Number((await exec(ids[0]!, 'date +%s')).body.stdout)
  expect(Math.abs(clock - Date.now() / 1000)).toBeLessThan(5)
})

test('a fork bomb in one VM leaves it answering and deletable, and the other untouched', async () => {
  const bomb = exec(ids[0]!, 'bomb() { bomb | bomb & }; bomb; sleep 20', 10)
  const calm = await exec(ids[1]!, 'echo calm')
  expect(calm.body.stdout).toBe('calm\n')
  expect((await bomb).body).toMatchObject({ timeout: true })
  await until(
    'the bombed VM answers again',
    async () => (await exec(ids[0]!, 'echo alive', 10)).body.stdout === 'alive\n',
    60_000,
  )
}, 120_000)

test('a full disk leaves the VM answering, and is emptied again', async () => {
  // Blocks are reserved, not written: ten gigabytes of zeros would take the emulated machine minutes.
  const filled = await exec(
    ids[0]!,
    'mkdir -p full && cd full && for size in 4G 1G 256M 32M 4M 256K 4K; do while fallocate -l $size $RANDOM-$RANDOM 2>/dev/null; do :; done; done; echo x > byte; df --output=avail /home/user | tail -1',
    120,
  )
  expect(filled.body.stdout.trim()).toBe('0')
  expect((await exec(ids[0]!, 'echo still here')).body.stdout).toBe('still here\n')
  expect((await exec(ids[0]!, 'rm -r full && echo gone')).body.stdout).toBe('gone\n')
}, 150_000)

test('a guest that powers off is stopped, and says so', async () => {
  await exec(ids[1]!, 'sudo poweroff -f || sudo busybox poweroff -f', 5).catch(() => undefined) // its answer is lost with it
  await until(
    'it is stopped',
    async () => {
      const { body } = await berth.ask('query ($id: ID!) { vm(id: $id) { status statusReason } }', {
        token,
        variables: { id: ids[1] },
      })
      return JSON.stringify(body.data).includes('"STOPPED"')
    },
    60_000,
  )
  const usage = await berth.call<{ sessions: { vm_id: string; end_reason: string }[] }>('GET', '/api/v1/usage', {
    token,
  })
  expect(usage.body.sessions.find((one) => one.vm_id === ids[1])?.end_reason).toBe('guest_exit')
}, 90_000)
