/** Ports of VMs, variables and dumps on the command line, behind a real agent whose machines are this host. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import { decodeId } from '#src/platform/ids.ts'
import { hostBlock, noteHostKey } from '../../cli/ssh/config.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeSilentNode, makeVmRow } from '../support/makers.ts'
import { startTerminalNode, type TerminalNode } from '../infra/terminals/clients.ts'
import { startListening, type Listening } from '../infra/tunnels/clients.ts'
import { makePerson, type Person, type Running } from './command.ts'

/** Many processes, one after another. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let berth: Berth
let node: TerminalNode
let person: Person
let vmId: string
let echo: Listening
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  const token = await berth.token()
  node = await startTerminalNode(berth.services)
  vmId = await makeVmRow(berth.services.db, token, node.id)
  await sql`update vms set name = 'web' where id = ${decodeId('vm', vmId)}`.execute(berth.services.db)
  echo = await startListening((socket) => void socket.pipe(socket))
  person = makePerson({ BERTH_URL: berth.url, BERTH_TOKEN: token })
})
afterAll(async () => {
  person.leave()
  await echo.stop()
  await node.stop([])
  await berth.stop()
})

const portIn = (running: Running, there: number): number =>
  Number(running.text().split(` -> web:${there}`)[0]?.split(':').at(-1))
async function textOf(socket: Socket): Promise<string> {
  let text = ''
  for await (const piece of socket.setEncoding('utf8') as AsyncIterable<string>) text += piece
  return text
}

test('forward listens here, a tunnel a connection, until Ctrl-C', async () => {
  const gone = await startListening(() => undefined)
  await gone.stop()
  const forward = person.start(['vm', 'forward', 'web', `0:${echo.port}`, `0:${gone.port}`])
  await forward.printed(`127.0.0.1:`)
  await forward.printed(`-> web:${gone.port}`)
  const sockets = [1, 2].map(() =>
    connect({ port: portIn(forward, echo.port), host: '127.0.0.1', allowHalfOpen: true }),
  )
  for (const [at, socket] of sockets.entries()) socket.end(`hello ${at} `.repeat(30_000))
  const texts = await Promise.all(sockets.map(textOf))
  expect(texts.map((text) => text.slice(0, 8))).toEqual(['hello 0 ', 'hello 1 '])
  expect(texts.map((text) => text.length)).toEqual([240_000, 240_000])
  const refused = connect(portIn(forward, gone.port), '127.0.0.1')
  refused.on('error', () => undefined) // it is reset
  await forward.printed(`web:${gone.port}: Nothing in the VM listens at port ${gone.port}.`)
  forward.child.kill('SIGINT')
  expect(await forward.ended).toMatchObject({ exit: 130 })
})

test('a port here that is taken is said, with another one to try, and so is what is no port', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo // it listens at one
  const { exit, err } = await person.run(['vm', 'forward', 'web', `${port}:80`])
  expect(exit).toBe(1)
  expect(err).toMatch(/^berth: Port \d+ of 127\.0\.0\.1 is taken\. Try another one: berth vm forward web \d+:80\n$/)
  taken.close()
  for (const wrong of ['http', '70000', '80:0', '1:2:3'])
    expect((await person.run(['vm', 'forward', 'web', wrong])).exit).toBe(2)
  expect((await person.run(['vm', 'forward', 'nothing', '80'])).exit).toBe(4)
})

test('ssh-config prints a block for ssh, and makes a key for its owner only, once', async () => {
  const first = await person.run(['vm', 'ssh-config', 'web'])
  expect(first).toMatchObject({ exit: 0, err: '' })
  expect(first.out).toContain(`Host web ${vmId}\n`)
  expect(first.out).toContain(`ssh --proxy ${vmId}`)
  expect(first.out).toContain('StrictHostKeyChecking yes')
  const file = join(person.home, 'state/berth/ssh/id_ed25519')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const key = readFileSync(file, 'utf8')
  expect((await person.run(['vm', 'ssh-config'])).out).toBe(first.out)
  expect(readFileSync(file, 'utf8')).toBe(key)
  // As ssh-keygen reads it.
  const read = spawnSync('ssh-keygen', ['-y', '-f', file], { encoding: 'utf8' })
  expect(read.stdout.trim()).toBe(readFileSync(`${file}.pub`, 'utf8').trim())
  writeFileSync(join(person.home, 'ssh_config'), first.out)
  const parsed = spawnSync('ssh', ['-G', '-F', join(person.home, 'ssh_config'), 'web'], { encoding: 'utf8' })
  expect(parsed.status).toBe(0)
  expect(parsed.stdout).toContain(`hostkeyalias ${vmId}\n`)
  expect(parsed.stdout).toContain('user user\n')
})

test('ssh-config gives no VM a name that leads others astray: another host’s, another VM’s, or several lines', async () => {
  const { db } = berth.services
  const made: string[] = []
  const rename = async (name: string): Promise<string> => {
    const id = await makeVmRow(db, String(person.env['BERTH_TOKEN']), node.id)
    await sql`update vms set name = ${name} where id = ${decodeId('vm', id)}`.execute(db)
    made.push(id)
    return id
  }
  for (const name of ['github.com', 'LocalHost', 'twin', 'twin', '*', 'a b', 'x\nProxyCommand sh']) await rename(name)
  const { exit, out, err } = await person.run(['vm', 'ssh-config'])
  expect(exit).toBe(0)
  const hosts = out.split('\n').filter((line) => line.startsWith('Host '))
  expect(hosts.sort()).toEqual([`Host web ${vmId}`, ...made.map((id) => `Host ${id}`)].sort())
  expect(out).not.toMatch(/^ *ProxyCommand sh/m)
  expect(err).toContain(`github.com: the name may be another host’s, so ssh knows it as ${made[0]} only.\n`)
  expect(err).toContain('twin: several have this name')
  expect((await person.run(['vm', 'ssh-config', 'github.com'])).out).toContain(`Host github.com ${made[0]}\n`)
  expect((await person.run(['vm', 'ssh-config', String(made[0])])).out).toContain(`Host ${made[0]}\n`)
  for (const id of made) await sql`delete from vms where id = ${decodeId('vm', id)}`.execute(db)
})

test('what no Berth answers becomes no file and no line of ssh', () => {
  const env = { HOME: person.home, XDG_STATE_HOME: join(person.home, 'state') }
  expect(() => noteHostKey(env, '../../../evil', 'ssh-ed25519 AAAA')).toThrow(/no VM has/)
  expect(() => noteHostKey(env, vmId, 'ssh-ed25519 AAAA\n* ssh-ed25519 BBBB')).toThrow(/no host key/)
  const target = { context: undefined, organization: undefined }
  expect(() => hostBlock(env, { id: 'x\n  ProxyCommand sh', name: undefined }, target)).toThrow(/no VM has/)
})

test('ssh --proxy is for ssh, not for a terminal, and fails with 125 where the VM does not answer', async () => {
  const { db } = berth.services
  const away = await makeVmRow(db, String(person.env['BERTH_TOKEN']), await makeSilentNode(db))
  const refused = await person.run(['vm', 'ssh', '--proxy', away])
  expect(refused).toMatchObject({ exit: 125, out: '' })
  expect((await person.atTerminal(['vm', 'ssh', '--proxy', 'web']).ended).exit).toBe(2)
})

test('env sets variables from words and a .env file, and prints names and no values', async () => {
  mkdirSync(join(person.home, 'app'))
  const file = join(person.home, 'app/.env')
  writeFileSync(file, '# a comment\nPLAIN=one\nQUOTED="two words # no comment" # one\nexport LINES="a\nb"\nOVER=file\n')
  const set = await person.run(['env', 'set', '--vm', 'web', '--from-file', file, 'OVER=word', 'EQUAL=a=b'])
  expect(set).toMatchObject({ exit: 0, err: 'Warning: running processes keep their old environment\n' })
  expect(set.out.trim().split(/[:,] /).sort()).toEqual(['EQUAL', 'LINES', 'OVER', 'PLAIN', 'QUOTED', 'web'])
  const listed = await person.run(['env', 'ls', '--vm', 'web', '--values', '--json'])
  const rows = JSON.parse(listed.out) as { key: string; value: string }[]
  expect(Object.fromEntries(rows.map(({ key, value }) => [key, value]))).toMatchObject({
    PLAIN: 'one',
    QUOTED: 'two words # no comment',
    LINES: 'a\nb',
    OVER: 'word',
    EQUAL: 'a=b',
  })
  expect((await person.run(['env', 'ls', '--vm', 'web'])).out).not.toContain('two words')
  const input = 'FROM_STDIN=yes\n'
  expect(await person.run(['env', 'set', '--vm', 'web', '--from-file', '-'], input)).toMatchObject({ exit: 0 })
  expect(await person.run(['env', 'rm', '--vm', 'web', 'PLAIN', 'FROM_STDIN'])).toMatchObject({ exit: 0 })
  const left = (await person.run(['env', 'ls', '--vm', 'web'])).out
  expect(left).toContain('OVER')
  expect(left).not.toMatch(/PLAIN|FROM_STDIN/)
})

test('env says what it needs, without repeating what may be a value', async () => {
  const wrong = await person.run(['env', 'set', '--vm', 'web', 'hunter2'])
  expect(wrong).toMatchObject({ exit: 2, err: expect.stringContaining('NAME=value') as string })
  expect(wrong.err).not.toContain('hunter2')
  expect((await person.run(['env', 'set', 'A=b'])).exit).toBe(2)
  expect((await person.run(['env', 'set', '--vm', 'web'])).exit).toBe(2)
  expect((await person.run(['env', 'set', '--vm', 'web', '--visibility', 'loud', 'A=b'])).exit).toBe(2)
})
