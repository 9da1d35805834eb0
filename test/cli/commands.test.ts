/** The command line in a pipe, against a real web process: what it prints, and how it ends. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { sql, transaction } from '#src/platform/postgres.ts'
import { moveSession } from '#src/resources/agents/sessions/states.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeVmRow } from '../support/makers.ts'
import { freePort } from '../support/ports.ts'
import { append, makeSessionRow } from '../support/sessions.ts'
import { startStubNode, type StubNode } from '../contract/stub-node.ts'
import { makePerson, type Person } from './command.ts'

let berth: Berth
let token: string
let node: StubNode
let person: Person
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await startStubNode(berth.services.db)
  person = makePerson({ BERTH_URL: berth.url, BERTH_TOKEN: token })
})
afterAll(async () => {
  person.leave()
  await node.stop()
  await berth.stop()
})

async function makeVm(name: string, status = 'running'): Promise<string> {
  const id = await makeVmRow(berth.services.db, token, node.id, { status })
  await sql`update vms set name = ${name} where id = ${decodeId('vm', id)}`.execute(berth.services.db)
  return id
}

test('a project is made, listed, read by its name and deleted', async () => {
  const made = await person.run(['project', 'create', 'shop'])
  expect(made).toMatchObject({ exit: 0, out: expect.stringMatching(/^prj_[0-9a-z]{26}\n$/), err: '' })
  const list = await person.run(['project', 'ls'])
  expect(list.out.split('\n')[0]).toMatch(/^NAME +ID +AGE$/)
  expect(list.out).toMatch(/^shop +prj_/m)
  const one = await person.run(['project', 'get', 'shop', '--json'])
  expect(JSON.parse(one.out)).toMatchObject({ name: 'shop', id: made.out.trim() })
  const gone = await person.run(['project', 'rm', 'shop', '--yes'])
  expect(gone).toEqual({ exit: 0, out: 'Deleted shop.\n', err: '' })
  expect(JSON.parse((await person.run(['--json', 'project', 'ls'])).out)).toEqual([])
})

describe('each way to fail has its exit code', () => {
  test('2 for words that nobody knows, with what was probably meant', async () => {
    expect(await person.run(['vm', 'creat', 'web'])).toEqual({
      exit: 2,
      out: '',
      err: "berth: Unknown command 'creat'. Did you mean 'create'?\n",
    })
    expect(await person.run(['vmm'])).toMatchObject({ exit: 2, err: expect.stringContaining("Did you mean 'vm'?") })
    expect(await person.run(['vm', 'ls', '--stat', 'x'])).toMatchObject({ exit: 2 })
    expect(await person.run(['vm', 'get'])).toMatchObject({ exit: 2, err: expect.stringContaining("'vm'") })
    expect(await person.run(['vm', 'ls', '--limit', 'many'])).toMatchObject({ exit: 2 })
    expect(await person.run(['vm'])).toMatchObject({ exit: 2, out: '', err: expect.stringContaining('Commands:') })
  })

  test('2 where it would have to ask and there is no terminal, with the flag to pass', async () => {
    await person.run(['project', 'create', 'kept'])
    const asked = await person.run(['project', 'rm', 'kept'])
    expect(asked).toMatchObject({ exit: 2, err: expect.stringContaining('--yes') })
    expect((await person.run(['project', 'get', 'kept'])).exit).toBe(0)
    expect(await person.run(['vm', 'ssh', 'kept'])).toMatchObject({ exit: 2 })
  })

  test('1 for what is refused, with the server’s sentence', async () => {
    const refused = await person.run(['api', '{ nonsense }'])
    expect(refused).toMatchObject({ exit: 1, out: '', err: expect.stringMatching(/nonsense.*req_/) })
  })

  test('3 for a token that is refused, and 4 for what is not there', async () => {
    const stranger = await person.run(['vm', 'ls'], '', { BERTH_TOKEN: 'nonsense' })
    expect(stranger).toMatchObject({ exit: 3, out: '', err: expect.stringContaining('berth login') })
    expect(await person.run(['vm', 'get', 'nobody'])).toMatchObject({
      exit: 4,
      err: "berth: There is no VM 'nobody'.\n",
    })
    expect(await person.run(['vm', 'get', 'vm_00000000000000000000000000'])).toMatchObject({ exit: 4 })
  })

  test('5 for a state that does not allow it, and 2 for a name that several have', async () => {
    await makeVm('off', 'stopped')
    expect(await person.run(['vm', 'pause', 'off'])).toMatchObject({ exit: 5, out: '' })
    const twins = [await makeVm('twin'), await makeVm('twin')]
    const several = await person.run(['vm', 'get', 'twin'])
    expect(several.exit).toBe(2)
    for (const id of twins) expect(several.err).toContain(id)
    expect(await person.run(['vm', 'get', twins[0] ?? '', '--json'])).toMatchObject({ exit: 0 })
  })

  test('6 for a limit, and 7 for no connection', async () => {
    const busy = createServer((_request, response) =>
      response.writeHead(429, { 'retry-after': '3600' }).end('{"error": "rate_limited", "message": "Wait an hour."}'),
    ).listen(0, '127.0.0.1')
    await once(busy, 'listening')
    const { port } = busy.address() as AddressInfo
    const limited = await person.run(['vm', 'ls'], '', { BERTH_URL: `http://127.0.0.1:${port}` })
    busy.close()
    expect(limited).toMatchObject({ exit: 6, err: expect.stringContaining('Wait an hour.') })
    const nobody = await person.run(['vm', 'ls'], '', { BERTH_URL: `http://127.0.0.1:${await freePort()}` })
    expect(nobody).toMatchObject({ exit: 7, out: '', err: expect.stringContaining('no connection') })
  })
})

test('what others named is shown, and does nothing to a terminal', async () => {
  await makeVm('\u001b[31mred\u001b[0m \u202egnp.\u0007exe\nnext')
  const { out } = await person.run(['vm', 'ls'])
  expect(out).toContain('red \\u202egnp.\\u0007exe\\nnext')
  expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
  const json = await person.run(['vm', 'ls', '--json'])
  expect(json.out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
  const rows = JSON.parse(json.out) as { name: string }[]
  expect(rows.map(({ name }) => name)).toContain('\u001b[31mred\u001b[0m \u202egnp.\u0007exe\nnext')
})

describe('a command in a VM', () => {
  test('gives its output and its exit code, and takes words and input as they are', async () => {
    const id = await makeVm('web')
    node.answer = { stdout: 'out\n', stderr: 'err\n', exitCode: 42 }
    const words = ['vm', 'exec', 'web', '--stdin', '--root', '--', 'sh', '-c', 'exit "$1"', '--json', '42']
    expect(await person.run(words, 'typed')).toEqual({ exit: 42, out: 'out\n', err: 'err\n' })
    expect(node.asked.at(-1)).toMatchObject({
      name: 'exec',
      input: { vmId: decodeId('vm', id), command: 'sh', args: ['-c', 'exit "$1"', '--json', '42'], stdin: 'typed' },
    })
  })

  test('ends with 124 at its time limit, and with 125 when it is not run', async () => {
    await makeVm('slow')
    node.answer = { stdout: '', exitCode: 124, timedOut: true }
    expect((await person.run(['vm', 'exec', 'slow', '--timeout', '1s', '--', 'sleep', '60'])).exit).toBe(124)
    expect((await person.run(['vm', 'exec', 'nobody', 'ls'])).exit).toBe(125)
    await makeVm('halted', 'stopped')
    expect((await person.run(['vm', 'exec', 'halted', 'ls'])).exit).toBe(125)
  })
})

test('a reader that stops reading ends it quietly', async () => {
  const row = await makeSessionRow(berth.services.db, token)
  const text = 'x'.repeat(2_000)
  for (let part = 0; part < 5; part++)
    await append(
      berth.services.db,
      row,
      ...Array.from({ length: 40 }, () => ({ type: 'agent.message', data: { content: [{ type: 'text', text }] } })),
    )
  const running = person.start(['session', 'transcript', encodeId('session', row)])
  running.child.stdout?.once('data', () => running.child.stdout?.destroy())
  expect(await running.ended).toMatchObject({ exit: 0, err: '' })
})

test('an interrupt ends what follows a session with 130', async () => {
  const row = await makeSessionRow(berth.services.db, token)
  await append(berth.services.db, row, { type: 'agent.message', data: { content: [{ type: 'text', text: 'hello' }] } })
  const running = person.start(['session', 'transcript', encodeId('session', row), '--follow'])
  await running.printed('hello')
  await append(berth.services.db, row, { type: 'agent.message', data: { content: [{ type: 'text', text: 'again' }] } })
  await running.printed('again')
  running.child.kill('SIGINT')
  expect((await running.ended).exit).toBe(130)
})

test('what follows a session asks for what waits now, and not for what was answered long ago', async () => {
  const { db } = berth.services
  const row = await makeSessionRow(db, token)
  const used = { type: 'agent.tool_use', data: { name: 'bash', input: {}, evaluated_permission: 'ask' } }
  const [first, second] = (await append(db, row, used, used)).map(({ id }) => encodeId('sessionEvent', id))
  const waitsFor = (...event_ids: (string | undefined)[]) => ({
    type: 'session.status_idle',
    data: { stop_reason: { type: 'requires_action', event_ids }, stop_details: null },
  })
  await append(db, row, waitsFor(first), {
    type: 'agent.message',
    data: { content: [{ type: 'text', text: 'went on' }] },
  })
  const stopReason = { type: 'requires_action' as const, event_ids: [second ?? ''] }
  await transaction(db, async (tx) => {
    await moveSession(tx, row, { to: 'running' })
    await moveSession(tx, row, { to: 'idle', stopReason })
  })
  const followed = await person.run(['session', 'transcript', encodeId('session', row), '--follow'])
  expect(followed).toMatchObject({ exit: 5, out: expect.stringContaining('went on') })
  expect(followed.err).toContain(`approve ${encodeId('session', row)} ${second}`)
  expect(followed.err).not.toContain(`${first}`)
})

test('any GraphQL runs, from a word, a file or stdin, with variables', async () => {
  const document = 'query One($id: ID!) { node(id: $id) { id } }'
  const id = await makeVm('asked')
  const expected = { node: { id } }
  expect(JSON.parse((await person.run(['api', document, '-v', `id=${id}`])).out)).toEqual(expected)
  const file = join(person.home, 'one.graphql')
  writeFileSync(file, document)
  expect(JSON.parse((await person.run(['api', '-f', file, '--variables', '-'], `id: ${id}`)).out)).toEqual(expected)
  expect(JSON.parse((await person.run(['api', '-v', `id=${id}`], document)).out)).toEqual(expected)
})

test('signing in by a token on stdin keeps it for its owner only, and for its own address', async () => {
  const guestPerson = makePerson()
  expect((await guestPerson.run(['vm', 'ls'])).err).toContain('berth login')
  const signedIn = await guestPerson.run(['login', berth.url, '--token-file', '-', '--name', 'here'], `${token}\n`)
  expect(signedIn).toMatchObject({ exit: 0, out: 'Signed in as alice (acme, owner).\n' })
  const file = join(guestPerson.home, 'state/berth/credentials.json')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file, 'utf8')).toContain(token)
  expect(readFileSync(join(guestPerson.home, 'config/berth/contexts.json'), 'utf8')).not.toContain(token)
  expect((await guestPerson.run(['status'])).out).toMatch(/person +alice/)
  const elsewhere = await guestPerson.run(['status'], '', { BERTH_URL: `http://localhost:${berth.port}` })
  expect(elsewhere.exit).toBe(3)
  const refused = await guestPerson.run(['login', berth.url, '--token-file', '-', '--name', 'bad'], 'nonsense')
  expect(refused.exit).toBe(3)
  expect((await guestPerson.run(['logout'])).exit).toBe(0)
  expect((await guestPerson.run(['vm', 'ls'])).exit).toBe(2)
  guestPerson.leave()
})

test('the sign-in of this machine gives a token without one', async () => {
  const newcomer = makePerson()
  const words = ['login', `http://localhost:${berth.port}`, '--user', 'carol', '--organization', 'carols', '--create']
  expect(await newcomer.run(words)).toMatchObject({ exit: 0, out: 'Signed in as carol (carols, owner).\n' })
  expect(JSON.parse((await newcomer.run(['org', 'ls', '--json'])).out)).toMatchObject([{ name: 'carols' }])
  expect((await newcomer.run(['org', 'use', 'carols'])).exit).toBe(0)
  expect((await newcomer.run(['project', 'ls', '--org', 'carols'])).exit).toBe(0)
  expect((await newcomer.run(['project', 'ls', '--org', 'others'])).exit).toBe(4)
  newcomer.leave()
})
