/** The networks of projects: which VM reaches which database by its network name. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { findInProject } from '#src/resources/infra/databases/networks.ts'
import { moveVm } from '#src/resources/infra/vms/states.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeDatabase, rowOf } from '../../support/databases.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
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

test('VMs of its project reach a database by its network name; no other VM does, and nobody once it has left', async () => {
  const [project, other] = [await makeProject(), await makeProject()]
  const { id } = await makeDatabase(berth, token, node)
  const move = (body: unknown) => berth.call('PATCH', `/api/v1/databases/${id}`, { token, body })
  await move({ project_id: project, network_name: 'backend' })
  const within = await makeVm(project)
  const find = (vmId: string, host = 'backend', port = 5432) => findInProject(berth.services, vmId, { host, port })
  const proxy = { host: '127.0.0.1', port: berth.services.config.postgresPort }
  expect(await find(within)).toEqual(proxy)
  expect([await find(within, 'backend', 5433), await find(within, 'other')]).toEqual([null, null])
  for (const vm of [await makeVm(other), await makeVm(null), (await rowOf(berth, id)).vmId ?? ''])
    expect(await find(vm)).toBeNull()
  await move({ project_id: other })
  expect(await find(within)).toBeNull()
  expect(await find(await makeVm(other), `prj-${other.slice(4)}`)).toEqual(proxy)
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
