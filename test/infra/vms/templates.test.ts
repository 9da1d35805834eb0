/** Templates that a node builds when somebody first needs one, and which template a name means. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Compute, Machine } from '#src/drivers/compute/machine.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import { dataTemplateId } from '#src/resources/infra/templates.ts'
import { reconcile, type VmWork } from '#workers/infra/vms.ts'
import { createTemplateBuilds, waitForTemplate } from '#workers/infra/vms/templates.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { organizationOf } from '../../support/builds.ts'
import { idsOf, makeSilentNode, makeVmRow } from '../../support/makers.ts'

let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
})
afterAll(() => berth?.stop())

const machine = { id: 'machine', address: '127.0.0.9', folderId: null } as unknown as Machine // what the worker reads of it

/** A worker on whose node the template is not built, and a build of it for the test to end. */
function newWorker() {
  const build = Promise.withResolvers<void>()
  const builds: string[] = []
  let isPrepared = false
  let say: (fraction: number, sentence: string) => void = () => undefined
  const compute: Pick<Compute, 'isPrepared' | 'prepareLater'> = {
    isPrepared: () => isPrepared,
    async prepareLater(name, progress) {
      builds.push(name)
      say = progress ?? say
      await build.promise
    },
  }
  const work = {
    services: berth.services,
    nodeId: node,
    compute: {
      take: async () => ({ machine, from: 'boot' }),
      find: () => machine,
      stop: async () => undefined,
    },
    egress: { setPolicy: () => undefined },
    networks: { join: async () => undefined, leave: () => undefined },
    templates: createTemplateBuilds(compute),
  } as unknown as VmWork // the parts that a boot uses
  return {
    work,
    builds,
    say: (fraction: number, sentence: string) => say(fraction, sentence),
    async end(error?: Error): Promise<void> {
      isPrepared = error === undefined
      if (error) build.reject(error)
      else build.resolve()
      await build.promise.catch(() => undefined)
      await new Promise(setImmediate) // what hears of it has
    },
  }
}

/** A new VM of `data`. */
async function newVm(): Promise<{ uuid: string; read: () => Promise<unknown> }> {
  const id = await makeVmRow(berth.services.db, token, node, { status: 'creating' })
  const uuid = decodeId('vm', id) ?? ''
  await sql`update vms set template_id = ${dataTemplateId} where id = ${uuid}`.execute(berth.services.db)
  const read = async (): Promise<unknown> =>
    (await berth.ask(`{ vm(id: "${id}") { status statusReason } }`, { token })).body.data?.['vm']
  return { uuid, read }
}

test('a VM whose template is not there says how far it is, holds no place meanwhile, and runs once it is there', async () => {
  const { work, builds, say, end } = newWorker()
  const [vm, other] = [await newVm(), await newVm()]
  await reconcile(work, vm.uuid) // returns
  say(0.2, 'Installing')
  await reconcile(work, vm.uuid)
  await reconcile(work, other.uuid)
  const waiting = 'The template data is being built on this node, which happens once: Installing (20 %).'
  for (const { read } of [vm, other]) expect(await read()).toEqual({ status: 'CREATING', statusReason: waiting })
  say(0.25, 'Installing')
  await reconcile(work, vm.uuid)
  const reasons = await findAll<{ statusReason: string | null }>(
    berth.services.db,
    sql`select status_reason from vm_events where vm_id = ${vm.uuid} order by position`,
  )
  expect(reasons.map(({ statusReason }) => statusReason)).toEqual([
    null,
    'The template data is being built on this node, which happens once: it begins.',
    waiting,
  ])
  const due = await findAll(
    berth.services.db,
    sql`select 1 from pgboss.job where data->>'vmId' = ${vm.uuid} and state = 'created'`,
  )
  expect(due.length).toBeGreaterThan(0)
  await end()
  for (const { uuid, read } of [vm, other]) {
    await reconcile(work, uuid)
    expect(await read()).toEqual({ status: 'RUNNING', statusReason: null })
  }
  expect(builds).toEqual(['data'])
})

test('a worker that starts after one was killed at the build begins it again, and the VM runs', async () => {
  const vm = await newVm()
  await reconcile(newWorker().work, vm.uuid)
  const next = newWorker()
  await reconcile(next.work, vm.uuid)
  expect(next.builds).toEqual(['data'])
  await next.end()
  await reconcile(next.work, vm.uuid)
  expect(await vm.read()).toEqual({ status: 'RUNNING', statusReason: null })
})

