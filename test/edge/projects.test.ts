/** The databases of a project as its VMs reach them: through their node, which says which project they are in. */
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { projectDoorPlace } from '#src/drivers/project-door.ts'
import { openProjectDoor, type ProjectDoor } from '#src/edge/project-door.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { sql } from '#src/platform/postgres.ts'
import { findLinkedDatabases, linkSet, makeLink } from '#src/resources/infra/databases/links.ts'
import { lead } from '#workers/infra/project-networks.ts'
import { makeSilentNode, makeVmRow } from '../support/makers.ts'
import { until } from '../support/until.ts'
import { openDatabasesWorld, type DatabasesWorld } from './databases-world.ts'

let world: DatabasesWorld
let door: ProjectDoor
let socketPath: string
let token: string
let nodeId: string
const guests: Server[] = []
beforeAll(async () => {
  world = await openDatabasesWorld()
  socketPath = projectDoorPlace(world.berth.services.config.runDir)
  door = await openProjectDoor({ proxy: world.proxy, socketPath })
  token = await world.berth.token('alice', 'acme')
  nodeId = await makeSilentNode(world.berth.services.db)
})
afterAll(async () => {
  for (const guest of guests) guest.close()
  door.close()
  await world.close()
})

const makeProject = async (name: string): Promise<string> => {
  const { body } = await world.berth.ask(`mutation { createProject(input: {name: "${name}"}) { project { id } } }`, {
    token,
  })
  return (
    decodeId('project', (body.data as { createProject: { project: { id: string } } }).createProject.project.id) ?? ''
  )
}

/** The port that a VM of this project, or of none, has inside; and its connections. */
async function makeVm(
  projectId: string | null,
  idleMs?: number,
): Promise<{ vmId: string; port: number; open: Set<Duplex> }> {
  const { db } = world.berth.services
  const vmId = decodeId('vm', await makeVmRow(db, token, nodeId)) ?? ''
  await sql`update vms set project_id = ${projectId} where id = ${vmId}`.execute(db)
  const open = new Set<Duplex>()
  const guest = createServer({ allowHalfOpen: true }, (socket) =>
    lead(world.berth.services, vmId, socket, open, idleMs),
  )
  guest.listen(0, '127.0.0.1')
  await once(guest, 'listening')
  guests.push(guest)
  const address = guest.address()
  return { vmId, open, port: typeof address === 'object' && address ? address.port : 0 }
}
const from = ({ port }: { port: number }, options: Partial<pg.ClientConfig> = {}) =>
  world.client({ port, host: 'backend', ...options })
const endOf = (client: pg.Client): Promise<{ code?: string; message: string }> =>
  new Promise((resolve) => client.once('error', resolve))
const isOn = async (client: pg.Client): Promise<boolean> =>
  (await client.query<{ one: number }>('select 1 as one')).rows[0]?.one === 1
const inProject = (projectId: string | null) => world.change(world.known, sql`project_id = ${projectId}`)

test('a VM of the project logs in to its database with the token; no other VM does, and with no other database’s', async () => {
  const [shop, other] = [await makeProject('shop'), await makeProject('other')]
  const [inside, elsewhere, outside] = [await makeVm(shop), await makeVm(other), await makeVm(null)]
  await expect(from(inside)).rejects.toMatchObject({ code: '28P01' }) // it is in no project yet
  await inProject(shop)
  const client = await from(inside)
  expect(await isOn(client)).toBe(true)
  await client.end()
  await until('its connection is gone on the node', () => inside.open.size === 0)
  await expect(from(inside, { password: 'wrong' })).rejects.toMatchObject({ code: '28P01' })
  const unencrypted = await from(inside, { ssl: false })
  expect(await isOn(unencrypted)).toBe(true)
  await unencrypted.end()
  await expect(from(inside, { user: world.foreign.row.pgUser })).rejects.toMatchObject({ code: '28P01' })
  await expect(from(elsewhere)).rejects.toMatchObject({ code: '28P01' })
  await expect(from(outside)).rejects.toThrow(/terminated|ECONNRESET|end/i)
  await inProject(null)
})

test('a database that leaves the project ends the sessions from there, and no others', async () => {
  const project = await makeProject('moves')
  const vm = await makeVm(project)
  await inProject(project)
  const [client, everybody] = [await from(vm), await world.client()]
  const ended = endOf(client)
  await inProject(null)
  expect(await ended).toMatchObject({ code: '57P01', message: expect.stringContaining('left the project') })
  expect(await isOn(everybody)).toBe(true)
  await expect(from(vm)).rejects.toMatchObject({ code: '28P01' })
  await everybody.end()
})

