/** The way of the edge to functions: started once for all who ask, found again when they move, and refused in plain words. Their worker is played by the test. */
import { PassThrough, type Duplex } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openFunctions, type EdgeFunctions } from '#src/edge/functions.ts'
import { createWakingTurns } from '#src/edge/functions/turns.ts'
import { pageOf } from '#src/edge/http/pages.ts'
import { refusalFrom, TargetRefusal } from '#src/edge/http/targets.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { change, findOne, sql, transaction } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { failFunction } from '#src/resources/infra/functions/failures.ts'
import { functionTopic } from '#src/resources/infra/functions/jobs.ts'
import { findFunctionRow, lockFunctionRow } from '#src/resources/infra/functions/rows.ts'
import { moveFunction } from '#src/resources/infra/functions/states.ts'
import { moveVm } from '#src/resources/infra/vms/states.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { organizationOf } from '../support/builds.ts'
import { idsOf, makeSilentNode } from '../support/makers.ts'
import { startTestPostgres, type TestPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'

let postgres: TestPostgres
let berth: Berth
let token: string
let node: string
let functions: EdgeFunctions
/** How often a VM was to be reached, and what becomes of it. */
let reached: string[] = []
let reaching: () => void = () => undefined
beforeAll(async () => {
  postgres = await startTestPostgres()
  berth = await startBerth({ on: postgres, settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
  functions = openFunctions(berth.services, async (vmId, port) => {
    reached.push(`${vmId}:${port}`)
    reaching()
    return new PassThrough()
  })
})
afterAll(async () => {
  functions.close()
  await berth.stop()
  await postgres.stop()
})

async function upload(): Promise<string> {
  const { body } = await berth.call<{ upload_url: string; binary_url: string }>('POST', '/api/v1/compute/uploads', {
    token,
    body: { organization_id: organizationOf(token) },
  })
  await fetch(body.upload_url, { method: 'PUT', body: '#!/bin/sh' })
  return body.binary_url
}
async function mutate(name: string, input: Record<string, unknown>): Promise<string> {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  const query = `mutation ($input: ${type}!) { ${name}(input: $input) { function { id } } }`
  const { body } = await berth.ask(query, { token, variables: { input } })
  if (body.errors) throw new Error(JSON.stringify(body.errors))
  return (body.data as Record<string, { function: { id: string } }>)[name]!.function.id // it had no errors
}
/** A function, by its stored id. */
const make = async (input: Record<string, unknown> = {}): Promise<string> =>
  decodeId('function', await mutate('createFunction', { binaryUrl: await upload(), port: 3000, ...input })) ?? ''
const reach = (functionId: string): Promise<Duplex> =>
  functions.reach({ functionId, organizationId: idsOf(token).organizationId })
const refusal = (functionId: string): Promise<TargetRefusal> =>
  reach(functionId).then(
    () => Promise.reject(new Error('it was reached')),
    (error: unknown) => refusalFrom(error),
  )

/** Waits until it is to start, and says that it has. @returns where it answers */
async function play(id: string): Promise<string> {
  const { db } = berth.services
  await until('it starts', async () => (await findFunctionRow(db, id))?.status === 'starting')
  const vmId = (await findFunctionRow(db, id))?.vmId ?? ''
  await moveVm(db, berth.services, vmId, 'running')
  await transaction(db, (tx) => moveFunction(tx, id, 'running'))
  return `${vmId}:3000`
}
/** Waits until every notice that was sent has come. */
async function noticesAreOver(): Promise<void> {
  const last = newUuid()
  const { promise, resolve } = Promise.withResolvers<void>()
  functions.onMoved((id) => {
    if (id === last) resolve()
  })
  publish(berth.services.db, functionTopic, last)
  await promise
}
const fail = (id: string): Promise<unknown> =>
  transaction(berth.services.db, async (tx) => {
    const one = await lockFunctionRow(tx, id)
    if (one) await failFunction(berth.services, tx, one, { reason: 'a secret', isSteady: false, nodeId: null })
  })

test('one that sleeps is started once for all who ask, and then found without asking', async () => {
  const id = await make()
  reached = []
  const asked = Promise.all(Array.from({ length: 50 }, () => reach(id)))
  const place = await play(id)
  await asked
  expect(reached).toEqual(Array.from({ length: 50 }, () => place))
  const made = await findOne(berth.services.db, sql`select count(*) from function_instances where function_id = ${id}`)
  expect(made).toEqual({ count: 1 })
})

test('those who wait while it is deployed get the new version, and so do all after them', async () => {
  const id = await make()
  const first = reach(id)
  const before = await play(id)
  await first
  const moved: (string | null)[] = []
  functions.onMoved((moving) => moved.push(moving))
  await mutate('deployFunction', { id: encodeId('function', id), binaryUrl: await upload() })
  await until('it was told', () => moved.includes(id))
  reached = []
  const asked = reach(id)
  const after = await play(id)
  await asked
  expect(reached).toEqual([after])
  expect(after).not.toBe(before)
})

test('one whose VM or worker is away for a moment is tried again', async () => {
  const id = await make()
  const asked = reach(id)
  await play(id)
  await asked
  reached = []
  reaching = () => {
    if (reached.length < 3) throw new BerthError('vm_unreachable', 'It is away.')
  }
  await reach(id)
  expect(reached).toHaveLength(3)
  reaching = () => {
    throw new Error('it broke')
  }
  await expect(reach(id)).rejects.toThrow('it broke')
  reaching = () => undefined
})

test('while Postgres is away, one that is known goes on being reached, and another is refused', async () => {
  const [known, other] = [await make(), await make()]
  const asked = reach(known)
  const place = await play(known)
  await asked
  await noticesAreOver()
  await reach(known)
  reached = []
  await postgres.killPostgres()
  await postgres.backendsGone()
  const told = [await reach(known).then(() => 'reached', String), (await refusal(other)).kind]
  await postgres.restartPostgres()
  expect(told).toEqual(['reached', 'failing'])
  expect(reached).toEqual([place])
  await until('it is back', () =>
    findFunctionRow(berth.services.db, known).then(
      () => true,
      () => false,
    ),
  )
})

test('one that fails while it is waited for, and one that has failed, says when to ask again and nothing else', async () => {
  const id = await make()
  const asked = refusal(id)
  await until('it starts', async () => (await findFunctionRow(berth.services.db, id))?.status === 'starting')
  await fail(id)
  expect(await asked).toMatchObject({ kind: 'crashed', retryAfterSeconds: 1 })
  await change(berth.services.db, sql`update functions set retry_at = now() + interval '60 seconds' where id = ${id}`)
  await until('it is asked again', async () => ((await refusal(id)).retryAfterSeconds ?? 0) > 50)
  const page = pageOf(await refusal(id))
  expect(page).toMatchObject({ status: 503, title: 'This service has crashed' })
  expect(JSON.stringify(page)).not.toContain('secret')
})

test('one to which nothing is deployed, one that is gone, and one without room say so', async () => {
  const empty = await make({ binaryUrl: null, port: null })
  expect(await refusal(empty)).toMatchObject({ kind: 'empty' })
  expect(await refusal(newUuid())).toMatchObject({ kind: 'gone' })
  const id = await make()
  await change(berth.services.db, sql`update nodes set memory_mb = 100 where id = ${node}`)
  const full = await refusal(id)
  expect([full.kind, full.retryAfterSeconds]).toEqual(['busy', 15])
  expect(full.message).not.toMatch(/organization|limit|node|memory/i)
  await change(berth.services.db, sql`update nodes set memory_mb = 100000 where id = ${node}`)
})

test('one that does not start in time says that it is starting', async () => {
  const id = await make()
  await change(berth.services.db, sql`update functions set start_seconds = 1 where id = ${id}`)
  const late = await refusal(id)
  expect(late.message).toContain('within 1 s.')
  expect(pageOf(late)).toMatchObject({ status: 503, title: 'This service is starting', retryAfterSeconds: 5 })
})

test('an organization that wakes many keeps no other one waiting, and so many of its own wait', async () => {
  const inTurn = createWakingTurns({ wakingMax: 2, wakingWaitersMax: 2 })
  const slow = Promise.withResolvers<string>()
  let begun = 0
  const wake = (organization: string): Promise<string> =>
    inTurn(organization, 0.3, () => {
      begun++
      return organization === 'slow' ? slow.promise : Promise.resolve('awake')
    })
  const waking = Array.from({ length: 4 }, () => wake('slow').catch(refusalFrom))
  expect(await wake('slow').catch(refusalFrom)).toMatchObject({ kind: 'busy', retryAfterSeconds: 2 })
  expect(await wake('other')).toBe('awake')
  expect(begun).toBe(3)
  expect(await waking[2]).toMatchObject({ kind: 'busy' })
  expect(await waking[3]).toMatchObject({ kind: 'busy' })
  const next = wake('slow')
  slow.resolve('awake')
  expect(await Promise.all([waking[0], waking[1], next])).toEqual(['awake', 'awake', 'awake'])
  expect(begun).toBe(4)
})
