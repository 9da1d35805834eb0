/** Commands that change what is there, and what the kernel of a VM printed. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { change, sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { startHostGuest, type HostGuest } from '../support/guests/host-guest.ts'
import { makeVmRow } from '../support/makers.ts'
import { makeSessionRow } from '../support/sessions.ts'
import { makePerson, type Person } from './command.ts'

let berth: Berth
let token: string
let guest: HostGuest
let person: Person
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  guest = await startHostGuest(berth)
  person = makePerson({ BERTH_URL: berth.url, BERTH_TOKEN: token })
})
afterAll(async () => {
  person.leave()
  await guest.stop()
  await berth.stop()
})

test('an agent is changed by a file, and what it does not name stays', async () => {
  const model = 'berth/demo'
  const made = await person.run(['agent', 'create'], JSON.stringify({ name: 'reviewer', model: { id: model } }))
  expect(made.exit, made.err).toBe(0)
  const path = join(person.home, 'agent.yaml')
  writeFileSync(path, 'description: reads what others wrote\n')
  const changed = await person.run(['agent', 'update', 'reviewer', '-f', path])
  expect(changed).toEqual({ exit: 0, out: made.out, err: '' })
  const { out } = await person.run(['agent', 'get', 'reviewer', '--json'])
  expect(JSON.parse(out)).toMatchObject({
    name: 'reviewer',
    description: 'reads what others wrote',
    model: { id: model },
    version: 2,
  })
  const wrong = await person.run(['agent', 'update', 'reviewer'], 'descripton: x')
  expect([wrong.exit, wrong.out]).toEqual([2, ''])
  expect(wrong.err).toContain('descripton')
})

test('a member gets another role, and a role that there is not is refused with those that there are', async () => {
  await berth.token('vera', 'acme', 'viewer')
  expect((await person.run(['member', 'role', 'vera', 'boss'])).err).toContain('viewer, member, admin, owner')
  expect(await person.run(['member', 'role', 'vera', 'admin'])).toEqual({ exit: 0, out: 'vera  admin\n', err: '' })
  expect((await person.run(['member', 'ls'])).out).toMatch(/^vera .* admin /m)
})

test('an organization is made, and it says how to act in it', async () => {
  const made = await person.run(['org', 'create', 'second'])
  expect(made).toMatchObject({ exit: 0, out: expect.stringMatching(/^org_[0-9a-z]{26}\n$/) })
  expect(made.err).toContain('berth login')
  const again = await person.run(['org', 'create', 'second'])
  expect([again.exit, again.out]).toEqual([5, ''])
})

test('nobody takes over a session that works in no VM, or without a terminal', async () => {
  const id = encodeId('session', await makeSessionRow(berth.services.db, token))
  expect(await person.run(['session', 'take-over', id])).toMatchObject({
    exit: 125,
    err: expect.stringContaining('no VM'),
  })
})

test('the log of a kernel is printed and followed, each line once, until the VM does not run', async () => {
  const vm = await makeVmRow(berth.services.db, token, guest.nodeId)
  const first = '2026-11-29T02:00:00,000001+00:00 Out of memory: Killed process 7 (tail)\n'
  guest.printed = first
  expect(await person.run(['vm', 'logs', vm])).toEqual({ exit: 0, out: first, err: '' })
  const follows = person.start(['vm', 'logs', vm, '--follow'])
  await follows.printed(first)
  const second = '2026-11-29T02:00:09,000002+00:00 python3[8]: segfault\n'
  guest.printed = first + second
  await follows.printed('segfault')
  await change(berth.services.db, sql`update vms set status = 'stopped' where id = ${decodeId('vm', vm)}`)
  const ended = await follows.ended
  expect(ended.out).toBe(first + second)
  expect([ended.exit, ended.err]).toEqual([1, expect.stringContaining('does not run')])
})
