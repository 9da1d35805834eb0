/** What the documents print, run as it is printed, on real VMs; and a day with Anthropic's own client, unmodified but for address and token. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { results, textOf, types, type Event } from './support/agent-sessions.ts'
import { startBerth, type Berth } from './support/berth.ts'
import { makeKey } from './support/makers.ts'
import { paste, shellBlocks } from './support/paste.ts'
import { until } from './support/until.ts'

let folder: string
let berth: Berth
let token: string
let env: { TOKEN: string; KEY: string; SERVER_URL: string }
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-examples-'))
  berth = await startBerth({ worker: true, pool: 1, settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  const { key } = await makeKey(berth, await berth.token('alice', 'acme', 'owner'))
  env = { TOKEN: token, KEY: key, SERVER_URL: berth.url }
}, 300_000)
afterAll(async () => {
  await berth?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const runAll = (blocks: readonly string[]): Promise<string[]> => paste(blocks, { url: berth.url, folder, env })
const runBlocks = (path: string, heading?: string): Promise<string[]> => runAll(shellBlocks(path, heading))

/** The payloads of an event stream that curl printed. */
const eventsOf = <One>(printed: string): One[] =>
  printed
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)) as One)

test('the README’s sandbox, chat and agent answer what it says', async () => {
  const blocks = ['A sandbox', 'A chat', 'An agent'].flatMap((heading) => shellBlocks('README.md', heading))
  const [sandbox = '', chat = '', , followed = '', deleted] = await runAll(blocks)
  expect(JSON.parse(sandbox)).toMatchObject({ command: { exit_code: 0, stdout: '45\n' }, ttl: 60 })
  expect(chat).toContain('"object":"chat.completion.chunk"')
  expect(chat.trimEnd()).toMatch(/data: \[DONE\]$/)
  const events = eventsOf<Event>(followed)
  expect(results(events)).toEqual([{ text: expect.stringMatching(/^Linux /), isError: false }])
  expect(textOf(events.findLast(({ type }) => type === 'agent.message'))).toBe('That is my machine.')
  expect(deleted?.trim()).toBe('')
}, 300_000)

// None of them writes a file that another reads.
describe.concurrent('side by side', () => {
  test('the walk through a VM runs a command, follows a process to its end, and deletes the VM', async () => {
    const blocks = [...shellBlocks('docs/vms.md'), 'echo $VM\n']
    const [sandbox = '', , command = '', asRoot = '', , process = '', ...more] = await runAll(blocks)
    const [copied, resumed = '', archive, part, idle = '', looks = '', resized = '', deleted = '', vm = ''] = more
    expect(JSON.parse(asRoot)).toMatchObject({ exit_code: 0, stdout: 'root\nTYPED' })
    expect(JSON.parse(sandbox)).toMatchObject({ command: { stdout: '45\n' } })
    expect(JSON.parse(command)).toMatchObject({ exit_code: 0, stdout: expect.stringMatching(/^hello from \S+\n$/) })
    expect(eventsOf<{ output?: string }>(process).length).toBeGreaterThan(0)
    expect(process).toContain('tick 3')
    expect(copied).toMatch(/the same\n$/)
    expect(resumed).toContain('"size_bytes":2000000,"complete":false')
    expect(resumed).toContain('"size_bytes":5000000,"complete":true')
    expect(archive).toMatch(/"complete":true\}\.\/\n\.\/index\.html\n$/)
    expect(part?.trim()).toBe('1000')
    expect(JSON.parse(idle)).toMatchObject({ idle_seconds: 600, idle_action: 'pause' })
    expect(JSON.parse(looks)).toMatchObject({
      data: { vm: { metrics: { processorPercent: expect.any(Number) }, ports: expect.any(Array) } },
    })
    expect(resized).toMatch(/"memory_mb":1024/)
    expect(deleted.trim()).toBe('')
    expect(vm.trim()).toMatch(/^vm_/)
    const path = `/api/v1/vms/${vm.trim()}`
    await until('the VM is gone', async () => (await berth.call('GET', path, { token })).status === 404)
  }, 300_000)

  test('clients that are generated from the schema and from the OpenAPI documents run the README’s walk', async () => {
    const run = async (name: string): Promise<string> =>
      (
        await promisify(execFile)(process.execPath, [`examples/typed-clients/${name}`], {
          cwd: fileURLToPath(new URL('..', import.meta.url)),
          env: { ...process.env, ...env },
        })
      ).stdout
    await run('generate.mjs')
    for (const client of ['rest.ts', 'graph.ts'])
      expect((await run(client)).trim().split('\n'), client).toEqual([
        'sandbox: 45',
        expect.stringMatching(/^chat: .*Hello!/),
        'tool: Linux',
        'agent: That is my machine.',
      ])
    rmSync(new URL('../examples/typed-clients/generated', import.meta.url), { recursive: true })
  }, 300_000)

  test('the first agent sees a test fail, fixes it, and shares the transcript', async () => {
    const [, , followed = '', shared = ''] = await runBlocks('docs/agents.md', 'Your first agent')
    const events = eventsOf<Event>(followed)
    const said = results(events)
    expect(said[3]).toMatchObject({
      isError: true,
      text: expect.stringMatching(/AssertionError: 3\.0[^]*\[exit code 1\]/),
    })
    expect(said[4]?.text).toContain('len(values) - 1')
    expect(said.at(-1)).toMatchObject({
      isError: false,
      text: expect.stringMatching(/^passed\n.*Divide by the number of values\n.*Begin$/),
    })
    expect(said).toHaveLength(7)
    expect(textOf(events.findLast(({ type }) => type === 'agent.message'))).toBe(
      'Fixed and committed: a mean divides by the number of values.',
    )
    const transcript = JSON.parse(shared) as { id: string; type: string; data: Record<string, unknown>[] }
    expect(transcript).toMatchObject({ type: 'shared_session', title: 'A failing test', agent: { name: 'fixer' } })
    const tools = transcript.data.filter(({ type }) => String(type).startsWith('agent.tool_'))
    expect(tools).toHaveLength(14)
    for (const tool of tools) expect(Object.keys(tool).sort()).toEqual(['name', 'processed_at', 'type'])
    expect(shared).not.toContain('AssertionError')
    expect((await berth.call('GET', `/agents/v1/sessions/${transcript.id}`)).status).toBe(401)
    expect((await berth.call('GET', `/agents/v1/shared-sessions/${transcript.id}`)).status).toBe(200)
  }, 300_000)

  test('a secret of a vault is in the VM of a session, and is shown nowhere', async () => {
    const [made = '', , followed = '', deleted] = await runBlocks('docs/vaults.md')
    expect(JSON.parse(made)).toMatchObject({ type: 'vault_credential', auth: { secret_name: 'SHOP_TOKEN' } })
    expect(results(eventsOf<Event>(followed))).toEqual([{ text: '16 characters: ***', isError: false }])
    expect(made + followed).not.toContain('open-sesame')
    expect(deleted?.trim()).toBe('')
  }, 300_000)
})

