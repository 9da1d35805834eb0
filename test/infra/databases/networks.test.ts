/** The networks of projects: which names which VM knows, and who tells it. */
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Channel, Command, Machine } from '#src/drivers/compute/machine.ts'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { findNetworkNames, findNetworkOfVm } from '#src/resources/infra/databases/networks.ts'
import { findVmRow } from '#src/resources/infra/vms/rows.ts'
import { moveVm } from '#src/resources/infra/vms/states.ts'
import { openProjectNetworks, type ProjectNetworks } from '#workers/infra/project-networks.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeDatabase, rowOf } from '../../support/databases.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let token: string
let node: string
let networks: ProjectNetworks
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
  networks = openProjectNetworks(berth.services)
})
afterAll(() => berth.stop())

const makeProject = async (): Promise<string> => {
  const { body } = await berth.ask('mutation { createProject(input: {name: "shop"}) { project { id } } }', { token })
  return (body.data as { createProject: { project: { id: string } } }).createProject.project.id
}
const makeVm = async (project: string | null): Promise<string> => {
  const id = decodeId('vm', await makeVmRow(berth.services.db, token, node)) ?? ''
  await sql`update vms set project_id = ${project && decodeId('project', project)} where id = ${id}`.execute(
    berth.services.db,
  )
  return id
}
const move = (database: string, body: unknown) => berth.call('PATCH', `/api/v1/databases/${database}`, { token, body })

/** A machine that notes at which ports it listens and which names it is told; `fails` times it does not answer first. */
function fakeMachine(fails = 0): { machine: Machine; ports: number[]; told: string[]; asked: () => number } {
  const [ports, told]: [number[], string[]] = [[], []]
  let asked = 0
  const machine = {
    listen: (port: number) => void ports.push(port),
    async run({ argv }: Command): Promise<Channel> {
      expect(argv.at(-1)).toBe('app')
      const stdin = new PassThrough()
      const exit = text(stdin).then((names) => {
        if (asked++ < fails) return { exitCode: 1, timedOut: false }
        told.push(names)
        return { exitCode: 0, timedOut: false }
      })
      return { stdin, stdout: Readable.from([]), stderr: Readable.from([]), exit, close: () => undefined }
    },
  }
  return { machine: machine as unknown as Machine, ports, told, asked: () => asked } // all that is used of one
}
const join = async (vmId: string, { machine }: { machine: Machine }): Promise<void> => {
  const vm = await findVmRow(berth.services.db, vmId)
  if (vm) await networks.join(vm, machine, 'app')
}

test('VMs of a project know the names of its databases; no other VM does, nor does the VM of a database', async () => {
  const { db } = berth.services
  const [project, other] = [await makeProject(), await makeProject()]
  const [first, second, third] = [
    await makeDatabase(berth, token, node),
    await makeDatabase(berth, token, node),
    await makeDatabase(berth, token, node),
  ]
  for (const { id } of [first, second]) await move(id, { project_id: project, network_name: 'backend' })
  await move(third.id, { project_id: project })
  const [within, elsewhere, alone] = [await makeVm(project), await makeVm(other), await makeVm(null)]
  const ofDatabase = (await rowOf(berth, first.id)).vmId ?? ''
  expect(await findNetworkNames(db, [within, elsewhere, alone, ofDatabase])).toEqual(
    new Map([[within, ['backend', `prj-${project.slice(4)}`]]]),
  )
  expect(await findNetworkOfVm(db, within)).toBe(`project:${decodeId('project', project)}`)
  expect(await findNetworkOfVm(db, alone)).toBeNull()
  expect(await findNetworkOfVm(db, ofDatabase)).toBeNull()
  const machine = fakeMachine()
  await join(alone, machine)
  await join(ofDatabase, machine)
  expect([machine.ports, machine.told]).toEqual([[], []])
})

test('a VM is told the names when it comes and at each change, and again when it did not answer', async () => {
  const project = await makeProject()
  const { id } = await makeDatabase(berth, token, node)
  await move(id, { project_id: project, network_name: 'backend' })
  const vmId = await makeVm(project)
  const machine = fakeMachine(1)
  await join(vmId, machine)
  expect(machine.ports).toEqual([5432])
  expect([machine.told, machine.asked()]).toEqual([[], 1])
  await networks.writeNames()
  await until('it is told again', () => machine.told.length === 1)
  await move(id, { project_id: project, network_name: 'orders' })
  await until('it is told the new name', () => machine.told.length === 2)
  await join(vmId, machine) // the same machine: nothing is new
  await move(id, { project_id: null })
  await until('it is told that there is none', () => machine.told.length === 3)
  expect(machine.told).toEqual(['backend\n', 'orders\n', ''])
  networks.leave(vmId)
  const next = fakeMachine()
  await join(vmId, next)
  expect(next.told).toEqual([''])
  expect(machine.told).toHaveLength(3)
})

test('a VM is created in a project by REST, and not in another organization’s', async () => {
  const { db } = berth.services
  const project = await makeProject()
  const asked = berth.call<{ vm_id: string }>('POST', '/api/v1/vms', {
    token,
    body: { project_id: project, name: 'in' },
  })
  const find = async () =>
    (
      await sql<{
        id: string
      }>`select id from vms where name = 'in' and project_id = ${decodeId('project', project)}`.execute(db)
    ).rows[0]
  await until('the VM is there', async () => (await find()) !== undefined)
  await moveVm(db, berth.services, (await find())?.id ?? '', 'running')
  const { status, body } = await asked
  expect(status).toBe(201)
  const seen = await berth.ask(`{ project(id: "${project}") { vms(first: 2) { nodes { id project { id } } } } }`, {
    token,
  })
  expect(seen.body.data).toEqual({ project: { vms: { nodes: [{ id: body.vm_id, project: { id: project } }] } } })
  const eve = await berth.token('eve', 'evil')
  expect(await berth.call('POST', '/api/v1/vms', { token: eve, body: { project_id: project } })).toMatchObject({
    status: 400,
    body: { error: 'invalid_request' },
  })
})
