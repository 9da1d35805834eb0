/** The walk of WALK.md, which needs no VM, at a terminal and in a pipe; with `--update`, what happens at a terminal is recorded. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql, transaction } from '#src/platform/postgres.ts'
import { moveSession } from '#src/resources/agents/sessions/states.ts'
import { encodeId } from '#src/platform/ids.ts'
import { startStubNode, type StubNode } from '../contract/stub-node.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeVmRow } from '../support/makers.ts'
import { append, makeSessionRow } from '../support/sessions.ts'
import { walkPage } from './walk/page.ts'
import { makeWalker, type Mode, type Walker } from './walk/walker.ts'

const page = join(import.meta.dirname, 'WALK.md')

describe.each<Mode>(['at a terminal', 'in a pipe'])('the walk %s', (mode) => {
  let berth: Berth
  let node: StubNode
  let walker: Walker
  beforeAll(async () => {
    berth = await startBerth()
    node = await startStubNode(berth.services.db)
    node.answer = { stdout: 'Linux\n' }
    walker = makeWalker(mode, berth.port)
    await makeWhatIsThere(berth, node)
    writeFileSync(join(walker.folder, 'agent.yaml'), 'name: tester\nmodel:\n  id: berth/demo\n')
  })
  afterAll(async () => {
    walker.person.leave()
    await node.stop()
    await berth.stop()
  })

  test('prints what is recorded, and ends with its exit codes', async () => {
    await walkPage(page, mode, walker)
  }, 600_000)
})

/** Two VMs, and a session of an agent that waits for a permission. */
async function makeWhatIsThere({ services: { db }, ...berth }: Berth, node: StubNode): Promise<void> {
  const token = await berth.token()
  for (const [name, status] of [
    ['web', 'running'],
    ['old', 'stopped'],
  ] as const) {
    const id = await makeVmRow(db, token, node.id, { status })
    await sql`update vms set name = ${name} where id = ${decodeId('vm', id)}`.execute(db)
  }
  const row = await makeSessionRow(db, token)
  await sql`update sessions set title = 'tests' where id = ${row}`.execute(db)
  const [used] = await append(db, row, {
    type: 'agent.tool_use',
    data: { name: 'bash', input: { command: 'npm test' }, evaluated_permission: 'ask' },
  })
  const stopReason = { type: 'requires_action' as const, event_ids: [encodeId('sessionEvent', used?.id ?? '')] }
  await transaction(db, async (tx) => {
    await moveSession(tx, row, { to: 'running' })
    await moveSession(tx, row, { to: 'idle', stopReason })
  })
}
