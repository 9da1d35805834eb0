/** The export of audit events: every line once, in order, resumable while others write, and only for who may have it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId, newUuid } from '#src/platform/ids.ts'
import { change, sql, transaction } from '#src/platform/postgres.ts'
import { auditLimits } from '#src/resources/identity/audit-events/limits.ts'
import { asNamed } from '#src/resources/identity/audit-events/recording.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf, makeKey, makeVmToken } from '../../support/makers.ts'

let berth: Berth
let owner: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000' } })
  owner = await berth.token('alice', 'acme', 'owner')
})
afterAll(() => berth.stop())

type Line = { id: string; operation: string; object: { type: string; id: string; name: string | null } }
const get = (query: string, token: string, method = 'GET'): Promise<Response> =>
  fetch(`${berth.url}/api/v1/audit-events/export${query}`, { method, headers: { authorization: `Bearer ${token}` } })
async function lines(query = '', token = owner): Promise<Line[]> {
  const answer = await get(query, token)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/x-ndjson; charset=utf-8'])
  const text = await answer.text()
  expect(text === '' || text.endsWith('\n')).toBe(true)
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line)
}
const namesOf = (all: readonly Line[]): (string | null)[] => all.map(({ object }) => object.name)

/** Inserts projects as the operator, each in a transaction of its own, or all in one. */
const insert = (organizationId: string, name: string) =>
  sql`insert into projects (id, organization_id, name) values (${newUuid()}, ${organizationId}, ${name})`
const asOperator = (work: () => Promise<unknown>): Promise<unknown> =>
  asNamed({ operation: 'seed', requestId: newId('request') }, work)

describe('the export', () => {
  test('has each event as a line, oldest first, with all that is known of it', async () => {
    const { body } = await berth.call<{ id: string }>('POST', '/api/v1/audit-events/export', { token: owner })
    expect(body).toMatchObject({ error: 'not_found' })
    const made = await berth.ask('mutation { createProject(input: { name: "shown" }) { project { id } } }', {
      token: owner,
    })
    const project = (made.body.data as unknown as { createProject: { project: { id: string } } }).createProject.project
    const user = expect.stringMatching(/^usr_/)
    expect(await lines()).toEqual([
      {
        id: expect.stringMatching(/^aud_/),
        at: expect.stringMatching(/^\d{4}-.*Z$/),
        organization_id: expect.stringMatching(/^org_/),
        actor: { kind: 'person', id: user, name: 'alice', user_id: user, program: null, authorization_id: null },
        operation: 'createProject',
        change: 'created',
        object: { type: 'Project', id: project.id, name: 'shown' },
        address: '127.0.0.1',
        request_id: made.headers.get('x-request-id'),
      },
    ])
  })

  test('goes on after the last event that a client has, to the end, in parts of any size', async () => {
    const token = await berth.token('bea', 'many', 'owner')
    const { organizationId } = idsOf(token)
    const count = auditLimits.exportedAtOnce + 7
    const names = Array.from({ length: count }, (_, at) => `p ${at}`)
    await asOperator(() =>
      transaction(berth.services.db, async (tx) => {
        for (const name of names) await change(tx, insert(organizationId, name))
      }),
    )
    const all = await lines('', token)
    expect(new Set(namesOf(all))).toEqual(new Set(names))
    const read: Line[] = []
    for (let part: Line[] = []; ; read.push(...part)) {
      part = await lines(`?limit=200${read.length > 0 ? `&after=${read.at(-1)?.id}` : ''}`, token)
      if (part.length === 0) break
    }
    expect(read).toEqual(all)
    expect(read.length).toBe(count)
  })

  test('misses nothing of a transaction that is still running, and repeats nothing', async () => {
    const { db } = berth.services
    const token = await berth.token('cy', 'slow', 'owner')
    const { organizationId } = idsOf(token)
    let written = (): void => undefined
    let finish = (): void => undefined
    const isWritten = new Promise<void>((resolve) => (written = resolve))
    const mayFinish = new Promise<void>((resolve) => (finish = resolve))
    const slow = asOperator(() =>
      transaction(db, async (tx) => {
        await change(tx, insert(organizationId, 'slow'))
        written()
        await mayFinish
      }),
    )
    await isWritten
    await asOperator(() => change(db, insert(organizationId, 'quick')))
    const before = await lines('', token)
    expect(namesOf(before)).toEqual([]) // the quick one would hide the slow one from who resumes after it
    finish()
    await slow
    expect(namesOf(await lines('', token))).toEqual(['slow', 'quick'])
  })

  test('has only what was done in a span of time, when asked', async () => {
    const token = await berth.token('di', 'span', 'owner')
    const { organizationId } = idsOf(token)
    await asOperator(() => change(berth.services.db, insert(organizationId, 'one')))
    const [one] = (await lines('', token)) as (Line & { at: string })[]
    expect(namesOf(await lines(`?since=${one!.at}`, token))).toEqual(['one'])
    expect(await lines(`?until=${one!.at}`, token)).toEqual([])
    expect(await lines(`?since=2100-01-01T00:00:00Z`, token)).toEqual([])
  })

  test('answers HEAD without a body', async () => {
    const answer = await get('', owner, 'HEAD')
    expect([answer.status, await answer.text()]).toEqual([200, ''])
  })
})

test.each([
  '?after=x',
  '?after=prj_00000000000000000000000000',
  '?after=',
  '?limit=0',
  '?limit=10001',
  '?limit=1.5',
  '?limit=1&limit=2',
  '?since=yesterday',
  '?until=2026-13-45T00:00:00Z',
  '?page=2',
])('%s is refused in a sentence', async (query) => {
  const answer = await get(query, owner)
  expect([answer.status, await answer.json()]).toEqual([
    400,
    { error: 'invalid_request', message: expect.stringMatching(/\.$/) },
  ])
})

test('is for admins and owners of the organization, of which it has no other', async () => {
  expect((await get('', await berth.token('ada', 'acme', 'admin'))).status).toBe(200)
  expect((await get('', await berth.token('mel', 'acme', 'member'))).status).toBe(403)
  expect((await get('', (await makeKey(berth, owner)).key)).status).toBe(401)
  expect((await get('', await makeVmToken(berth, owner))).status).toBe(403)
  expect((await fetch(`${berth.url}/api/v1/audit-events/export`)).status).toBe(401)
  expect(namesOf(await lines('', await berth.token('eve', 'elsewhere', 'owner')))).toEqual([])
})
