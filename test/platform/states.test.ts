/** State machines: whatever is asked in whatever order, only the moves of the table happen, each once. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sourcesOf, type States } from '#src/platform/states.ts'
import { endProcessesOf, finishProcess, processStates } from '#src/resources/infra/vms/process-records.ts'
import type { VmStatus } from '#src/resources/infra/vms/rows.ts'
import { moveVm, steadyStatuses, vmStates } from '#src/resources/infra/vms/states.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeSilentNode, makeVmRow } from '../support/makers.ts'

const statuses = Object.keys(vmStates.moves) as VmStatus[] // the keys of a closed table
let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
})
afterAll(() => berth.stop())

const makeVm = async (status: VmStatus = 'creating'): Promise<string> =>
  decodeId('vm', await makeVmRow(berth.services.db, token, node, { status })) ?? ''
const move = async (id: string, to: VmStatus): Promise<boolean> =>
  (await moveVm(berth.services.db, berth.services, id, to)) !== undefined
const query = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
  (await berth.services.database.pool.query<Row & Record<string, unknown>>(text, values)).rows

describe.each<[string, States<string>]>([
  ['VM', vmStates as States<string>],
  ['process', processStates as States<string>],
])('the table of a %s', (_noun, machine) => {
  test('names only statuses that it has', () => {
    for (const targets of Object.values(machine.moves))
      for (const to of targets) expect(Object.keys(machine.moves)).toContain(to)
  })
  test('reaches every status from the first, and has an end', () => {
    const first = Object.keys(machine.moves)[0] ?? ''
    const reached = new Set([first])
    for (const from of reached) for (const to of machine.moves[from] ?? []) reached.add(to)
    expect([...reached].sort()).toEqual(Object.keys(machine.moves).sort())
    expect(Object.values(machine.moves).some((targets) => targets.length === 0)).toBe(true)
  })
})

describe('a VM', () => {
  test('is on the list of statuses that the database knows', async () => {
    const [check] = await query<{ text: string }>(
      "select pg_get_constraintdef(oid) as text from pg_constraint where conname = 'vms_status_check'",
    )
    expect([...(check?.text.matchAll(/'(\w+)'/g) ?? [])].map((match) => match[1] ?? '').sort()).toEqual(
      [...statuses].sort(),
    )
  })

  test('may always be deleted, and leaves no transient status but to a steady one or deletion', () => {
    for (const status of statuses) {
      if (status !== 'deleting' && status !== 'deleted') expect(vmStates.moves[status], status).toContain('deleting')
      if (!steadyStatuses.includes(status))
        for (const to of vmStates.moves[status]) expect([...steadyStatuses, 'deleting'], status).toContain(to)
    }
    expect(vmStates.moves.deleted).toEqual([])
    expect(sourcesOf(vmStates, 'deleted')).toEqual(['deleting'])
  })

  test('moves as the table says from each status to each, and otherwise stays with all it has', async () => {
    await Promise.all(
      statuses.flatMap((from) =>
        statuses.map(async (to) => {
          const id = await makeVm(from)
          const before = await query('select v::text from vms v where id = $1', [id])
          const moved = await move(id, to)
          expect(moved, `${from} -> ${to}`).toBe(vmStates.moves[from].includes(to))
          if (!moved) expect(await query('select v::text from vms v where id = $1', [id])).toEqual(before)
        }),
      ),
    )
  })

  test('with any moves in any order, makes the allowed ones with one event each, and one usage session for each period of running', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...statuses), { maxLength: 30 }), async (wishes) => {
        const id = await makeVm('creating')
        let at: VmStatus = 'creating'
        const told: VmStatus[] = ['creating']
        for (const to of wishes) {
          const moved = await move(id, to)
          expect(moved).toBe(vmStates.moves[at].includes(to))
          if (moved) told.push((at = to))
        }
        expect(await query('select status, position from vm_events where vm_id = $1 order by position', [id])).toEqual(
          told.map((status, index) => ({ status, position: index + 1 })),
        )
        const sessions = await query<{ open: boolean }>(
          'select ended_at is null as open from usage_sessions where vm_id = $1 order by id',
          [id],
        )
        expect(sessions.length).toBe(told.filter((status) => status === 'running').length)
        expect(sessions.filter((one) => one.open).length).toBe(at === 'running' ? 1 : 0)
      }),
      { numRuns: 40 },
    )
  })

  test('with twenty concurrent requests for the same move, makes it once', async () => {
    const id = await makeVm('running')
    const moved = await Promise.all(Array.from({ length: 20 }, () => move(id, 'stopping')))
    expect(moved.filter(Boolean)).toHaveLength(1)
    expect(await query('select status from vm_events where vm_id = $1 order by position', [id])).toEqual([
      { status: 'running' },
      { status: 'stopping' },
    ])
  })

  test('with twenty concurrent requests for different moves, makes an allowed sequence of them', async () => {
    const id = await makeVm('running')
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        move(
          id,
          (['stopping', 'pausing', 'error', 'deleting', 'stopped', 'paused', 'deleted', 'starting'] as const)[
            index % 8
          ] ?? 'error',
        ),
      ),
    )
    const chain = (
      await query<{ status: VmStatus }>('select status from vm_events where vm_id = $1 order by position', [id])
    ).map((one) => one.status)
    for (const [index, status] of chain.entries())
      if (index > 0) expect(vmStates.moves[chain[index - 1] ?? 'deleted']).toContain(status)
    expect((await query<{ status: VmStatus }>('select status from vms where id = $1', [id]))[0]?.status).toBe(
      chain.at(-1),
    )
  })
})

describe('a process’s record', () => {
  const makeProcess = async (vmId: string, status = 'running'): Promise<string> =>
    (
      await query<{ id: string }>(
        "insert into vm_processes (id, vm_id, command, status) values (gen_random_uuid(), $1, 'x', $2) returning id",
        [vmId, status],
      )
    )[0]?.id ?? ''
  const read = async (id: string): Promise<unknown> =>
    (
      await query('select status, exit_code, finished_at is not null as finished from vm_processes where id = $1', [id])
    )[0]

  test('keeps the end that was reported first', async () => {
    const id = await makeProcess(await makeVm('running'))
    await finishProcess(berth.services.db, id, { status: 'exited', exitCode: 3 })
    await finishProcess(berth.services.db, id, { status: 'killed', exitCode: null })
    expect(await read(id)).toEqual({ status: 'exited', exit_code: 3, finished: true })
  })

  test('ends with its VM, and only with its own', async () => {
    const [vm, other] = [await makeVm('running'), await makeVm('running')]
    const [mine, ended, theirs] = [await makeProcess(vm), await makeProcess(vm, 'exited'), await makeProcess(other)]
    await endProcessesOf(berth.services.db, vm)
    expect(await read(mine)).toEqual({ status: 'killed', exit_code: null, finished: true })
    expect(await read(ended)).toEqual({ status: 'exited', exit_code: null, finished: false })
    expect(await read(theirs)).toMatchObject({ status: 'running' })
  })
})
