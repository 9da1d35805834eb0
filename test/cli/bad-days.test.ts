/** The command line on bad days: readers that leave, full disks, proxies, other versions, Ctrl-C. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, request, type IncomingMessage, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { startStubNode, type StubNode } from '../contract/stub-node.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeVmRow } from '../support/makers.ts'
import { makePerson, type Person } from './command.ts'

let berth: Berth
let node: StubNode
let person: Person
const servers: Server[] = []
beforeAll(async () => {
  berth = await startBerth()
  const token = await berth.token()
  node = await startStubNode(berth.services.db)
  const id = await makeVmRow(berth.services.db, token, node.id)
  await sql`update vms set name = 'web' where id = ${decodeId('vm', id)}`.execute(berth.services.db)
  person = makePerson({ BERTH_URL: berth.url, BERTH_TOKEN: token })
})
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})
afterAll(async () => {
  person.leave()
  await node.stop()
  await berth.stop()
})

async function listen(server: Server): Promise<number> {
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port // it listens
}

test.each([
  ['a list', ['vm', 'ls']],
  ['the output of a program', ['vm', 'exec', 'web', '--', 'yes']],
  ['help', ['--help']],
])('a reader that is gone before %s comes ends it quietly', async (_what, words) => {
  node.answer = { stdout: 'y\n'.repeat(200_000) }
  const running = person.start(words)
  running.child.stdout?.destroy()
  running.child.stdin?.end()
  expect(await running.ended).toMatchObject({ exit: 0, err: '' })
})

test.each([
  ['vm events', ['vm', 'events', 'web'], 'running'],
  [
    'a subscription',
    [
      'api',
      'subscription One($id: ID!) { vmEvents(id: $id) { ... on VmEvent { status } } }',
      '-v',
      'id=<vm>',
      '--json',
    ],
    'RUNNING',
  ],
])('Ctrl-C at a terminal ends %s with 130', async (_what, words, printed) => {
  const { out } = await person.run(['vm', 'get', 'web', '--json'])
  const { id } = JSON.parse(out) as { id: string }
  const following = person.atTerminal(words.map((word) => word.replace('<vm>', id)))
  await following.printed(printed)
  following.type('\u0003')
  expect((await following.ended).exit).toBe(130)
})

test('Ctrl-C ends the tool server with 130, also while a request is on its way', async () => {
  const serving = person.start(['mcp'])
  serving.child.stdin?.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
  await serving.printed('"id":1')
  serving.child.kill('SIGINT')
  expect((await serving.ended).exit).toBe(130)
})

/** A file system with no room, for whoever may mount one. */
function withFullDisk(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = join(person.home, 'full')
  mkdirSync(folder, { recursive: true })
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'none', folder])
  return work(folder).finally(() => execFileSync('umount', [folder]))
}
const mayMount = process.getuid?.() === 0

test('on a full disk contexts stay as they are, and the file is named', async () => {
  if (!mayMount) return expect(process.getuid?.()).toBeGreaterThan(0) // only root may make a disk that is full
  await withFullDisk(async (folder) => {
    const folders = { XDG_CONFIG_HOME: folder, XDG_STATE_HOME: join(folder, 'state') }
    const login = ['login', berth.url, '--token-file', '-', '--name']
    const { BERTH_TOKEN: token = '' } = person.env
    expect((await person.run([...login, 'first'], token, folders)).exit).toBe(0)
    const file = join(folder, 'berth/contexts.json')
    const before = readFileSync(file, 'utf8')
    writeFileSync(join(folder, 'filler'), Buffer.alloc(4096 * roomLeft(folder)))
    const refused = await person.run([...login, 'second'], token, folders)
    expect(refused).toMatchObject({ exit: 1, out: '' })
    expect(refused.err).toMatch(new RegExp(`^berth: ${file} cannot be written: ENOSPC.* It is as it was\\.\n$`))
    expect(readFileSync(file, 'utf8')).toBe(before)
    expect(readdirSync(join(folder, 'berth'))).toEqual(['contexts.json'])
  })
})

/** Blocks of 4 KiB that are free. */
function roomLeft(folder: string): number {
  return Number(execFileSync('stat', ['-f', '-c', '%a', folder], { encoding: 'utf8' }))
}

