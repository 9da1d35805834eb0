/** What the command line does when its token has ended: the next one, once, whoever asks at the same time. */
import { spawnSync } from 'node:child_process'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { findAll, findOne, noticesSent, sql, transaction } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { accessTokenTopic, endAuthorization } from '#src/resources/identity/authorizations.ts'
import { startOAuthWorld, type Browser, type OAuthWorld } from '../identity/oauth/world.ts'
import { freePort } from '../support/ports.ts'
import { append, makeSessionRow } from '../support/sessions.ts'
import type { Person } from './command.ts'
import { credentialsFile, keep, keptBy, letIn, signedIn } from './signed-in.ts'

let world: OAuthWorld
let alice: Browser
let people: Person[]
beforeAll(async () => {
  people = []
  world = await startOAuthWorld()
  alice = await world.signIn()
})
afterAll(async () => {
  for (const person of people) person.leave()
  await world.stop()
})

async function somebody(): Promise<Person> {
  const person = await signedIn(world, alice)
  people.push(person)
  expect(person.login).toMatchObject({ exit: 0, out: 'Signed in as alice (acme, owner).\n' })
  return person
}
/** The newest authorization, and how many refresh tokens of it were exchanged. */
async function newest(): Promise<{ id: string; exchanged: number }> {
  const found = await findOne<{ id: string; exchanged: number }>(
    world.berth.services.db,
    sql`
    select a.id, (select count(*)::integer from authorization_tokens t
      where t.authorization_id = a.id and kind = 'refresh' and exchanged_at is not null) as exchanged
    from authorizations a order by id desc limit 1`,
  )
  if (!found) throw new Error('nobody was let in')
  return found
}
const ended = { grant: { endsAtSeconds: 0 } }

test('commands that run at once with a token that has ended get the next one together, and it goes on from there', async () => {
  const person = await somebody()
  const first = keptBy(person)
  keep(person, ended)
  const all = await Promise.all(['status', 'status', 'status', 'status'].map((word) => person.run([word])))
  expect(all.map(({ exit, err }) => [exit, err])).toEqual(all.map(() => [0, '']))
  expect((await newest()).exchanged).toBe(1)
  const second = keptBy(person)
  expect(second.token).not.toBe(first.token)
  expect(second.grant.refreshToken).not.toBe(first.grant.refreshToken)
  expect(second.grant.endsAtSeconds).toBeGreaterThan(first.grant.endsAtSeconds - 1)
  expect(statSync(credentialsFile(person)).mode & 0o777).toBe(0o600)
  expect(readdirSync(`${person.home}/state/berth`)).toEqual(['credentials.json'])
  keep(person, ended)
  expect((await person.run(['status'])).exit).toBe(0)
  expect((await newest()).exchanged).toBe(2)
}, 90_000)

test('a token that is refused before its time is exchanged too', async () => {
  const person = await somebody()
  keep(person, { token: 'berth_at_unknown' })
  expect(await person.run(['status'])).toMatchObject({ exit: 0, err: '' })
  expect((await newest()).exchanged).toBe(1)
  expect(await world.ask(keptBy(person).token)).toBe('200')
})

test('the lock of a command that was killed is taken over', async () => {
  const person = await somebody()
  const { pid } = spawnSync('true')
  writeFileSync(`${credentialsFile(person)}.lock`, JSON.stringify({ pid, host: hostname() }))
  keep(person, ended)
  expect((await person.run(['status'])).exit).toBe(0)
})

test('what was revoked ends commands with 3, and says how to go on', async () => {
  const person = await somebody()
  await endAuthorization(world.berth.services.db, (await newest()).id)
  const refused = await person.run(['status'])
  expect(refused).toMatchObject({ exit: 3, out: '' })
  expect(refused.err).toContain(`Sign in again: berth login ${world.origin}`)
})

test('a stream outlives its token', async () => {
  const { db } = world.berth.services
  const person = await somebody()
  const row = await makeSessionRow(db, await world.berth.token())
  const say = (text: string) => append(db, row, { type: 'agent.message', data: { content: [{ type: 'text', text }] } })
  await say('before')
  const following = person.start(['session', 'transcript', encodeId('session', row), '--follow'])
  await following.printed('before')
  await transaction(db, async (tx) => {
    const gone = await findAll<{ digest: string }>(
      tx,
      sql`delete from authorization_tokens where kind = 'access' returning encode(secret_sha256, 'hex') as digest`,
    )
    for (const { digest } of gone) publish(tx, accessTokenTopic, digest)
  })
  await noticesSent(db)
  await expect.poll(async () => (await newest()).exchanged).toBe(1)
  await say('after')
  await following.printed('after')
  following.child.kill('SIGINT')
  expect((await following.ended).exit).toBe(130)
}, 60_000)

test('a stream whose token ends, and has no next one, ends with 3 and a sentence', async () => {
  const { db } = world.berth.services
  const person = await somebody()
  const row = await makeSessionRow(db, await world.berth.token())
  await append(db, row, { type: 'agent.message', data: { content: [{ type: 'text', text: 'before' }] } })
  // As in a script: a token in a variable, without what renews it.
  const variables = { BERTH_URL: world.origin, BERTH_TOKEN: keptBy(person).token }
  const following = person.start(['session', 'transcript', encodeId('session', row), '--follow'], variables)
  await following.printed('before')
  await endAuthorization(db, (await newest()).id)
  expect(await following.ended).toMatchObject({ exit: 3, err: expect.stringMatching(/^berth: .*berth login.*\n$/) })
}, 60_000)

test('signing out ends the authorization, as signing in again ends the one before, and forgets also what Berth cannot be told', async () => {
  const person = await somebody()
  const first = keptBy(person)
  expect((await letIn(world, alice, person)).exit).toBe(0)
  expect(await world.ask(first.token)).toBe('UNAUTHORIZED')
  const second = keptBy(person)
  expect(await world.ask(second.token)).toBe('200')
  expect(await person.run(['logout'])).toMatchObject({ exit: 0, err: '' })
  expect(await world.ask(second.token)).toBe('UNAUTHORIZED')
  expect((await person.run(['status'])).exit).toBe(2)
  expect((await letIn(world, alice, person)).exit).toBe(0)
  keep(person, { grant: { revokeAddress: `http://127.0.0.1:${await freePort()}/oauth/revoke` } })
  expect(await person.run(['logout'])).toMatchObject({ exit: 7, err: expect.stringContaining('under Members') })
  expect((await person.run(['status'])).exit).toBe(2)
}, 90_000)
