/** The events of a VM as a list: in pages both ways, and of the caller's VMs only. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'

let berth: Berth
let owner: string
let vm: string
beforeAll(async () => {
  berth = await startBerth()
  owner = await berth.token()
  vm = await makeVmRow(berth.services.db, owner, await makeSilentNode(berth.services.db)) // whose first event says running
  await sql`
    insert into vm_events (vm_id, position, status, status_reason)
    select ${decodeId('vm', vm)}, n, 'running', 'number ' || n from generate_series(2, 5) n`.execute(berth.services.db)
})
afterAll(() => berth.stop())

type Events = {
  nodes: { statusReason: string | null }[]
  pageInfo: { endCursor: string; hasNextPage: boolean }
  totalCount: number
}
async function list(given: string, token = owner): Promise<Events | string | undefined> {
  const asked = `{ node(id: "${vm}") { ... on Vm { events(${given}) { nodes { statusReason } pageInfo { endCursor hasNextPage } totalCount } } } }`
  const { body } = await berth.ask(asked, { token })
  return body.errors?.[0]?.extensions.code ?? (body.data?.['node'] as { events: Events } | null)?.events
}
const reasons = (events: Events | string | undefined): unknown =>
  typeof events === 'object' ? events.nodes.map(({ statusReason }) => statusReason) : events

test('come newest first, in pages from either end', async () => {
  const first = await list('first: 2')
  expect(first).toMatchObject({ pageInfo: { hasNextPage: true }, totalCount: 5 })
  expect(reasons(first)).toEqual(['number 5', 'number 4'])
  const after = typeof first === 'object' ? first.pageInfo.endCursor : ''
  expect(reasons(await list(`first: 10, after: "${after}"`))).toEqual(['number 3', 'number 2', null])
  expect(reasons(await list('last: 2'))).toEqual(['number 2', null])
})

test('are not shown to another organization, and a text that is no cursor is refused', async () => {
  expect(await list('first: 2', await berth.token('sid', 'strangers'))).toBeUndefined()
  for (const wrong of ['after: "x"', 'first: 0', 'first: 101', 'first: 1, last: 1'])
    expect(await list(wrong)).toBe('INVALID_REQUEST')
})
