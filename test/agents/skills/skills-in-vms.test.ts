/** The files of skills in the VMs of sessions, as far as they go without a VM: what is sent to a node, when, and what is said. */
import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { NodeClient } from '#src/drivers/node.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { noMasker } from '#src/platform/masking.ts'
import { sql } from '#src/platform/postgres.ts'
import type { PlacingNote } from '#src/resources/agents/tools/guest-placing.ts'
import { placeInVm } from '#workers/agents/placing.ts'
import { findSessionRow } from '#src/resources/agents/sessions/rows.ts'
import { readZip } from '#src/resources/agents/skills/zip.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'
import { agentSessions, type AgentSessions } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'

let berth: Berth
let client: Anthropic
let sessions: AgentSessions
let environment: string
let token: string
let node: string
let people = 0
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  node = await makeSilentNode(berth.services.db)
})
beforeEach(async () => {
  token = await berth.token(`person${people++}`)
  client = new Anthropic({ baseURL: `${berth.url}/agents`, apiKey: null, authToken: token, maxRetries: 0 })
  sessions = agentSessions(berth, token)
  environment = (await client.beta.environments.create({ name: 'place' })).id
})
afterAll(() => berth?.stop())

const files = async (name: string, text: string): Promise<File[]> => [
  await toFile(Buffer.from(`---\nname: ${name}\ndescription: What ${name} is for.\n---\n${text}\n`), 'SKILL.md'),
  await toFile(Buffer.from('#!/bin/sh\necho salve\n'), 'tools/greet.sh'),
]
const make = async (name: string, text: string): Promise<Anthropic.Beta.BetaSkill> =>
  client.beta.skills.create({ files: await files(name, text) })
/** A session of an agent with these skills, that has a VM. */
const begin = async (...skills: Anthropic.Beta.BetaSkill[]): Promise<string> =>
  sessions.begin(await sessions.agent({ skills: skills.map(({ id }) => ({ type: 'custom', skill_id: id })) }), null, {
    environment_id: environment,
  })

/** What was unpacked: where, what the archive had, and the last line of its instructions. */
type Put = { path: string; files: string[]; text: string }
/** A VM whose node does as it is told; it refuses what `refuse` returns an error for, and its scripts end with `exit`. */
type Guest = { id: string; node: NodeClient; put: Put[]; tries: number; refuse: () => Error | null; exit: number }

async function makeGuest(): Promise<Guest> {
  const sent = new Map<string, Buffer>()
  const id = decodeId('vm', await makeVmRow(berth.services.db, token, node)) ?? ''
  const guest: Guest = { id, node: {} as NodeClient, put: [], tries: 0, refuse: () => null, exit: 0 } // set below
  guest.node = {
    async sendFile({ path, totalBytes }: { path: string; totalBytes: number }, body: NodeJS.ReadableStream) {
      guest.tries++
      const error = guest.refuse()
      if (error) throw error
      const bytes = await buffer(body)
      expect(bytes.length).toBe(totalBytes)
      sent.set(path, bytes)
    },
    async call(operation: string, { args = [] }: { args?: string[] }) {
      if (operation !== 'startProcess' || guest.exit !== 0) return {}
      const [archive = '', path = ''] = args.slice(-2)
      const unpacked = await readZip(
        sent.get(archive) ?? Buffer.alloc(0),
        () => true,
        () => undefined,
      )
      guest.put.push({
        path,
        files: unpacked.map((file) => `${file.path}${file.isExecutable ? '*' : ''}`),
        text:
          unpacked
            .find((file) => file.path.endsWith('SKILL.md'))
            ?.bytes.toString()
            .trim()
            .split('\n')
            .at(-1) ?? '',
      })
      return {}
    },
    async *follow() {
      if (guest.exit !== 0)
        yield { stream: 'stderr', offset: 0, sizeBytes: 20, text: 'the disk of it is full\n' } as const
      yield { ended: true, exitCode: guest.exit, status: 'exited' } as const
    },
  } as unknown as NodeClient // only what placing uses
  return guest
}

