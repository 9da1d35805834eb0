/** The command line at a terminal: questions, interrupts, colours. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import { decodeId } from '#src/platform/ids.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeSilentNode, makeVmRow } from '../support/makers.ts'
import { makePerson, type Person } from './command.ts'

let berth: Berth
let token: string
let person: Person
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  person = makePerson({ BERTH_URL: berth.url, BERTH_TOKEN: token })
})
afterAll(async () => {
  person.leave()
  await berth.stop()
})

test('it asks before it deletes, and deletes after a yes only', async () => {
  await person.run(['project', 'create', 'shop'])
  const kept = person.atTerminal(['project', 'rm', 'shop'])
  await kept.printed('Delete project shop? [y/N]')
  kept.type('\r')
  expect(await kept.ended).toMatchObject({ exit: 1, out: expect.stringContaining('Nothing was done.') })
  const gone = person.atTerminal(['project', 'rm', 'shop'])
  await gone.printed('[y/N]')
  gone.type('y\r')
  expect(await gone.ended).toMatchObject({ exit: 0, out: expect.stringContaining('Deleted shop.') })
  expect((await person.run(['project', 'get', 'shop'])).exit).toBe(4)
})

test('Ctrl-C at a question ends it with 130, and nothing is done', async () => {
  await person.run(['project', 'create', 'kept'])
  const asked = person.atTerminal(['project', 'rm', 'kept'])
  await asked.printed('[y/N]')
  asked.type('\u0003')
  expect((await asked.ended).exit).toBe(130)
  expect((await person.run(['project', 'get', 'kept'])).exit).toBe(0)
})

test('states have colours there, and names of others have none', async () => {
  const { db } = berth.services
  const id = await makeVmRow(db, token, await makeSilentNode(db))
  await sql`update vms set name = ${'\u001b[31mred\u001b]0;title\u0007'} where id = ${decodeId('vm', id)}`.execute(db)
  const { out } = await person.atTerminal(['vm', 'ls']).ended
  expect(out).toContain('\u001b[32mrunning\u001b[39m')
  expect(out).not.toContain('\u001b[31m')
  expect(out).not.toContain('\u001b]0')
  for (const variable of ['NO_COLOR', 'CI'])
    expect((await person.atTerminal(['vm', 'ls'], { [variable]: '1' }).ended).out).not.toContain('\u001b[')
})
