/** Who has no password learns from no salt and no number of iterations whether a user is there, however it is asked for. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { makeSilentNode, makeVmRow } from '../support/makers.ts'
import { openDatabasesWorld, type DatabasesWorld } from './databases-world.ts'
import { connectSecured, saslMessage, startup } from './raw-client.ts'

let world: DatabasesWorld
beforeAll(async () => {
  world = await openDatabasesWorld()
  const { db } = world.berth.services
  const vm = await makeVmRow(db, await world.berth.token('alice', 'acme'), await makeSilentNode(db))
  await world.change(world.known, sql`vm_id = ${decodeId('vm', vm)}`)
  await sql`update vms set status = 'running'`.execute(db)
  const superuser = await world.superuser()
  await superuser.query(`create role reader login password 'its own'; grant connect on database app to reader;
    grant reader to ${world.known.row.pgUser} with admin option`)
  await superuser.end()
  await (await world.client({ user: 'reader', password: 'its own' })).end() // it is there
})
afterAll(() => world.close())

type Question = { user: string; database?: string; host?: string }

/** What the proxy tells whoever asks to log in: `s=<salt>,i=<iterations>`. */
async function told({ user, database = 'app', host = 'elsewhere' }: Question): Promise<string> {
  const client = await connectSecured(world.proxy.port, { servername: host })
  client.send(startup({ user, database }))
  await client.next()
  client.send(saslMessage('SCRAM-SHA-256', 'n,,n=,r=x'))
  const answer = await client.next()
  client.socket.destroy()
  const [salt] = /s=[^,]+,i=\d+/.exec(answer?.content.toString() ?? '') ?? []
  if (salt === undefined) throw new Error(`${user} at ${host} was told no salt`)
  return salt
}

/** Which of the questions are told the same: the place of the first like it. */
async function alike(questions: readonly Question[]): Promise<number[]> {
  const answers = await Promise.all(questions.map(told))
  return answers.map((answer) => answers.indexOf(answer))
}

const owner = (): string => world.known.row.pgUser
const nobodysHost = (): string => `${encodeId('database', newUuid()).slice(3)}.db.berth.localhost`

/** The ways in which a role may be asked for, at two hosts and at none, by the names of databases that are there or not. */
const ofRole = (role: string, absentHost: string): Question[] =>
  [world.known.host, world.known.host.toUpperCase(), world.foreign.host, absentHost, 'elsewhere'].flatMap((host) =>
    [role, `${role}.${owner()}`, `${role}.${world.foreign.row.pgUser}`, `${role}.app_000000`].flatMap((user) =>
      ['app', 'missing', 'x'.repeat(64)].map((database) => ({ user, database, host })),
    ),
  )

test('a role that is there is told apart from one that is not by nothing that both are told', async () => {
  const host = nobodysHost()
  const [there, absent] = [await alike(ofRole('reader', host)), await alike(ofRole('ghost', host))]
  expect(absent).toEqual(there)
  expect(new Set(there).size).toBeGreaterThan(10) // they differ by host and by owner
  expect(there.filter((first) => first === 0).length).toBeGreaterThan(4) // and are the same for the same role
})

test('so is an owner, in whichever database they ask for', async () => {
  const ofOwner = (user: string): Question[] =>
    ['elsewhere', world.foreign.host].flatMap((host) =>
      ['app', 'missing', user, 'x'.repeat(64)].map((database) => ({ user, database, host })),
    )
  const there = await alike(ofOwner(owner()))
  expect(await alike(ofOwner('app_000000'))).toEqual(there)
  expect(there.slice(0, 3)).toEqual([0, 0, 0])
})

test('the number of iterations is the same for all of them', async () => {
  const all = await Promise.all(
    [{ user: owner() }, { user: 'app_000000' }, { user: `reader.${owner()}` }, { user: `ghost.${owner()}` }].map(told),
  )
  expect(new Set(all.map((one) => one.split(',i=')[1]))).toEqual(new Set(['4096']))
})
