/** What a command may be given besides its text, at a node that is this test. Real machines: vms.vm.test.ts. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import type { Call } from '#src/platform/services.ts'
import type { RunningVm } from '#src/resources/infra/vms/access.ts'
import { startProcess } from '#src/resources/infra/vms/processes.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf, makeVmRow } from '../../support/makers.ts'
import { startStubNode, type StubNode } from '../../contract/stub-node.ts'

let berth: Berth
let node: StubNode
let token: string
let vm: string
beforeAll(async () => {
  berth = await startBerth()
  node = await startStubNode(berth.services.db)
  token = await berth.token()
  vm = await makeVmRow(berth.services.db, token, node.id)
})
beforeEach(() => void (node.asked.length = 0))
afterAll(async () => {
  await berth.stop()
  await node.stop()
})

const exec = (body: Record<string, unknown>) =>
  berth.call<{ error: string; message: string }>('POST', `/api/v1/vms/${vm}/envd/exec`, {
    token,
    body: { command: 'true', ...body },
  })

test('variables, input and user go to the node, over REST and GraphQL, and are as before when left out', async () => {
  const setting = { env: { PATH: '/bin', LD_PRELOAD: 'x', A: 'a\nb' }, stdin: 'typed', user: 'root' }
  expect((await exec(setting)).status).toBe(200)
  expect((await exec({})).status).toBe(200)
  expect((await exec({ env: null, stdin: null, user: null })).status).toBe(200)
  const document = `mutation ($input: ExecInVmInput!) { execInVm(input: $input) { result { exitCode } } }`
  const input = { vmId: vm, command: 'true', ...setting, user: 'ROOT', background: true }
  await berth.ask(document, { token, variables: { input } })
  const usual = { env: {}, stdin: null, user: 'user' }
  expect(node.asked.map(({ name, input: { env, stdin, user } }) => [name, { env, stdin, user }])).toEqual([
    ['exec', setting],
    ['exec', usual],
    ['exec', usual],
    ['startProcess', setting],
  ])
})

const variables = (count: number, value: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`KEY_${at}`, value]))

test.each([
  ['an unknown user', { user: 'postgres' }, 'invalid_request', 'one of root, user'],
  ['no user', { user: '' }, 'invalid_request', 'one of root, user'],
  ['too long an input', { stdin: 'x'.repeat(900 * 1024 + 1) }, 'invalid_request', 'stdin may have at most 900 KiB'],
  ['a number as its input', { stdin: 5 }, 'invalid_request', 'stdin must be text'],
  ['a wrong key', { env: { 'A-B': 'x' } }, 'invalid_env_key', 'digits and underscores'],
  ['a number as a value', { env: { A: 5 } }, 'invalid_request', 'env'],
  ['a list of variables', { env: ['A=1'] }, 'invalid_request', 'env'],
  ['a value that is too long', { env: { A: 'x'.repeat(32 * 1024 + 1) } }, 'invalid_env_value', '32 KiB'],
  ['too many variables', { env: variables(101, '') }, 'invalid_env_key', 'A command has at most 100'],
  ['too many variables together', { env: variables(10, 'x'.repeat(30 * 1024)) }, 'invalid_env_value', '256 KiB'],
])('a command with %s is refused with a sentence, and runs nowhere', async (_what, body, error, words) => {
  for (const background of [false, true])
    expect(await exec({ ...body, background })).toMatchObject({
      status: 400,
      body: { error, message: expect.stringContaining(words) },
    })
  const sandbox = { command: 'true', ...body }
  expect(await berth.call('POST', '/api/v1/vms/sandbox', { token, body: sandbox })).toMatchObject({
    status: 400,
    body: { error },
  })
  expect(node.asked).toEqual([])
})

test('a command and its arguments may be as long as Linux takes one argument, with the byte that ends it', async () => {
  const longest = 128 * 1024 - 1
  for (const [command, args, fits] of [
    ['x'.repeat(longest), undefined, true],
    ['x'.repeat(longest + 1), undefined, false],
    ['a', ['x'.repeat(longest - 2)], true],
    ['a', ['x'.repeat(longest - 1)], false],
    ['ü', ['', 'x'.repeat(longest - 4)], true],
    ['ü', ['', 'x'.repeat(longest - 3)], false],
  ] as const)
    expect((await exec({ command, args })).status).toBe(fits ? 200 : 400)
  const sandbox = { code: '1', language: 'python', args: ['x'.repeat(longest + 1)] }
  const refused = { status: 400, body: { message: expect.stringContaining('128 KiB together') } }
  expect(await exec({ command: 'x'.repeat(longest + 1) })).toMatchObject(refused)
  expect(await berth.call('POST', '/api/v1/vms/sandbox', { token, body: sandbox })).toMatchObject(refused)
})

test('a process in the background has longer to start when its input is written before', async () => {
  const silences: number[] = []
  const client = {
    call: async (_name: string, _input: unknown, { silenceMs }: { silenceMs: number }) => void silences.push(silenceMs),
  }
  const running = {
    id: decodeId('vm', vm),
    scope: { organizationId: idsOf(token).organizationId },
    node: client,
  } as unknown as RunningVm // what starting a process uses of it
  const request = { command: 'cat', args: null, workingDir: null, timeoutMs: 0, envGeneration: 0, vmId: running.id }
  for (const stdin of [null, '', 'typed'])
    await startProcess(berth.services as unknown as Call, running, { ...request, stdin }) // nobody is asked who calls
  expect(silences).toEqual([15_000, 15_000, 45_000])
})