/** What happens before a tool of the session runs in this VM. */
async function place(session: string, guest: Guest, turnId = newUuid()): Promise<PlacingNote[]> {
  const row = await findSessionRow(berth.services.db, decodeId('session', session) ?? '')
  if (!row) throw new Error('the session was just made')
  return placeInVm(berth.services, {
    session: row,
    turnId,
    vm: { id: guest.id, startedAt: null, envGeneration: 1, node: guest.node },
    findMasker: async () => noMasker,
    signal: new AbortController().signal,
  })
}
const textsIn = (guest: Guest): string[] => guest.put.map(({ text }) => text)
const folderOf = ({ latest_version_id: id }: Anthropic.Beta.BetaSkill): string => `/home/user/.skills/${id}`

test('each skill is put into the VM once, in the version that the session has, and again into another VM', async () => {
  const [latin, verse] = [await make('latin', 'Answer in Latin.'), await make('verse', 'Answer in verse.')]
  const session = await begin(latin, verse)
  await client.beta.skills.versions.create(latin.id, { files: await files('latin', 'Answer in Greek.') })
  const first = await makeGuest()
  expect(await place(session, first)).toEqual([])
  expect(first.put).toEqual([
    { path: folderOf(latin), files: ['latin/SKILL.md', 'latin/tools/greet.sh*'], text: 'Answer in Latin.' },
    { path: folderOf(verse), files: ['verse/SKILL.md', 'verse/tools/greet.sh*'], text: 'Answer in verse.' },
  ])
  await place(session, first)
  expect(first.tries, 'once').toBe(2)
  const second = await makeGuest()
  await place(session, second)
  expect(second.put).toEqual(first.put)
})

test('calls of tools that come at once wait for the same work', async () => {
  const session = await begin(await make('latin', 'one'))
  const guest = await makeGuest()
  await Promise.all([place(session, guest), place(session, guest), place(session, guest)])
  expect(textsIn(guest)).toEqual(['one'])
})

test('a skill that cannot be placed is told, does not keep others away, and is tried again in the next turn', async () => {
  const [latin, verse] = [await make('latin', 'one'), await make('verse', 'two')]
  const session = await begin(latin, verse)
  const guest = await makeGuest()
  const full = new BerthError('request_too_large', 'The VM’s disk has no room for this.')
  guest.refuse = () => (guest.tries === 1 ? full : null)
  const turnId = newUuid()
  const notThere = (reason: string): PlacingNote[] => [
    { text: `${folderOf(latin)}/latin is not there: ${reason}`, isThere: false },
  ]
  expect(await place(session, guest, turnId)).toEqual(notThere('The VM’s disk has no room for this.'))
  expect(textsIn(guest)).toEqual(['two'])
  expect(await place(session, guest, turnId), 'once in a turn').toEqual([])
  expect(guest.tries).toBe(2)
  guest.exit = 20
  expect(await place(session, guest)).toEqual(notThere('the disk of it is full'))
  guest.exit = 0
  expect(await place(session, guest)).toEqual([])
  expect(textsIn(guest)).toEqual(['two', 'one'])
})

test('sessions in one VM have each their own version of a skill, and share the folder of the same one', async () => {
  const latin = await make('latin', 'Answer in Latin.')
  const older = await begin(latin)
  await client.beta.skills.versions.create(latin.id, { files: await files('latin', 'Answer in Greek.') })
  const newer = await begin(latin)
  const guest = await makeGuest()
  for (const session of [older, newer, newer, older, await begin(latin)]) await place(session, guest)
  expect(textsIn(guest)).toEqual(['Answer in Latin.', 'Answer in Greek.'])
})

test('nothing is put for a session that a VM’s token uses, nor of a version that was deleted', async () => {
  const [latin, verse] = [await make('latin', 'one'), await make('verse', 'two')]
  const session = await begin(latin, verse)
  environment = (await client.beta.environments.create({ name: 'other' })).id
  const used = await begin(latin)
  await sql`update sessions set used_by_vm = true where id = ${decodeId('session', used)}`.execute(berth.services.db)
  await client.beta.skills.delete(verse.id)
  const guest = await makeGuest()
  await place(used, guest)
  expect(guest.tries).toBe(0)
  await place(session, guest)
  expect(textsIn(guest)).toEqual(['one'])
  await client.beta.skills.delete(latin.id)
  const { rows } = await sql`select from vm_skills where vm_id = ${guest.id}`.execute(berth.services.db)
  expect(rows, 'nobody remembers where a deleted one was').toEqual([])
})