test('a VM whose template cannot be built has failed, and says what to do', async () => {
  const { work, builds, end } = newWorker()
  const vm = await newVm()
  await reconcile(work, vm.uuid)
  await end(new Error('mmdebstrap failed'))
  await reconcile(work, vm.uuid)
  expect(await vm.read()).toEqual({
    status: 'ERROR',
    statusReason:
      'The template data could not be built on its node. The worker’s log says why; once that is put right, try again.',
  })
  expect(builds).toEqual(['data'])
  const events = await findAll<{ statusReason: string | null }>(
    berth.services.db,
    sql`select status_reason from vm_events where vm_id = ${vm.uuid}`,
  )
  expect(JSON.stringify(events)).not.toContain('Attempt')
})

test('a build waits for its template too, says how far it is, and stops waiting at once when it must end', async () => {
  const { work, say, end } = newWorker()
  const lines: string[] = []
  const over = new AbortController()
  const tell = (line: string): void => {
    lines.push(line)
  }
  const cancelled = waitForTemplate(work.templates, 'data', tell, over.signal)
  say(0.2, 'Installing')
  over.abort(new Error('cancelled'))
  await expect(cancelled).rejects.toThrow('cancelled')
  const waiting = waitForTemplate(work.templates, 'data', tell, new AbortController().signal)
  await end()
  await waiting
  const sentence = 'The template data is being built on this node, which happens once:'
  expect(lines).toEqual([`${sentence} it begins.`, `${sentence} Installing (20 %).`])
})

type Listed = { nodes: { name: string; isReady: boolean }[] }
const list = async () => {
  const { body } = await berth.ask('{ templates { nodes { name isReady } } }', { token })
  const listed = body.data?.['templates'] as Listed | undefined // as asked
  return listed?.nodes
}

test('the list of templates says which ones a living node has built', async () => {
  const { db } = berth.services
  const report = (templates: string[], heartbeat: string) =>
    sql`update nodes set templates = ${templates}, heartbeat_at = now() + ${heartbeat}::interval where id = ${node}`.execute(
      db,
    )
  await report(['base', 'data'], '-1 hour')
  expect(await list()).toEqual([
    { name: 'base', isReady: false },
    { name: 'data', isReady: false },
  ])
  await report(['base'], '1 hour')
  expect(await list()).toEqual([
    { name: 'base', isReady: true },
    { name: 'data', isReady: false },
  ])
  await report(['base', 'data', 'postgres'], '1 hour')
  expect(await list()).toEqual([
    { name: 'base', isReady: true },
    { name: 'data', isReady: true },
  ])
})

test('a name means the organization’s own template before that of Berth, except `base`', async () => {
  const { db } = berth.services
  const theirs = await berth.token('bob', 'others')
  await sql`update nodes set heartbeat_at = now() + interval '1 hour' where id = ${node}`.execute(db)
  for (const name of ['base', 'data'])
    await sql`insert into templates (id, organization_id, name, node_id) values (${newUuid()}, ${idsOf(theirs).organizationId}, ${name}, ${node})`.execute(
      db,
    )
  const meant = async (as: string, template: string) => {
    const { body } = await berth.ask(
      `mutation { createBuild(input: { repoUrl: "https://example.com/x.git", spec: { template: "${template}" } }) { build { template { organizationId } } } }`,
      { token: as },
    )
    return body
  }
  const of = (organizationId: string | null) => ({
    data: { createBuild: { build: { template: { organizationId } } } },
  })
  expect(await meant(theirs, 'data')).toEqual(of(organizationOf(theirs)))
  expect(await meant(theirs, 'base')).toEqual(of(null))
  expect(await meant(token, 'data')).toEqual(of(null))
  const { body } = await berth.call('POST', '/api/v1/vms', { token: theirs, body: { template_id: 'nope' } })
  expect(body).toMatchObject({ message: expect.stringMatching(/There are `base`, `data`\.$/) })
})

test('who names none is told which there are, for a VM and for a sandbox alike', async () => {
  for (const [path, rest] of [
    ['/api/v1/vms', {}],
    ['/api/v1/vms/sandbox', { command: 'true' }],
  ] as const) {
    const refused = await berth.call('POST', path, { token, body: { template_id: 'nope', ...rest } })
    expect(refused.status, path).toBe(400)
    expect(refused.body, path).toMatchObject({
      error: 'invalid_template',
      message: 'template_id names no template of yours; leave it out for `base`. There are `base`, `data`.',
    })
  }
})