test('the walk through a build uploads, builds, follows the log, and fetches what was built', async () => {
  const printed = await runBlocks('docs/builds.md', 'Run a build')
  expect(
    eventsOf<{ output: string }>(printed.at(-2) ?? '')
      .map(({ output }) => output)
      .join(''),
  ).toContain('built on v')
  expect(printed.at(-1)?.trim()).toMatch(/^built on v\d+/)
}, 300_000)

test('the shell examples run as they are', async () => {
  const run = async (name: string): Promise<string> =>
    (
      await promisify(execFile)('sh', [fileURLToPath(new URL(`../examples/${name}`, import.meta.url))], {
        cwd: folder,
        env: { ...process.env, ...env },
      })
    ).stdout
  expect(JSON.parse(await run('sandbox.sh'))).toMatchObject({ command: { stdout: '45\n' } })
  expect(await run('build.sh')).toMatch(/"done":true[^]*\nbuilt on v\d+\S*\n$/)
}, 300_000)

test('Anthropic’s client makes all it needs, streams a turn, allows one command, denies another, and lists the log', async () => {
  const client = new Anthropic({ baseURL: `${berth.url}/agents`, apiKey: null, authToken: token, maxRetries: 0 })
  const { agents, environments, sessions } = client.beta
  const agent = await agents.create({
    name: 'asker',
    model: 'berth/demo',
    tools: [{ type: 'agent_toolset_20260401', configs: [{ name: 'bash', permission_policy: { type: 'always_ask' } }] }],
  })
  const environment = await environments.create({ name: 'box', config: { type: 'cloud' } })
  const session = await sessions.create({ agent: agent.id, environment_id: environment.id })
  const stream = await sessions.events.stream(session.id)
  const script =
    '!tool bash {"command": "echo made > ~/made && cat ~/made"}\n!tool bash {"command": "rm ~/made"}\n!tool read {"file_path": "made"}\n!say done'
  await sessions.events.send(session.id, {
    events: [{ type: 'user.message', content: [{ type: 'text', text: script }] }],
  })
  const streamed: string[] = []
  const asked: string[][] = []
  for await (const event of stream) {
    streamed.push(event.type)
    if (event.type !== 'session.status_idle') continue
    if (event.stop_reason.type !== 'requires_action') break
    asked.push(event.stop_reason.event_ids)
    const [tool_use_id = ''] = event.stop_reason.event_ids
    await sessions.events.send(session.id, {
      events: [
        {
          type: 'user.tool_confirmation',
          tool_use_id,
          ...(asked.length === 1 ? { result: 'allow' } : { result: 'deny', deny_message: 'keep it' }),
        },
      ],
    })
  }
  expect(asked).toHaveLength(2)
  const log: Event[] = []
  for await (const event of sessions.events.list(session.id, { limit: 5 })) log.push(event as unknown as Event)
  expect(
    log
      .filter(({ type, ...event }) => type === 'agent.tool_use' && event['evaluated_permission'] === 'ask')
      .map(({ id }) => [id]),
  ).toEqual(asked)
  expect(results(log)).toEqual([
    { text: 'made', isError: false },
    { text: 'The user denied this call: keep it', isError: true },
    { text: 'made\n', isError: false },
  ])
  // A queued message is streamed twice: when it comes, and when it is taken.
  const twice = ['user.message', 'user.tool_confirmation']
  expect(streamed.filter((type) => !twice.includes(type))).toEqual(types(log).filter((type) => !twice.includes(type)))
  expect((await sessions.retrieve(session.id)).status).toBe('idle')
}, 300_000)