test('the VM of a function reaches the databases that are linked to it, with their own password and without TLS', async () => {
  const { db, sealer } = world.berth.services
  const [functionId, otherId] = [newUuid(), newUuid()]
  for (const id of [functionId, otherId])
    await sql`insert into functions (id, organization_id, name, host, status, vcpu_count, memory_mb, idle_seconds) values (${id}, ${world.known.row.organizationId}, ${`fn-${id}`}, ${id}, 'running', 1, 256, 60)`.execute(
      db,
    )
  const makeInstance = async (of: string) => {
    const vm = await makeVm(null)
    const versionId = newUuid()
    await sql`update vms set purpose = 'function' where id = ${vm.vmId}`.execute(db)
    await sql`insert into function_versions (id, function_id, organization_id, number, object_key, binary_url, port) values (${versionId}, ${of}, ${world.known.row.organizationId}, 1, 'x', 'x', 80)`.execute(
      db,
    )
    await sql`insert into function_instances (vm_id, function_id, version_id, generation) values (${vm.vmId}, ${of}, ${versionId}, 1)`.execute(
      db,
    )
    return vm
  }
  const [vm, other] = [await makeInstance(functionId), await makeInstance(otherId)]
  const relink = async (to: string | null): Promise<string> => {
    const made = await makeLink(sealer, world.known.row.id, to)
    await world.change(world.known, linkSet(made))
    return (await findLinkedDatabases(db, sealer, functionId))[0]?.password ?? ''
  }
  const folderId = newUuid()
  await sql`insert into folders (id, organization_id, name, node_id, size_mb, purpose) values (${folderId}, ${world.known.row.organizationId}, 'data', ${nodeId}, 1, 'database')`.execute(
    db,
  )
  await sql`update databases set folder_id = ${folderId} where id = ${world.known.row.id}`.execute(db)

  const password = await relink(functionId)
  const [plain, secured] = [await from(vm, { password, ssl: false }), await from(vm, { password })]
  expect([await isOn(plain), await isOn(secured)]).toEqual([true, true])
  await expect(from(vm, { ssl: false })).rejects.toMatchObject({ code: '28P01' }) // the token
  await expect(world.client({ password })).rejects.toMatchObject({ code: '28P01' }) // from elsewhere
  await expect(from(other, { password, ssl: false })).rejects.toMatchObject({ code: '28P01' })

  const [everybody, ended] = [await world.client(), endOf(plain)]
  const next = await relink(functionId)
  expect(await ended).toMatchObject({ code: '57P01', message: expect.stringContaining('password of this function') })
  await expect(from(vm, { password, ssl: false })).rejects.toMatchObject({ code: '28P01' })
  const again = await from(vm, { password: next, ssl: false })
  const unlinked = endOf(again)
  await relink(null)
  expect(await unlinked).toMatchObject({ code: '57P01', message: expect.stringContaining('not linked') })
  await expect(from(vm, { password: next, ssl: false })).rejects.toMatchObject({ code: '28P01' })
  expect(await isOn(everybody)).toBe(true)
  await everybody.end()
})

test('a VM has so many connections, and is told when it wants more', async () => {
  const project = await makeProject('many')
  const vm = await makeVm(project)
  await inProject(project)
  const encryption = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]) // SSLRequest
  const silent = Array.from({ length: limits.projectConnectionsPerVm }, () => connect(vm.port, '127.0.0.1'))
  await Promise.all(
    silent.map(async (socket) => {
      socket.on('error', () => undefined).write(encryption)
      expect(String((await once(socket, 'data'))[0])).toBe('S')
    }),
  )
  expect(await text(connect(vm.port, '127.0.0.1'))).toContain('C53300\0Mtoo many connections')
  for (const socket of silent) socket.destroy()
  await until('they are gone', () => vm.open.size === 0)
  await inProject(null)
})

test('a connection on which nothing is said is cut in the end, on both sides; one that is used is not', async () => {
  const project = await makeProject('idle')
  const idleMs = 1_000
  const vm = await makeVm(project, idleMs)
  await inProject(project)
  const [silent, used] = [await from(vm), await from(vm)]
  const begunMs = performance.now()
  const ended = endOf(silent)
  let isCut = false
  void ended.then(() => (isCut = true))
  while (!isCut && performance.now() - begunMs < 20 * idleMs) await used.query('select pg_sleep(0.1)')
  expect((await ended).message).toMatch(/terminated|ECONNRESET/)
  expect(performance.now() - begunMs).toBeGreaterThan(idleMs * 0.9)
  const onceMoreMs = performance.now()
  while (performance.now() - onceMoreMs < idleMs / 2) await used.query('select pg_sleep(0.1)')
  expect([await isOn(used), vm.open.size, world.proxy.totals().clients]).toEqual([true, 1, 1])
  await used.end()
  await until('both are gone', () => vm.open.size === 0 && world.proxy.totals().clients === 0)
  await inProject(null)
})

test('the door is for this user only, and takes nobody who does not say where they come from', async () => {
  expect(statSync(socketPath).mode & 0o777).toBe(0o600)
  for (const line of ['\n', 'everything\n', `${newUuid()}\n`, 'x'.repeat(300), `${newUuid()} ${newUuid()}'\n`]) {
    const socket = connect(socketPath)
    socket.write(line)
    expect(await text(socket)).toBe('')
  }
})
