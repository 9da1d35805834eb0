/** Templates that an organization deletes, the VMs of one, and the machines that admins see. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { baseTemplateId } from '#src/resources/infra/templates.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
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

async function makeTemplate(name: string): Promise<string> {
  const id = newUuid()
  await sql`
    insert into templates (id, organization_id, name, node_id)
    values (${id}, ${idsOf(token).organizationId}, ${name}, ${node})`.execute(berth.services.db)
  return encodeId('template', id)
}
const names = async (): Promise<string[]> => {
  const { body } = await berth.ask('{ templates(first: 100) { nodes { name } } }', { token })
  return (body.data as { templates: { nodes: { name: string }[] } }).templates.nodes.map(({ name }) => name)
}
const remove = async (id: string) =>
  (
    await berth.ask('mutation($id: ID!) { deleteTemplate(input: {id: $id}) { deletedId } }', {
      token,
      variables: { id },
    })
  ).body

test('from a template that was deleted no VM starts, and those that did still show it', async () => {
  const id = await makeTemplate('mine')
  const vm = await makeVmRow(berth.services.db, token, node, { status: 'stopped' })
  await sql`update vms set template_id = ${decodeId('template', id)} where id = ${decodeId('vm', vm)}`.execute(
    berth.services.db,
  )
  const other = await makeVmRow(berth.services.db, token, node)
  const { body } = await berth.ask(
    `{ mine: vms(filter: {templateId: "${id}"}) { nodes { id } } none: vms(filter: {templateId: "x"}) { totalCount } all: vms { nodes { id } } }`,
    { token },
  )
  expect(body.data).toMatchObject({ mine: { nodes: [{ id: vm }] }, none: { totalCount: 0 } })
  expect((body.data as { all: { nodes: { id: string }[] } }).all.nodes.map((one) => one.id)).toContain(other)
  expect(await names()).toContain('mine')
  expect((await remove(id)).data).toEqual({ deleteTemplate: { deletedId: id } })
  expect(await names()).not.toContain('mine')
  const made = await berth.call('POST', '/api/v1/vms', { token, body: { template_id: 'mine' } })
  expect([made.status, made.body['error']]).toEqual([400, 'invalid_template'])
  const shown = await berth.ask(`{ vm(id: "${vm}") { template { name replacedAt } } }`, { token })
  expect(shown.body.data).toEqual({ vm: { template: { name: 'mine', replacedAt: expect.any(String) } } })
})

test('a template that comes with Berth, is deleted already, or is another organization’s is not found', async () => {
  const gone = await makeTemplate('gone')
  await remove(gone)
  for (const id of [encodeId('template', baseTemplateId), gone, encodeId('template', newUuid()), 'x'])
    expect((await remove(id)).errors?.[0]?.extensions['code'], id).toBe('NOT_FOUND')
  expect(await names()).toContain('base')
})

test('admins see which machines there are, without where their workers are', async () => {
  const { body } = await berth.ask('{ machines { totalCount nodes { id name acceleration } } }', { token })
  expect(body.data?.['machines']).toEqual({
    totalCount: 1,
    nodes: [{ id: encodeId('node', node), name: 'silent', acceleration: 'EMULATION' }],
  })
})
