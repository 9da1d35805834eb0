/** What somebody met in their first minutes with the command line alone: FIRST-MINUTES.md. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAuthority } from '#src/drivers/compute/egress/authority.ts'
import { statementsOf } from '../../cli/commands/db/statements.ts'
import { sendTo } from '../../cli/commands/fn-request.ts'
import type { Given } from '../../cli/grammar.ts'
import { makeProgram } from '../../cli/program.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeSilentNode } from '../support/makers.ts'
import { until } from '../support/until.ts'
import { makePerson, type Person } from './command.ts'

describe('a command that waits', () => {
  const optionsOf = async (...words: string[]): Promise<Given | undefined> => {
    let given: Given | undefined
    await makeProgram(async (_verb, _args, options) => void (given = options)).parseAsync(words, { from: 'user' })
    return given
  }

  test.each([
    [['apply', '-f', 'berth.yaml']],
    [['vm', 'create']],
    [['db', 'create']],
    [['vm', 'stop', 'web']],
    [['build', 'create']],
  ])('%j waits, unless --no-wait is passed', async (words) => {
    expect((await optionsOf(...words))?.flag('wait')).toBe(true)
    expect((await optionsOf(...words, '--no-wait'))?.flag('wait')).toBe(false)
  })
})

describe('at a Berth', () => {
  let berth: Berth
  let person: Person
  beforeAll(async () => {
    berth = await startBerth({ settings: { BERTH_LOCAL_SIGN_IN: 'on' } })
    await makeSilentNode(berth.services.db)
    person = makePerson({ BERTH_URL: berth.url, BERTH_TOKEN: await berth.token() })
  })
  afterAll(async () => {
    person.leave()
    await berth.stop()
  })

  test('--project, --environment and --vault take names', async () => {
    for (const words of [
      ['project', 'create', 'shop'],
      ['vault', 'create', 'keys'],
    ])
      expect(await person.run(words)).toMatchObject({ exit: 0 })
    expect(await person.run(['environment', 'create', '-f', '-'], 'name: box')).toMatchObject({ exit: 0 })
    const agent = 'name: helper\nmodel: { id: berth/demo }\n'
    expect(await person.run(['agent', 'create', '-f', '-'], agent)).toMatchObject({ exit: 0 })
    const idOf = async (...words: string[]): Promise<unknown> =>
      (JSON.parse((await person.run([...words, '--json'])).out) as { id: string }).id
    const vm = await person.run(['vm', 'create', 'web', '--project', 'shop', '--no-wait', '--json'])
    expect(vm).toMatchObject({ exit: 0 })
    expect(JSON.parse(vm.out)).toMatchObject({ projectId: await idOf('project', 'get', 'shop') })
    const run = ['agent', 'run', 'helper', 'hello', '--environment', 'box', '--vault', 'keys', '--json']
    const session = await person.run(run)
    expect(session).toMatchObject({ exit: 0 })
    expect(JSON.parse(session.out)).toMatchObject({ environmentId: await idOf('environment', 'get', 'box') })
    expect(await person.run(['vm', 'create', '--project', 'none'])).toEqual({
      exit: 4,
      out: '',
      err: "berth: There is no project 'none'.\n",
    })
  })

  test('the address of a new database is printed before it is waited for, so that Ctrl-C does not lose it', async () => {
    const running = person.start(['db', 'create', 'orders'])
    await running.printed('postgresql://')
    running.child.kill('SIGINT')
    expect(await running.ended).toMatchObject({ exit: 130, out: expect.stringMatching(/^postgresql:\/\/\S+\n$/) })
  })

  test('Ctrl-C says of what goes on without it that it does', async () => {
    const running = person.start(['vm', 'create', 'slow'])
    await until('the VM is being made', async () => (await person.run(['vm', 'ls'])).out.includes('slow'))
    running.child.kill('SIGINT')
    expect(await running.ended).toEqual({
      exit: 130,
      out: '',
      err: 'berth: The VM is made all the same: berth vm ls\n',
    })
  })

  test('a sign-in at this machine names the option for new names', async () => {
    const refused = await person.run(['login', berth.url, '--user', 'nobody', '--organization', 'nowhere'])
    expect(refused).toMatchObject({ exit: 3, err: expect.stringContaining('Pass --create') })
  })

  test('create says at a terminal that it wants a file, and build create says what one has', async () => {
    const ended = await person.atTerminal(['agent', 'create']).ended
    expect(ended).toMatchObject({ exit: 2, out: expect.stringContaining('Pass -f with a file') })
    const unknown = await person.run(['agent', 'create', '-f', '-'], 'nme: helper')
    expect(unknown).toMatchObject({ exit: 2, err: 'berth: There is no field "nme". Did you mean "name"?\n' })
    const trigger = 'repo: acme/app\nevents: [PUSH]\nagent: helper\n'
    const mistyped = await person.run(['trigger', 'create', '-f', '-'], trigger)
    expect(mistyped).toMatchObject({ exit: 2, err: 'berth: The field "agent" must be StartAgentInput.\n' })
    const unread = await person.run(['agent', 'create', '-f', 'nowhere.yaml'])
    expect(unread).toMatchObject({ exit: 2, err: 'berth: nowhere.yaml cannot be read: no such file or directory.\n' })
    const build = await person.run(['build', 'create', 'https://example.com/a.git'])
    expect(build).toMatchObject({ exit: 2, err: expect.stringContaining('{"commands": ["make"]}') })
  })
})

describe('words that are not understood', () => {
  let person: Person
  beforeAll(() => {
    person = makePerson()
  })
  afterAll(() => person.leave())

  test.each([
    [['function', 'ls'], "Unknown command 'function'. Did you mean 'fn'?"],
    [['ls'], "Unknown command 'ls'. Did you mean 'vm ls'?"],
    [['frobnicate'], "Unknown command 'frobnicate'. There is a list: berth help"],
    [['vm', 'frobnicate'], "Unknown command 'frobnicate'. There is a list: berth help"],
    [
      ['vm', 'exec', 'web', 'ls', '-la'],
      "Unknown option '-la'. Put -- before the command that it is of: berth vm exec <vm> -- ls -l",
    ],
    [
      ['login', 'localhost:4000'],
      "'localhost:4000' is no address of a Berth. It begins with https:// or http://. Did you mean http://localhost:4000?",
    ],
  ])('%j is answered with what to write', async (words, sentence) => {
    expect(await person.run(words)).toEqual({ exit: 2, out: '', err: `berth: ${sentence}\n` })
  })

  test('the help of a verb names the options that every command takes', async () => {
    expect((await person.run(['vm', 'rm', '--help'])).out).toContain('--yes')
    expect((await person.run(['-v'])).out).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  test('completion works in a bash that has no bash-completion', async () => {
    const script = join(person.home, 'completion.bash')
    writeFileSync(script, (await person.run(['completion', 'bash'])).out)
    const main = join(import.meta.dirname, '../../cli/main.ts')
    const asked = `source '${script}'; berth() { '${process.execPath}' '${main}' "$@"; }; compopt() { :; }
      COMP_WORDS=(berth vm st); COMP_CWORD=2; __berth_complete; echo "\${COMPREPLY[@]}"`
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', asked], { encoding: 'utf8' })
    expect(stdout, stderr).toBe('start stop\n')
  })
})

test('SQL is taken apart into its statements, and not inside strings, names, bodies and comments', () => {
  expect(
    statementsOf(`create table "a;b" (t text default 'x;''y'); -- no; end
      do $body$ begin perform 1; end $body$; /* none; */ select $1, E'\\';' ;; select 2`),
  ).toEqual([
    `create table "a;b" (t text default 'x;''y')`,
    `-- no; end\n      do $body$ begin perform 1; end $body$`,
    `/* none; */ select $1, E'\\';'`,
    'select 2',
  ])
  expect(statementsOf(' -- nothing\n;')).toEqual([])
  expect(statementsOf("select 'open; ")).toEqual(["select 'open;"])
})

test('a function at a name below localhost answers without a resolver and an authority that know it; elsewhere it is said what to trust', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-first-'))
  const name = 'hello-4c9qk2xp.berth.localhost'
  const authority = createAuthority(folder, 'databases')
  const server = createServer(
    { SNICallback: (_name, done) => void authority.contextFor(name).then((context) => done(null, context), done) },
    (request, response) => {
      request.pipe(response.writeHead(201))
    },
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  try {
    const sent = { method: 'POST', body: 'a body' }
    expect(await sendTo(new URL(`https://${name}:${port}/`), sent)).toEqual({ status: 201, body: 'a body' })
    await expect(sendTo(new URL(`https://localhost:${port}/`), sent)).rejects.toThrow('NODE_EXTRA_CA_CERTS')
  } finally {
    server.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
