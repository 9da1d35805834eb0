/** Machines that start: at once from the warm pool, whose machine is only given a name; and those that do not come up at first. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { machinesFolder } from '#src/drivers/compute/places.ts'
import { bash, newSpec, startNode, type TestNode } from '../../support/compute.ts'
import { until } from '../../support/until.ts'

const prepareLimitMs = 10 * 60_000
/** A warm machine under emulation on a busy host. */
const warmLimitMs = 40_000

let node: TestNode
beforeAll(async () => {
  node = await startNode(1)
  node.compute.fillPool()
}, prepareLimitMs)
afterEach(async () => {
  for (const { id } of await node.compute.residents()) await node.compute.destroy(id)
})
afterAll(() => node.stop())

const poolIsFull = (): Promise<void> => until('the pool is full', () => node.compute.warm === 1, warmLimitMs)

test(
  'a machine is taken at once, has the name asked for and a fresh workspace',
  async () => {
    await poolIsFull()
    const spec = newSpec({ hostname: 'taken' })
    const { machine, from } = await node.compute.take(spec)
    const restored = await node.compute.take(newSpec({ folder: { folderId: await node.compute.createFolder() } }))
    expect([from, restored.from]).toEqual(['pool', 'snapshot'])
    expect((await bash(machine, 'hostname; ls -A ~/workspace | wc -l; findmnt -no SOURCE ~/workspace')).stdout).toBe(
      'taken\n0\n/dev/vdb\n',
    )
    expect(machine.folderId).toMatch(/^[0-9a-f-]{36}$/)
  },
  warmLimitMs,
)

test(
  'without a folder the workspace is an ordinary folder, and its disk goes with the machine',
  async () => {
    await poolIsFull()
    const folders = (): string[] => readdirSync(join(node.dataDir, 'folders')).sort()
    const spec = newSpec({ folder: 'none' })
    const before = folders()
    const { machine, from } = await node.compute.take(spec)
    expect([from, machine.folderId]).toEqual(['pool', null])
    expect((await bash(machine, 'findmnt -n ~/workspace; touch ~/workspace/x && echo own')).stdout).toBe('own\n')
    const { folderId } = node.record(spec.id)
    expect(before).toContain(`${folderId}.qcow2`)
    await node.compute.destroy(spec.id)
    expect(folders()).not.toContain(`${folderId}.qcow2`)
  },
  warmLimitMs,
)

test(
  'a worker that starts again keeps the warm machine, which is nobody’s VM, and a taken one stays its VM’s',
  async () => {
    await poolIsFull()
    const spec = newSpec()
    await node.compute.take(spec)
    await poolIsFull()
    const qemus = [...(await node.qemus()).keys()].sort()
    expect((await node.restart()).map(({ id }) => id)).toEqual([spec.id])
    expect([...(await node.qemus()).keys()].sort()).toEqual(qemus)
    expect((await node.compute.residents()).map(({ id }) => id)).toEqual([spec.id])
    const other = newSpec()
    expect((await node.compute.take(other)).from).toBe('pool')
    node.compute.fillPool()
  },
  warmLimitMs * 2,
)

test(
  'a warm machine that dies is replaced, and nobody is told',
  async () => {
    await poolIsFull()
    const [[machineUuid, pid]] = [...(await node.qemus())] as [[string, number]] // the warm one is the only one left
    process.kill(pid, 'SIGKILL')
    await until('it is missed', () => node.compute.warm === 0)
    await poolIsFull()
    expect(node.ended).toEqual([])
    expect(readdirSync(machinesFolder(node.dataDir))).not.toContain(machineUuid)
  },
  warmLimitMs * 2,
)

test(
  'two who come at once with one warm machine both get one',
  async () => {
    await poolIsFull()
    const specs = [newSpec(), newSpec(), newSpec()]
    const taken = await Promise.all(specs.map((spec) => node.compute.take(spec)))
    expect(taken.map(({ from }) => from)).toContain('pool')
    expect(new Set(taken.map(({ machine }) => machine.address)).size).toBe(3)
    for (const { machine } of taken) expect((await bash(machine, 'echo up')).stdout).toBe('up\n')
  },
  warmLimitMs * 2,
)

/** Kills the QEMU of each of the next machines that start, so many of them. */
async function killStarting(count: number): Promise<void> {
  const seen = new Set((await node.qemus()).values())
  for (let killed = 0; killed < count; killed++) {
    let pid: number | undefined
    await until(
      'another machine starts',
      async () => {
        pid = [...(await node.qemus()).values()].find((one) => !seen.has(one))
        return pid !== undefined
      },
      warmLimitMs,
    )
    seen.add(pid!)
    process.kill(pid!, 'SIGKILL')
  }
}

test(
  'a machine that does not come up is started once more; when it dies again, the caller is told to try later',
  async () => {
    await poolIsFull()
    const spec = newSpec({ folder: { folderId: await node.compute.createFolder() } }) // the pool has none such
    const [{ machine }] = await Promise.all([node.compute.take(spec), killStarting(1)])
    expect((await bash(machine, 'echo up')).stdout).toBe('up\n')
    await node.compute.stop(spec.id)
    const both = killStarting(2)
    await expect(node.compute.boot(spec)).rejects.toMatchObject({ code: 'capacity_unavailable' })
    await both
    expect((await bash(await node.compute.boot(spec), 'echo up')).stdout).toBe('up\n')
  },
  2 * warmLimitMs,
)