test('output that finds no room is said, with 1', async () => {
  const main = join(import.meta.dirname, '../../cli/main.ts')
  const child = spawn('sh', ['-c', `'${process.execPath}' '${main}' vm ls > /dev/full`], {
    env: { ...person.env, PATH: '/usr/bin:/bin', NODE_NO_WARNINGS: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (said += piece))
  expect(await once(child, 'close')).toEqual([1, null])
  expect(said).toMatch(/^berth: The output cannot be written: ENOSPC.*\n$/)
})

/** A proxy that knows one name, `berth.test`, which nobody else does. `passed` is what went through it. */
async function startProxy(): Promise<{ url: string; passed: string[] }> {
  const passed: string[] = []
  const server = createServer((asked, answer) => {
    const url = new URL(asked.url ?? '')
    passed.push(`${asked.method} ${url.host}`)
    const { headers, method } = asked
    const onward = request({ host: '127.0.0.1', port: berth.port, path: url.pathname, method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers)
      got.pipe(answer)
    })
    asked.pipe(onward)
  })
  // Node asks for the upgrade to a web socket that is not encrypted so, and for the others by CONNECT.
  server.on('upgrade', ({ url: target = '', method, rawHeaders }: IncomingMessage, socket: Duplex, head) => {
    const url = new URL(target)
    passed.push(`upgrade ${url.host}`)
    const onward = connect(berth.port, '127.0.0.1', () => {
      const lines = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1]}`] : []))
      onward.write([`${method} ${url.pathname} HTTP/1.1`, ...lines, '', ''].join('\r\n'))
      onward.write(head)
      onward.pipe(socket).pipe(onward)
    })
    for (const end of [onward, socket]) end.on('error', () => onward.destroy())
  })
  server.on('connect', ({ url = '' }: IncomingMessage, socket, head) => {
    passed.push(`CONNECT ${url}`)
    const onward = connect(berth.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      onward.write(head)
      onward.pipe(socket).pipe(onward)
    })
    for (const end of [onward, socket]) end.on('error', () => onward.destroy())
  })
  return { url: `http://127.0.0.1:${await listen(server)}`, passed }
}

test('what HTTP_PROXY names is between: for requests and for streams, and not on the way to this machine', async () => {
  const { url, passed } = await startProxy()
  const proxied = { HTTP_PROXY: url, BERTH_URL: `http://berth.test:${berth.port}` }
  expect(await person.run(['vm', 'ls'], '', proxied)).toMatchObject({
    exit: 0,
    err: '',
    out: expect.stringMatching(/^NAME/),
  })
  expect(passed).toHaveLength(1)
  expect(passed[0]).toContain(`berth.test:${berth.port}`)
  const following = person.start(['vm', 'events', 'web'], proxied)
  await following.printed('running')
  following.child.kill('SIGINT')
  expect((await following.ended).exit).toBe(130)
  expect(passed.slice(1).join('\n')).toContain(`upgrade berth.test:${berth.port}`)
  passed.splice(0)
  expect((await person.run(['vm', 'ls'], '', { HTTP_PROXY: url })).exit).toBe(0)
  expect(passed).toEqual([])
  const wrong = await person.run(['vm', 'ls'], '', { ...proxied, HTTP_PROXY: 'nonsense:// x' })
  expect(wrong).toMatchObject({ exit: 2, err: expect.stringContaining('HTTP_PROXY names no proxy') })
})

/** Berth, but for its version. */
async function asVersion(version: string): Promise<string> {
  const server = createServer((asked, answer) => {
    const { headers, method, url: path } = asked
    const plain = { ...headers, 'accept-encoding': 'identity' }
    const onward = request({ host: '127.0.0.1', port: berth.port, path, method, headers: plain }, (got) => {
      let text = ''
      got.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      got.once('end', () => {
        const { 'content-length': _, ...rest } = got.headers
        answer.writeHead(got.statusCode ?? 502, rest).end(text.replace(/"version":"[^"]*"/, `"version":"${version}"`))
      })
    })
    asked.pipe(onward)
  })
  return `http://127.0.0.1:${await listen(server)}`
}

test.each([
  ['0.0.1', undefined],
  ['0.9.0', 'get a newer command line.'],
  ['7.0.0', 'get a newer command line.'],
])('a Berth of version %s: what is said of it, once, is %s', async (version, said) => {
  const own = (await person.run(['version'])).out.trim()
  const BERTH_URL = await asVersion(version)
  const advice = said === undefined ? '' : `This command line is ${own}, and Berth is ${version}: ${said}\n`
  expect(await person.run(['status'], '', { BERTH_URL })).toMatchObject({ exit: 0, err: advice })
  const { BERTH_TOKEN: token = '' } = person.env
  const login = await person.run(['login', BERTH_URL, '--token-file', '-'], token)
  expect(login).toMatchObject({ exit: 0, err: advice })
  // What another version's graph does not know is refused; then the versions are why.
  const refused = await person.run(['api', '{ nonsense }'], '', { BERTH_URL })
  expect(refused.exit).toBe(1)
  expect(refused.err.replace(/^berth: .*\n/, '')).toBe(advice)
})
