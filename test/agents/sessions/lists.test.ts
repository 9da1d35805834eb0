/** Lists of sessions across agents, by whether somebody has to act. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeSessionRow } from '../../support/sessions.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
})
afterAll(() => berth.stop())

const list = async (filter: object, as = token): Promise<string[]> => {
  const query = 'query ($filter: SessionFilter) { sessions(filter: $filter) { totalCount nodes { id } } }'
  const { body } = await berth.ask(query, { token: as, variables: { filter } })
  const { sessions } = body.data as { sessions: { totalCount: number; nodes: { id: string }[] } } // as asked
  const { nodes, totalCount } = sessions
  expect(totalCount).toBe(nodes.length)
  return nodes.map(({ id }) => id)
}

test('those that wait for somebody are listed alone, or left out', async () => {
  const { db } = berth.services
  const reasons = [null, { type: 'end_turn' }, { type: 'requires_action', event_ids: [] }]
  const ids: string[] = []
  for (const reason of reasons) {
    const id = await makeSessionRow(db, token)
    await sql`update sessions set stop_reason = ${reason && JSON.stringify(reason)}::jsonb where id = ${id}`.execute(db)
    ids.push(encodeId('session', id))
  }
  const [fresh, ended, waiting] = ids
  expect(await list({ isActionRequired: true })).toEqual([waiting])
  expect(await list({ isActionRequired: false })).toEqual([ended, fresh])
  expect(await list({ isActionRequired: null })).toEqual([waiting, ended, fresh])
  expect(await list({ isActionRequired: true, statuses: ['RUNNING'] })).toEqual([])
  expect(await list({ isActionRequired: true }, await berth.token('eve', 'evil'))).toEqual([])
})
